"""uvicorn's protocols with what a hostile client makes necessary. The only place that knows them.

ASGI has no way to hang up on a client that does not read: a close frame would wait for ever behind
what is unsent. Each scope's `state` therefore carries a `HangUp` under `HANG_UP`. Nor can it send
several messages at once, which halves what a packet costs: a WebSocket's has a `SendAll`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

import h11
from uvicorn._types import ASGISendEvent
from uvicorn.config import Config as UvicornConfig
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Opcode

HANG_UP = "hang_up"
SEND_ALL = "send_all"
LINGER_S = 2.0
# Unsent bytes the kernel may hold per connection: what it holds cannot be taken back at a barge-in.
KERNEL_UNSENT_BYTES = 64 * 1024

# What an HTTP client must at least read within each `slow_client_timeout_ms` when more waits.
READ_BYTES = 16 * 1024

_PONG_HEAD = bytes([0x80 | Opcode.PONG])  # the first byte of a whole pong: FIN and its opcode

HangUp = Callable[[int, str], None]  # close code (WebSocket) and reason
SendAll = Callable[[Sequence[bytes | str]], Awaitable[bool]]


class StreamProtocol(WebSocketsSansIOProtocol):
    """A WebSocket that can be hung up on, and that bounds what pings make it write."""

    def __init__(
        self,
        config: UvicornConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        hooks = {HANG_UP: self.hang_up, SEND_ALL: self.send_all}
        super().__init__(config, server_state, {**app_state, **hooks}, _loop)
        self._pong: bytes | None = None  # waits for the transport to take more

    async def send_all(self, messages: Sequence[bytes | str]) -> bool:
        """Send messages in one piece when the transport takes more; False: nobody reads them."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            return False
        try:
            for message in messages:
                if isinstance(message, bytes):
                    self.conn.send_binary(message)
                else:
                    self.conn.send_text(message.encode())
        except InvalidState:  # the client is closing
            return False
        self.transport.write(b"".join(self.conn.data_to_send()))
        return True

    async def send(self, message: ASGISendEvent) -> None:
        """See uvicorn; its own log calls an answer that refuses the handshake an incomplete one."""
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True

    def hang_up(self, code: int, reason: str) -> None:
        """Queue a close frame behind what is unsent; a client that still does not read is cut."""
        if self.transport.is_closing():
            return
        self.stop_keepalive()
        with contextlib.suppress(InvalidState):
            self.conn.send_close(code, reason)
            self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.disconnected = True
        self.writable.set()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.transport.close()
        self.loop.call_later(LINGER_S, self.transport.abort)

    def send_receive_event_to_app(self) -> None:
        """A whole message; one that is not UTF-8 is its sender's mistake, and no error of ours."""
        if self.curr_msg_data_type == "text" and not (self.close_sent or _is_text(self.frames)):
            self.frames = []
            self.conn.send_close(CloseCode.INVALID_DATA)
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

    def handle_ping(self) -> None:
        """Answer; a client that does not read gets the newest answer only, once it reads again.

        RFC 6455, 5.5.3: of several pings that are not answered yet, only the last one need be.
        """
        frames = self.conn.data_to_send()
        if not self.writable.is_set():
            pongs = [frame for frame in frames if frame[:1] == _PONG_HEAD]
            frames = [frame for frame in frames if frame[:1] != _PONG_HEAD]
            self._pong = pongs[-1] if pongs else self._pong
        self.transport.write(b"".join(frames))

    def resume_writing(self) -> None:
        """The transport takes more: first the answer that waits."""
        pong, self._pong = self._pong, None
        if pong is not None and not (self.close_sent or self.transport.is_closing()):
            self.transport.write(pong)
        super().resume_writing()

    def keepalive_timeout(self) -> None:
        """Our ping was not answered in time. While it may not have left yet, that says nothing:
        whoever reads too slowly is the outbox's affair.
        """
        if self.transport.get_write_buffer_size() == 0:
            super().keepalive_timeout()
        elif self.ping_timeout is not None:
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)


def _is_text(frames: Sequence[bytes]) -> bool:
    try:
        b"".join(frames).decode()
    except UnicodeDecodeError:
        return False
    return True


