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
from typing import Any

from uvicorn.config import Config as UvicornConfig
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.exceptions import InvalidState

HANG_UP = "hang_up"
SEND_ALL = "send_all"
LINGER_S = 2.0
# Unsent bytes the kernel may hold per connection: what it holds cannot be taken back at a barge-in.
KERNEL_UNSENT_BYTES = 64 * 1024

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

    def handle_ping(self) -> None:
        """Answer, but never to a client that does not read the answers."""
        pongs = self.conn.data_to_send()
        if self.writable.is_set():
            self.transport.write(b"".join(pongs))


class RequestProtocol(H11Protocol):
    """HTTP that can be cut in the middle of a response, so that it cannot pass for a whole one."""

    def __init__(
        self,
        config: UvicornConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, HANG_UP: self.hang_up}, _loop)

    def hang_up(self, code: int, reason: str) -> None:
        """Cut the connection."""
        self.transport.abort()


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
