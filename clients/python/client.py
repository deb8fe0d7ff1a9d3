"""One session with a gateway: many contexts over one connection.

One task reads the socket and hands every message to its context; whoever iterates takes it from
there. What belongs to an interrupted generation is dropped before it can be seen. A consumer that
falls behind by `MAX_BUFFERED_BYTES` pauses the socket, so memory stays bounded. With
`connect(url, resume=True)` a lost connection is opened again, and nothing is lost or said twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakValueDictionary

from clients.python.context import Context
from clients.python.errors import GatewayClosedError
from clients.python.link import Link
from clients.python.pieces import Pieces
from clients.python.window import TextWindow
from clients.python.wire import (
    STREAM_PATH,
    AudioPacket,
    Event,
    Failed,
    Hello,
    Interrupted,
    Started,
    decode_audio,
    decode_event,
    encode_command,
)

MAX_BUFFERED_BYTES = 16 * 1024 * 1024


def stream_url(url: str) -> str:
    """Complete an address: `host:port`, `http://...` and `ws://host` all name the same stream.

    Raises ValueError when no host is named.
    """
    parts = urlsplit(url if "://" in url else f"ws://{url}")
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.hostname:
        raise ValueError(f"expected an address like ws://127.0.0.1:8080, got {url!r}")
    path = STREAM_PATH if parts.path in ("", "/") else parts.path
    return urlunsplit((scheme, parts.netloc, path, parts.query, ""))


@contextlib.asynccontextmanager
async def connect(
    url: str, *, api_key: str | None = None, open_timeout_s: float = 10.0, resume: bool = False
) -> AsyncIterator[Client]:
    """Open a session and wait for the greeting. With `resume` it survives a lost connection.

    Raises ValueError (bad address), OSError (nobody listens), SpeechError (the gateway refused:
    `unauthorized`, `overloaded`), GatewayClosedError (it hung up without a reason).
    """
    link = Link(stream_url(url), api_key, open_timeout_s, resume)
    client = Client(link, await link.open())
    try:
        yield client
    finally:
        await client.aclose()


class Client:
    """One session. Made by `connect`; its contexts may run side by side."""

    def __init__(self, link: Link, hello: Hello) -> None:
        self.hello = hello
        self.window = TextWindow(
            hello.limits.get("max_buffered_chars", math.inf),
            hello.limits.get("max_message_bytes", math.inf),
        )
        self._link = link
        self._contexts: dict[str, Context] = {}
        # As long as somebody holds them, because they can still be asked what was heard.
        self._over: WeakValueDictionary[str, Context] = WeakValueDictionary()
        self._by_number: dict[int, Context] = {}
        self._ids = itertools.count(1)
        self._buffered_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._closed: Exception | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._reader = asyncio.create_task(self._read())

    @property
    def resumed(self) -> int:
        """How often a lost connection was opened again."""
        return self._link.resumed

    @property
    def voices(self) -> Sequence[str]:
        """Names that `voice=` takes."""
        return self.hello.voices

    @property
    def lost(self) -> bool:
        """Whether the session is over, and cannot be resumed."""
        return self._closed is not None

    async def wait_lost(self) -> None:
        """Return when the session is over for good."""
        await asyncio.wait((self._reader,))

    def context(self, context_id: str | None = None, **settings: Any) -> Context:
        """Begin an utterance. `settings`: the fields of `configure` in PROTOCOL.md (`voice`,
        `format`, `speed`, ...); they are sent with the first text."""
        name = context_id if context_id is not None else f"c{next(self._ids)}"
        self._over.pop(name, None)
        if name in self._contexts:
            raise ValueError(f"expected a context id that is not in use, got {name!r}")
        context = Context(self, name, settings)
        self._contexts[name] = context
        if self._closed is not None:
            context.fail(self._closed)
        return context

    def speak(self, pieces: Pieces, **settings: Any) -> Context:
        """Say what comes out of `pieces`, while it comes: see `Context.speak`."""
        return self.context(**settings).speak(pieces)

    async def interrupt(self, played_ms: float | None = None) -> list[Interrupted]:
        """Barge in on everything, and wait for the answers of what was not over.

        `played_ms` is about the one that is being heard. A context whose text has not begun is left
        alone: the gateway has never heard of it. Raises GatewayClosedError.
        """
        stopped = [context for context in self._contexts.values() if context.opened]
        for context in (*stopped, *self._over.values()):
            context.drop_pending_audio()
        await self.send_command("interrupt", played_ms=played_ms)
        answers = [await context.interrupt() for context in stopped]
        return [answer for answer in answers if answer is not None]

    async def send_command(self, kind: str, **fields: Any) -> None:
        """Send one message of the protocol. Raises GatewayClosedError."""
        if self._closed is not None:
            raise self._closed
        await self._link.send(encode_command(kind, **fields))

    async def aclose(self) -> None:
        """Hang up. Contexts that still iterate raise GatewayClosedError."""
        await self._link.close()
        self._room.set()
        await asyncio.gather(self._reader, *self._tasks, return_exceptions=True)

    def buffered(self, delta_bytes: int) -> None:
        """Contexts report here what they hold, so that reading can pause."""
        self._buffered_bytes += delta_bytes
        if self._buffered_bytes < MAX_BUFFERED_BYTES:
            self._room.set()
        else:
            self._room.clear()

    def owns(self, context: Context) -> bool:
        """Whether the context's id still means this utterance, and not a later one."""
        return (self._contexts.get(context.id) or self._over.get(context.id)) is context

    def forget(self, context: Context) -> None:
        """A context is over: its late audio is dropped, its last events are not."""
        self._contexts.pop(context.id, None)
        self._over[context.id] = context
        if context.number is not None:
            self._by_number.pop(context.number, None)

    def stop_soon(self, context: Context) -> None:
        """Interrupt a context that nobody will listen to, without waiting for the answer."""
        self.spawn(self._send_quietly("interrupt", context=context.id))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something beside whoever calls; whoever wants its error awaits it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._reap)
        return task

    def _reap(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen, even where nobody waits any more

    async def _send_quietly(self, kind: str, **fields: Any) -> None:
        with contextlib.suppress(GatewayClosedError):
            await self.send_command(kind, **fields)

    async def _read(self) -> None:
        try:
            while True:
                message = await self._link.receive()
                if isinstance(message, bytes):
                    self._take_audio(decode_audio(message))
                else:
                    self._take_event(decode_event(message))
                await self._room.wait()
        except Exception as error:  # whoever waits must wake, with the cause
            self._end(error)
            await self._link.close()

    def _take_audio(self, packet: AudioPacket) -> None:
        context = self._by_number.get(packet.number)
        if context is not None:
            context.take_audio(packet)

    def _take_event(self, event: Event) -> None:
        if isinstance(event, Hello):
            return
        if event.context is None:
            if isinstance(event, Failed):
                for context in list(self._contexts.values()):
                    context.take_event(event)
            return
        addressed = self._contexts.get(event.context) or self._over.get(event.context)
        if addressed is None:
            return
        if isinstance(event, Started):
            self._by_number[event.number] = addressed
        addressed.take_event(event)

    def _end(self, error: Exception) -> None:
        self._closed = error
        for context in [*self._contexts.values(), *self._over.values()]:
            context.fail(error)
