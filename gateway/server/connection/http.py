"""Speech over HTTP, and the questions that need no session.

Speech over HTTP runs the same `Session` as a WebSocket: one context, all its text at once, sent
as it is made. The status line waits for the first sound, so what fails before it fails properly;
what fails later cuts the connection, because half a file must not pass for a whole one.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Coroutine, Sequence
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.config import Config
from gateway.dialects import Close, HttpAnswer, HttpDialect, HttpRoute, LookupRoute, Opening
from gateway.errors import (
    GatewayError,
    MessageTooLargeError,
    MethodNotAllowedError,
    OverloadedError,
)
from gateway.server.auth import offered_key
from gateway.server.connection.opening import opening_of
from gateway.server.connection.response_sink import ResponseSink
from gateway.server.connection.transport import HANG_UP, HangUp
from gateway.server.driver import SessionDriver
from gateway.server.service import Service
from gateway.types import Command, Limits

log = logging.getLogger(__name__)

_JSON_BYTES_PER_CHAR = 12  # an astral character as two \uXXXX escapes
_OTHER_FIELDS_BYTES = 4096


class SpeechEndpoint:
    """The ASGI application of one route: streams with backpressure and sees the client go."""

    def __init__(self, service: Service, route: HttpRoute) -> None:
        self._service = service
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        opening = opening_of(request, self._service)
        dialect = self._route.open(speech_opening(opening, self._service.config))
        try:
            self._service.authorize(offered_key(opening, self._route))
            commands = dialect.decode(await self._body(request))
            _ = self._service.info  # before the session: a wrong voice is not told of no engine
            await self._speak(dialect, _only_commands(commands), request, send)
        except ClientDisconnect:
            return
        except GatewayError as error:
            await _response(dialect.refusal(error), error)(scope, receive, send)

    async def _body(self, request: Request) -> bytes:
        max_bytes = self._service.config.max_speech_chars * _JSON_BYTES_PER_CHAR
        max_bytes += _OTHER_FIELDS_BYTES
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > max_bytes:
                raise MessageTooLargeError(f"expected at most {max_bytes} bytes, got more")
        return bytes(body)

    async def _speak(
        self, dialect: HttpDialect, commands: list[Command], request: Request, send: Send
    ) -> None:
        config = self._service.config
        hang_up: HangUp = request.scope["state"][HANG_UP]
        sink = ResponseSink(dialect, config, self._service.metrics, hang_up)
        try:
            async with self._service.session(self._route.name, sink, _limits(config)) as driver:
                await self._converse(commands, sink, driver, request, send)
        finally:
            sink.release()

    async def _converse(
        self,
        commands: list[Command],
        sink: ResponseSink,
        driver: SessionDriver,
        request: Request,
        send: Send,
    ) -> None:
        sink.driver = driver
        driver.begin()
        driver.receive(*commands)
        try:
            await _unless_gone(request, _respond(sink, send))
        finally:
            sink.outbox.close(discard=True)


def _only_commands(items: Any) -> list[Command]:
    return [item for item in items if not isinstance(item, str | bytes | Close)]


def speech_opening(opening: Opening, config: Config) -> Opening:
    """The limits of a request are those of a text that comes whole."""
    return dataclasses.replace(opening, limits=_limits(config))


def _limits(config: Config) -> Limits:
    """A session for one text that comes whole."""
    return dataclasses.replace(
        config.limits,
        max_contexts=1,
        max_context_chars=config.max_speech_chars,
        max_buffered_chars=config.max_speech_chars,
    )


async def _respond(sink: ResponseSink, send: Send) -> None:
    """Send the response. Raises the GatewayError that came before any sound."""
    piece = await sink.outbox.take()
    if piece is None and sink.error is not None:
        raise sink.error
    headers = {"content-type": sink.dialect.media_type, **sink.dialect.headers}
    if piece is None:
        headers["content-length"] = "0"
    head = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    while piece is not None:
        body = piece if isinstance(piece, bytes) else piece.encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
        piece = await sink.outbox.take()
    if sink.error is None or sink.error_was_told:
        await send({"type": "http.response.body", "body": b""})
    else:
        log.info("cutting a response short: %s", sink.error)
        sink.hang_up(1011, sink.error.code)


async def _unless_gone(request: Request, work: Coroutine[Any, Any, None]) -> None:
    """Do `work` until it is done or the client hangs up. Raises what `work` raises."""
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_disconnect(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        for pending in (task, gone):
            pending.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _response(answer: HttpAnswer, error: GatewayError | None = None) -> Response:
    headers = dict(answer.headers)
    if error is not None and error.http_status == OverloadedError.http_status:
        headers["Retry-After"] = "1"
    return Response(answer.body, answer.status, headers, answer.media_type)


class LookupEndpoint:
    """The questions of one path: access is checked, the engine must be ready."""

    def __init__(self, service: Service, routes: Sequence[LookupRoute]) -> None:
        self._service = service
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(Request(scope, receive))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        opening = opening_of(request, self._service)
        route = next((r for r in self._routes if r.claims(opening)), self._routes[-1])
        try:
            self._service.authorize(offered_key(opening, route))
            _ = self._service.info
            return _response(route.answer(opening))
        except GatewayError as error:
            return _response(route.refusal(error), error)


class PathEndpoint:
    """Whatever is asked at one path. A method that it does not know is refused in its dialect."""

    def __init__(self, service: Service, routes: Sequence[HttpRoute | LookupRoute]) -> None:
        self._service = service
        self._route = routes[0]
        self._methods: dict[str, ASGIApp] = {}
        if lookups := [route for route in routes if isinstance(route, LookupRoute)]:
            self._methods = dict.fromkeys(("GET", "HEAD"), LookupEndpoint(service, lookups))
        for route in routes:
            if isinstance(route, HttpRoute):
                self._methods.setdefault(route.method, SpeechEndpoint(service, route))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._methods.get(scope["method"]) or self._refusal(Request(scope))
        await app(scope, receive, send)

    def _refusal(self, request: Request) -> Response:
        error = MethodNotAllowedError(
            f"expected {' or '.join(self._methods)}, got {request.method[:20]}"
        )
        if isinstance(self._route, LookupRoute):
            answer = self._route.refusal(error)
        else:
            answer = self._route.open(opening_of(request, self._service)).refusal(error)
        response = _response(answer, error)
        response.headers["Allow"] = ", ".join(self._methods)
        return response
