"""`POST /v1/audio/speech`, the voices, health and metrics.

Speech over HTTP runs the same `Session` as a WebSocket: one context, all its text at once, sent
as it is made. The status line waits for the first sound, so what fails before it fails properly;
what fails later cuts the connection, because half a file must not pass for a whole one.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Coroutine
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from gateway.audio.containers import file_format
from gateway.config import Config
from gateway.dialects import openai
from gateway.errors import (
    ClientError,
    GatewayError,
    MessageTooLargeError,
    OverloadedError,
)
from gateway.server.auth import bearer_key
from gateway.server.driver import SessionDriver
from gateway.server.metrics import Metrics
from gateway.server.service import Service
from gateway.server.speech_body import ReportedError, SpeechSink
from gateway.server.transport import HANG_UP, HangUp
from gateway.types import (
    Configure,
    End,
    Limits,
    SettingsPatch,
    Text,
)

log = logging.getLogger(__name__)

_CONTEXT = "speech"
_JSON_BYTES_PER_CHAR = 12  # an astral character as two \uXXXX escapes
_OTHER_FIELDS_BYTES = 4096


class SpeechEndpoint:
    """The ASGI application of one route: streams with backpressure and sees the client go."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            self._service.authorize(bearer_key(request.headers.get("authorization")))
            call = await self._call(request)
            await self._speak(call, request, send)
        except ClientDisconnect:
            return
        except GatewayError as error:
            await error_response(error)(scope, receive, send)

    async def _call(self, request: Request) -> openai.SpeechCall:
        max_chars = self._service.config.max_speech_chars
        max_bytes = max_chars * _JSON_BYTES_PER_CHAR + _OTHER_FIELDS_BYTES
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > max_bytes:
                raise MessageTooLargeError(f"expected at most {max_bytes} bytes, got more")
        return openai.parse(bytes(body), self._service.info.voices, max_chars)

    async def _speak(self, call: openai.SpeechCall, request: Request, send: Send) -> None:
        config = self._service.config
        audio_format = file_format(
            call.response_format, self._service.info.sample_rate_hz, openai.PCM_RATE_HZ
        )
        hang_up: HangUp = request.scope["state"][HANG_UP]
        sink = SpeechSink(call, audio_format, config, self._service.metrics, hang_up)
        try:
            async with self._service.session("openai", sink, _limits(config)) as driver:
                await self._converse(call, sink, driver, request, send)
        finally:
            sink.release()

    async def _converse(
        self,
        call: openai.SpeechCall,
        sink: SpeechSink,
        driver: SessionDriver,
        request: Request,
        send: Send,
    ) -> None:
        sink.driver = driver
        patch = SettingsPatch(voice=call.voice, format=sink.format, speed=call.speed, lead_ms=0)
        for command in (Configure(_CONTEXT, patch), Text(_CONTEXT, call.text), End(_CONTEXT)):
            driver.receive(command)
            if sink.error is not None:
                raise sink.error
        try:
            await _unless_gone(request, _respond(call, sink, send))
        finally:
            sink.outbox.close(discard=True)


def _limits(config: Config) -> Limits:
    """A session for one text that comes whole."""
    return dataclasses.replace(
        config.limits,
        max_contexts=1,
        max_context_chars=config.max_speech_chars,
        max_buffered_chars=config.max_speech_chars,
    )


async def _respond(call: openai.SpeechCall, sink: SpeechSink, send: Send) -> None:
    """Send the response. Raises the GatewayError that came before any sound."""
    piece = await sink.outbox.take()
    if piece is None and sink.error is not None:
        raise sink.error
    media_type = "text/event-stream" if call.stream_format == "sse" else None
    headers = [(b"content-type", (media_type or openai.MEDIA_TYPES[call.response_format]).encode())]
    if piece is None:  # the file is complete, so its length is known
        headers.append((b"content-length", str(len(sink.tail)).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while piece is not None:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        piece = await sink.outbox.take()
    if sink.error is None:
        for part in sink.tail_pieces():
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    elif call.stream_format == "sse":
        await send({"type": "http.response.body", "body": openai.sse_error(sink.error)})
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


def error_response(error: GatewayError) -> JSONResponse:
    """An error in OpenAI's shape, with our code."""
    # Messages of the session are made for the peer already; so is why there is no capacity.
    message = str(error) if isinstance(error, (ReportedError, OverloadedError)) else None
    headers = {"Retry-After": "1"} if error.http_status == OverloadedError.http_status else None
    return JSONResponse(openai.error_body(error, message), error.http_status, headers)


class Pages:
    """The small JSON and text endpoints."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def voices(self, request: Request) -> Response:
        """`GET /v1/voices`."""
        try:
            self._service.authorize(bearer_key(request.headers.get("authorization")))
            names = self._service.info.voices
        except (ClientError, OverloadedError) as error:
            return error_response(error)
        return JSONResponse({"voices": [{"id": name, "name": name} for name in names]})

    async def healthz(self, request: Request) -> Response:
        """`GET /healthz`: this process lives."""
        return JSONResponse({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """`GET /readyz`: the engine can speak now."""
        stats = await self._service.stats()
        body: dict[str, object] = {"status": self._service.stage.value}
        if stats is None:
            if body["status"] == "ready":
                body["status"] = "engine does not answer"
            return JSONResponse(body, 503, {"Retry-After": "1"})
        return JSONResponse({**body, "running": stats.running, "free_slots": stats.free_slots})

    async def metrics(self, request: Request) -> Response:
        """`GET /metrics`, for Prometheus."""
        body = self._service.metrics.render(await self._service.stats())
        return Response(body, media_type=Metrics.content_type)
