"""A client's connection, which may be one socket after the other: see "Resume" in PROTOCOL.md.

Both sides count messages. After a loss the gateway is told how many of its messages came, and sends
the rest; its greeting says how many of ours it has, and the rest is sent again.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from urllib.parse import urlencode, urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_websocket
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Subprotocol

from clients.python.errors import GatewayClosedError, SpeechError
from clients.python.retries import MAX_FRUITLESS, Retries
from clients.python.wire import SUBPROTOCOL, Failed, Hello, decode_event

MAX_KEPT_CHARS = 1024 * 1024  # of what was sent, in case it must be sent again
PING_S = 5.0  # a dead connection must be noticed well within the gateway's window
# Coming back would change nothing: we said goodbye, what we sent was wrong and would be sent again,
# or the session is not ours any more.
FINAL_CODES = frozenset({1000, 1002, 1003, 1007, 1008, 1009, 1010, 4401, 4409, 4410})
_TRANSIENT_ERRORS = frozenset({"overloaded"})


class Link:
    """Open it, send, receive, close. With `resume` a loss is mended where the gateway lets us."""

    def __init__(self, url: str, api_key: str | None, open_timeout_s: float, resume: bool) -> None:
        self.resumed = 0  # how often
        self._url = url
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else None
        self._open_timeout_s = open_timeout_s
        self._wants_resume = resume
        self._socket: ClientConnection | None = None
        self._token: str | None = None
        self._window_s = 0.0
        self._received = 0
        self._sent: deque[str] = deque()  # the newest of our messages
        self._sent_count = 0
        self._kept_chars = 0
        self._unsent_chars = 0  # of them, those that wait for a connection
        self._max_message_bytes = math.inf
        self._sending = asyncio.Lock()
        self._writable = asyncio.Event()  # cleared when too much waits for a connection
        self._writable.set()
        self._closing = asyncio.Event()
        self._retries = Retries(asyncio.get_running_loop().time())

    async def open(self) -> Hello:
        """Begin a session. Raises OSError, SpeechError, GatewayClosedError."""
        query = {"resumable": "true"} if self._wants_resume else {}
        self._socket, hello = await self._connect(query)
        self._token = hello.resume_token
        self._window_s = hello.limits.get("resume_window_ms", 0.0) / 1000.0
        self._max_message_bytes = hello.limits.get("max_message_bytes", math.inf)
        return hello

    async def send(self, message: str) -> None:
        """Send; after a loss that can be mended, later.

        Raises GatewayClosedError, and SpeechError (`message_too_large`) for what the gateway would
        hang up at.
        """
        if len(message) * 4 > self._max_message_bytes:
            self._check_size(len(message.encode()))
        while True:
            await self._writable.wait()
            async with self._sending:
                if not self._writable.is_set():
                    continue
                await self._send_now(message)
                return

    async def _send_now(self, message: str) -> None:
        if self._socket is None and (self._token is None or self._closing.is_set()):
            raise GatewayClosedError("the connection was closed")
        self._keep(message)
        if self._socket is None:
            self._unsent_chars += len(message)
            if self._unsent_chars > MAX_KEPT_CHARS // 2:
                self._writable.clear()
            return
        try:
            await self._socket.send(message)
        except ConnectionClosed as error:
            if not self._can_resume(error):
                raise closed_error(error) from error

    async def receive(self) -> str | bytes:
        """The next message. Raises GatewayClosedError when there will be none."""
        while True:
            assert self._socket is not None
            try:
                message = await self._socket.recv()
            except ConnectionClosed as error:
                if not self._can_resume(error):
                    self._token = None
                    raise closed_error(error) from error
                await self._reopen(closed_error(error))
                continue
            self._received += 1
            return message

    async def close(self) -> None:
        """Hang up, for good."""
        self._closing.set()
        self._writable.set()
        if self._socket is not None:
            await self._socket.close()

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self._max_message_bytes:
            raise SpeechError(
                "message_too_large",
                f"expected a message of at most {self._max_message_bytes:.0f} bytes, got"
                f" {size_bytes}",
            )

    def _keep(self, message: str) -> None:
        self._sent_count += 1
        if self._token is None:
            return
        self._sent.append(message)
        self._kept_chars += len(message)
        while self._kept_chars > MAX_KEPT_CHARS:
            self._kept_chars -= len(self._sent.popleft())

    def _can_resume(self, error: ConnectionClosed) -> bool:
        code = closed_error(error).code
        if self._token is None or self._closing.is_set():
            return False
        return code not in FINAL_CODES

    async def _connect(self, query: dict[str, str]) -> tuple[ClientConnection, Hello]:
        parts = urlsplit(self._url)
        full_query = "&".join(part for part in (parts.query, urlencode(query)) if part)
        socket = await open_websocket(
            urlunsplit(parts._replace(query=full_query)),
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            additional_headers=self._headers,
            open_timeout=self._open_timeout_s,
            compression=None,  # Opus does not compress, and JSON messages are tiny
            max_size=None,  # uncompressed PCM packets may be large; the gateway is who we asked
            ping_interval=PING_S if self._wants_resume else 20.0,
            ping_timeout=PING_S if self._wants_resume else 20.0,
        )
        try:
            return socket, await asyncio.wait_for(_read_hello(socket), self._open_timeout_s)
        except BaseException:
            await socket.close()
            raise

    async def _reopen(self, loss: GatewayClosedError) -> None:
        """Come back to the session. Raises GatewayClosedError when that is not possible."""
        clock = asyncio.get_running_loop().time
        self._socket = None
        self._retries.lost(self._window_s, self._received, clock())
        why = ""
        while (wait_s := self._retries.next_wait_s(clock())) is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), wait_s)
            if self._closing.is_set():
                break
            try:
                await self._try_reopen()
                return
            except SpeechError as error:
                if error.code not in _TRANSIENT_ERRORS:
                    why = f"; then {error}"
                    break
            except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed):
                pass  # the network is not back yet, or has gone again
        self._token = None
        self._writable.set()  # whoever waits to send is told
        raise GatewayClosedError(f"{loss}{why}", loss.code)

    async def _try_reopen(self) -> None:
        assert self._token is not None
        socket, hello = await self._connect(
            {"resume": self._token, "received": str(self._received)}
        )
        async with self._sending:
            missing = self._sent_count - hello.received
            try:
                self._check_worth(hello.received, missing)
                for message in list(self._sent)[len(self._sent) - missing :]:
                    await socket.send(message)
            except BaseException:
                await socket.close()
                raise
            self._socket = socket
            self._unsent_chars = 0
            self._writable.set()
        self.resumed += 1

    def _check_worth(self, acknowledged: int, missing: int) -> None:
        """Raises SpeechError when going on is not possible, or no use."""
        now_s = asyncio.get_running_loop().time()
        if self._closing.is_set() or not 0 <= missing <= len(self._sent):
            raise SpeechError("resume_expired", "too much was on its way")
        if not self._retries.reopened(acknowledged, missing, now_s):
            raise SpeechError(
                "given_up",
                f"{MAX_FRUITLESS + 1} connections were lost over message {acknowledged + 1}",
            )


async def _read_hello(socket: ClientConnection) -> Hello:
    try:
        event = decode_event(await socket.recv())
    except ConnectionClosed as error:
        raise closed_error(error) from error
    if isinstance(event, Failed):
        raise SpeechError(event.code, event.message)
    if not isinstance(event, Hello):
        raise SpeechError("protocol", f"expected the greeting, got {type(event).__name__}")
    return event


def closed_error(error: ConnectionClosed) -> GatewayClosedError:
    """What a closed socket means, for people."""
    frame = error.rcvd or error.sent
    if frame is None:
        return GatewayClosedError("the connection was lost")
    reason = f": {frame.reason}" if frame.reason else ""
    return GatewayClosedError(
        f"the gateway closed the connection ({frame.code}){reason}", frame.code
    )
