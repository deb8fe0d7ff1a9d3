"""A dialect's WebSocket: one connection, one session, one write path.

The reader decodes and obeys; it never waits for sound. The writer takes frames from the outbox and
waits for the transport. A client that does not read first has its sound paused, then is no longer
read itself, and is at last hung up on; nobody else notices.
"""

from __future__ import annotations

import asyncio

from starlette.responses import PlainTextResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from gateway.dialects import Close, Dialect, Opening, SocketRoute
from gateway.errors import (
    ClientError,
    GatewayError,
    OverloadedError,
    SlowClientError,
)
from gateway.server.auth import chosen_subprotocol, not_keys, offered_key
from gateway.server.connection.opening import opening_of
from gateway.server.connection.sink import DialectSink
from gateway.server.connection.transport import HANG_UP, SEND_ALL, HangUp, SendAll
from gateway.server.driver import SessionDriver
from gateway.server.resumable import resumption_of
from gateway.server.service import Service
from gateway.types import Command, Failed

# Close codes of a client that will not come back: it is done, or its page was left. One whose
# network failed sends none, and one that closes without a code is not told apart from it.
_LEAVING_CODES = (1000, 1001)

# Messages obeyed in a row before other connections get their turn.
_BURST = 16


class StreamSink(DialectSink):
    """Hangs up on a client that does not read."""

    def __init__(self, dialect: Dialect, websocket: WebSocket, service: Service) -> None:
        super().__init__(dialect, service.config, service.metrics)
        self._hang_up: HangUp = getattr(websocket.state, HANG_UP)

    def on_slow_client(self, error: SlowClientError) -> None:
        """Do not wait for the close frame to be read."""
        self.closing = self.dialect.closing(error)
        self._hang_up(self.closing.code, self.closing.reason)


async def serve_stream(websocket: WebSocket, service: Service, route: SocketRoute) -> None:
    """Handle one WebSocket from handshake to close."""
    opening = opening_of(websocket, service)
    dialect = await _dialect(websocket, opening, service, route)
    if dialect is None or not await _handshake(websocket, route):
        return
    sink = StreamSink(dialect, websocket, service)
    try:
        key, first = offered_key(opening, route), None
        if key is None and route.key_in_message is not None and service.config.api_keys:
            first = await _first_message(websocket, service.config.request_timeout_ms)
            key = None if first is None else route.key_in_message(first)
        service.authorize(key)
        resumption = resumption_of(opening.query, key) if route.resumable else None
        limits = route.limits(opening)
        async with service.session(
            route.name, sink, limits, resumption, route.independent_contexts
        ) as driver:
            sink.driver = driver
            driver.begin()
            if first is not None:
                _obey(first, driver, sink)
            await _converse(websocket, driver, sink)
    except (OverloadedError, ClientError) as error:
        sink.send(Failed(None, error.code, str(error)))
        sink.close(error)
        await _write(websocket, sink)
    finally:
        sink.release()


async def _dialect(
    websocket: WebSocket, opening: Opening, service: Service, route: SocketRoute
) -> Dialect | None:
    """The connection's translator; None when the handshake was refused by an HTTP status."""
    if route.refusal is None:
        return route.open(opening)
    try:
        service.authorize(offered_key(opening, route))
        service.check_room()
        return route.open(opening)
    except GatewayError as error:
        answer = route.refusal(error)
        headers = dict(answer.headers)
        await websocket.send_denial_response(
            Response(answer.body, answer.status, headers, answer.media_type)
        )
        return None


async def _first_message(websocket: WebSocket, timeout_ms: int) -> str | bytes | None:
    """What a client says first, if it says anything within `timeout_ms`."""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            message = await websocket.receive()
    except TimeoutError:
        return None
    text: str | bytes | None = message.get("text")
    return message.get("bytes") if text is None else text


async def _handshake(websocket: WebSocket, route: SocketRoute) -> bool:
    """Accept, or refuse with an HTTP status."""
    offered = tuple(websocket.scope["subprotocols"])
    chosen = chosen_subprotocol(offered, route.subprotocol)
    if chosen is None and route.subprotocol is not None and not_keys(offered):
        text = f"expected the subprotocol {route.subprotocol}, got {', '.join(offered)}"
        await websocket.send_denial_response(PlainTextResponse(text, status_code=400))
        return False
    try:
        await websocket.accept(subprotocol=chosen)
    except WebSocketDisconnect:
        return False
    return True


async def _converse(websocket: WebSocket, driver: SessionDriver, sink: StreamSink) -> None:
    """Read and write until either side is done with the other."""
    reader = asyncio.create_task(_read(websocket, driver, sink))
    writer = asyncio.create_task(_write(websocket, sink))
    try:
        await asyncio.wait((reader, writer), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (reader, writer):
            task.cancel()
        for result in await asyncio.gather(reader, writer, return_exceptions=True):
            if isinstance(result, Exception):
                raise result


async def _read(websocket: WebSocket, driver: SessionDriver, sink: StreamSink) -> None:
    received = 0
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            if message.get("code") in _LEAVING_CODES and driver.serves(sink):
                driver.leave()
            return
        if not driver.serves(sink):
            return
        raw = message.get("text")
        _obey(message["bytes"] if raw is None else raw, driver, sink)
        received += 1
        if received % _BURST == 0:
            await asyncio.sleep(0)
        await sink.outbox.room_for_replies()


def _obey(raw: str | bytes, driver: SessionDriver, sink: StreamSink) -> None:
    """One message of the client."""
    commands: list[Command] = []
    try:
        for item in sink.dialect.decode(raw):
            if isinstance(item, str | bytes | Close):
                sink.put(item)
            else:
                commands.append(item)
    except ClientError as error:
        driver.refuse(error)
    else:
        driver.receive(*commands)


async def _write(websocket: WebSocket, sink: StreamSink) -> None:
    """Send what is queued, in order; then close as asked."""
    send_all: SendAll = getattr(websocket.state, SEND_ALL)
    try:
        while batch := await sink.outbox.take_batch():
            if not await send_all(batch):
                return
        if sink.closing is not None:
            await websocket.close(sink.closing.code, sink.closing.reason)
    except (WebSocketDisconnect, GatewayError):
        return