class RequestProtocol(H11Protocol):
    """HTTP that can be cut in the middle of a response, so that it cannot pass for a whole one.

    A client has `request_timeout_s` to send a request, head and body, from its first byte on; for
    a connection's first request the time begins when it connects. uvicorn would wait for ever, also
    for a client to read: here it has `slow_client_timeout_s` for each `READ_BYTES` of what waits.
    """

    request_timeout_s: ClassVar[float] = 15.0
    slow_client_timeout_s: ClassVar[float] = 15.0

    def __init__(
        self,
        config: UvicornConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, HANG_UP: self.hang_up}, _loop)
        self._deadline: asyncio.TimerHandle | None = None  # of the request
        self._reading_deadline: asyncio.TimerHandle | None = None
        self._given_up = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first request is expected."""
        super().connection_made(transport)
        self._expect_rest()

    def data_received(self, data: bytes) -> None:
        """Part of a request, or the rest of it."""
        if self._given_up:
            return
        super().data_received(data)
        if self._reading and self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._expect_rest()
        else:
            self._expect_nothing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing will come."""
        self._expect_nothing()
        self._expect_no_reading()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
        super().pause_writing()
        self._expect_reading()

    def resume_writing(self) -> None:
        """It has read enough."""
        super().resume_writing()
        self._expect_no_reading()

    def on_response_complete(self) -> None:
        """What is unsent must still be read, also when the connection closes behind it."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._expect_reading()

    def timeout_keep_alive_handler(self) -> None:
        """No further request: close behind what is unsent."""
        super().timeout_keep_alive_handler()
        self._expect_reading()

    def slow_client(self) -> None:
        """Called before a client that does not read is cut off; for whoever counts them."""

    def hang_up(self, code: int, reason: str) -> None:
        """Cut the connection."""
        self.transport.abort()

    @property
    def _reading(self) -> bool:
        """The connection is open, and has not become a WebSocket."""
        return not self.transport.is_closing() and self.transport.get_protocol() is self

    def _expect_rest(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.request_timeout_s, self._too_slow)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expect_reading(self) -> None:
        if self._reading_deadline is None and (unsent := self.transport.get_write_buffer_size()):
            self._reading_deadline = self.loop.call_later(
                self.slow_client_timeout_s, self._judge_reading, unsent
            )

    def _expect_no_reading(self) -> None:
        if self._reading_deadline is not None:
            self._reading_deadline.cancel()
            self._reading_deadline = None

    def _judge_reading(self, unsent_before: int) -> None:
        self._reading_deadline = None
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or self.transport.get_protocol() is not self:
            return
        if unsent_before - unsent < min(READ_BYTES, unsent_before):
            self.slow_client()
            self.transport.abort()
        else:
            self._expect_reading()

    def _too_slow(self) -> None:
        """Say so to whoever has begun a request; nobody can be told while its answer is made."""
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            headers = [(b"connection", b"close"), (b"content-length", b"0")]
            answer = h11.Response(status_code=408, headers=headers, reason=b"Request Timeout")
            parts = [self.conn.send(event) for event in (answer, h11.EndOfMessage())]
            self.transport.write(b"".join(part for part in parts if part))
            # closed at once, what the client still sends would reset it before it has read that
            self.transport.write_eof()
            self._given_up = True
            self._deadline = self.loop.call_later(LINGER_S, self.transport.abort)
        else:
            self.transport.abort()


def request_protocol(
    request_timeout_ms: int,
    slow_client_timeout_ms: int,
    on_slow_client: Callable[[], object] = lambda: None,
) -> type[RequestProtocol]:
    """uvicorn makes protocols from a class, which therefore carries the settings."""

    class Bounded(RequestProtocol):
        request_timeout_s = request_timeout_ms / 1000
        slow_client_timeout_s = slow_client_timeout_ms / 1000

        def slow_client(self) -> None:
            on_slow_client()

    return Bounded


def listen(host: str, port: int, slow_client_timeout_ms: int) -> socket.socket:
    """Bind and listen; accepted sockets inherit the options. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # asyncio sets this only on sockets that were made with the protocol named; without it the
        # first packet waits for the acknowledgement of the event before it, 25 ms even on loopback
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _set_if_known(listener, "TCP_NOTSENT_LOWAT", KERNEL_UNSENT_BYTES)
        # Also ends connections whose peer keeps its window shut while we wait to close.
        _set_if_known(listener, "TCP_USER_TIMEOUT", 2 * slow_client_timeout_ms)
        listener.bind((host, port))
        listener.listen(1024)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _set_if_known(listener: socket.socket, option: str, value: int) -> None:
    number = getattr(socket, option, None)
    if number is not None:
        listener.setsockopt(socket.IPPROTO_TCP, number, value)
