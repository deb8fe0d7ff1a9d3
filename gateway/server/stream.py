"""`WS /v1/stream`: one WebSocket, one session, one write path.

The reader decodes and obeys; it never waits for sound. The writer takes frames from the outbox and
waits for the transport. A client that does not read first has its sound paused, then is no longer
read itself, and is at last hung up on; nobody else notices.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from starlette.responses import PlainTextResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from gateway.config import Config
from gateway.dialects import native
from gateway.errors import (
    ClientError,
    GatewayError,
    InvalidValueError,
    OverloadedError,
    ResumeExpiredError,
    SlowClientError,
    UnauthorizedError,
)
from gateway.server.auth import KEY_SUBPROTOCOL_PREFIX, stream_key
from gateway.server.driver import SessionDriver
from gateway.server.metrics import Metrics
from gateway.server.outbox import Outbox
from gateway.server.resumable import resumption_of
from gateway.server.service import Service
from gateway.server.transport import HANG_UP, SEND_ALL, HangUp, SendAll
from gateway.types import Event, Failed

log = logging.getLogger(__name__)

# Close codes of a client that will not come back: it is done, or its page was left. One whose
# network failed sends none, and one that closes without a code is not told apart from it.
_LEAVING_CODES = (1000, 1001)

# Messages obeyed in a row before other connections get their turn.
_BURST = 16


class StreamSink:
    """Events to frames to the outbox; hangs up on a client that does not read."""

    def __init__(self, config: Config, metrics: Metrics, hang_up: HangUp) -> None:
        self.driver: SessionDriver | None = None
        self.outbox: Outbox[str | bytes] = Outbox(
            config.queue_high_water_bytes,
            config.queue_max_bytes,
            config.slow_client_timeout_ms / 1000,
            self._on_writable,
            self._on_slow_client,
        )
        self.closing: tuple[int, str] | None = None
        self._metrics = metrics
        self._hang_up = hang_up

    def send(self, event: Event) -> None:
        """Queue an event's frame."""
        self.outbox.put(native.encode(event))

    def close(self, code: int, reason: str) -> None:
        """Close the socket once everything queued has left."""
        if self.closing is None:
            self.closing = (code, reason)
            self.outbox.close()

    def _on_writable(self, writable: bool) -> None:
        if self.driver is not None and self.driver.serves(self):
            self.driver.set_writable(writable)

    def _on_slow_client(self, error: SlowClientError) -> None:
        log.info("hanging up: %s", error)
        self._metrics.slow_clients_total.inc()
        self.closing = (error.close_code or 1008, error.code)
        self._hang_up(*self.closing)


async def serve_stream(websocket: WebSocket, service: Service) -> None:
    """Handle one WebSocket from handshake to close."""
    if not await _handshake(websocket):
        return
    sink = StreamSink(service.config, service.metrics, getattr(websocket.state, HANG_UP))
    try:
        service.authorize(_key(websocket))
        resumption = resumption_of(websocket.query_params, _key(websocket))
        async with service.session("native", sink, resumption=resumption) as driver:
            sink.driver = driver
            driver.begin()
            await _converse(websocket, driver, sink, service.config)
    except (OverloadedError, UnauthorizedError, ResumeExpiredError, InvalidValueError) as error:
        sink.send(Failed(None, error.code, str(error)))
        sink.close(error.close_code or 1008, error.code)
        await _write(websocket, sink)
    finally:
        sink.outbox.close(discard=True)


async def _handshake(websocket: WebSocket) -> bool:
    """Accept, or refuse with an HTTP status."""
    offered = websocket.scope["subprotocols"]
    ours = native.SUBPROTOCOL in offered
    if not ours and _protocols(offered):
        text = f"expected the subprotocol {native.SUBPROTOCOL}, got {', '.join(offered)}"
        await websocket.send_denial_response(PlainTextResponse(text, status_code=400))
        return False
    try:
        await websocket.accept(subprotocol=native.SUBPROTOCOL if ours else None)
    except WebSocketDisconnect:
        return False
    return True


def _protocols(offered: Iterable[str]) -> list[str]:
    return [name for name in offered if not name.startswith(KEY_SUBPROTOCOL_PREFIX)]


def _key(websocket: WebSocket) -> str | None:
    return stream_key(
        websocket.headers.get("authorization"),
        websocket.scope["subprotocols"],
        websocket.query_params,
    )


async def _converse(
    websocket: WebSocket, driver: SessionDriver, sink: StreamSink, config: Config
) -> None:
    """Read and write until either side is done with the other."""
    reader = asyncio.create_task(_read(websocket, driver, sink, config.max_message_bytes))
    writer = asyncio.create_task(_write(websocket, sink))
    try:
        await asyncio.wait((reader, writer), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (reader, writer):
            task.cancel()
        for result in await asyncio.gather(reader, writer, return_exceptions=True):
            if isinstance(result, Exception):
                raise result


async def _read(
    websocket: WebSocket, driver: SessionDriver, sink: StreamSink, max_bytes: int
) -> None:
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
        try:
            driver.receive(native.decode(message["bytes"] if raw is None else raw, max_bytes))
        except ClientError as error:
            driver.refuse(error)
        received += 1
        if received % _BURST == 0:
            await asyncio.sleep(0)
        await sink.outbox.room_for_replies()


async def _write(websocket: WebSocket, sink: StreamSink) -> None:
    """Send what is queued, in order; then close as asked."""
    send_all: SendAll = getattr(websocket.state, SEND_ALL)
    try:
        while batch := await sink.outbox.take_batch():
            if not await send_all(batch):
                return
        if sink.closing is not None:
            await websocket.close(*sink.closing)
    except (WebSocketDisconnect, GatewayError):
        return
