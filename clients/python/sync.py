"""The same client without asyncio: a thread runs the loop, and every call waits for it.

    with connect("ws://127.0.0.1:8080") as client:
        for packet in client.speak(llm_deltas, voice="default"):
            play(packet.payload)

Calls may come from several threads: one iterates, another one interrupts.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from clients.python import client as asynchronous
from clients.python.context import Context as AsyncContext
from clients.python.errors import GatewayClosedError
from clients.python.pieces import Pieces
from clients.python.wire import AudioPacket, Done, Event, Hello, Interrupted, Started

T = TypeVar("T")


class _Loop:
    """A loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it there, and wait here. What interrupts the wait cancels the work."""
        if self._loop.is_closed():
            work.close()
            raise GatewayClosedError("the session is over")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


@contextlib.contextmanager
def connect(
    url: str, *, api_key: str | None = None, open_timeout_s: float = 10.0, resume: bool = False
) -> Iterator[Client]:
    """Open a session: see `clients.python.connect`."""
    with contextlib.closing(_Loop()) as loop:
        session = asynchronous.connect(
            url, api_key=api_key, open_timeout_s=open_timeout_s, resume=resume
        )
        client = loop.wait(session.__aenter__())
        try:
            yield Client(loop, client)
        finally:
            loop.wait(session.__aexit__(None, None, None))


class Client:
    """One session: see `clients.python.Client`."""

    def __init__(self, loop: _Loop, client: asynchronous.Client) -> None:
        self._loop = loop
        self._client = client

    @property
    def hello(self) -> Hello:
        """The gateway's greeting."""
        return self._client.hello

    @property
    def voices(self) -> Sequence[str]:
        """Names that `voice=` takes."""
        return self._client.voices

    @property
    def lost(self) -> bool:
        """Whether the session is over, and cannot be resumed."""
        return self._client.lost

    @property
    def resumed(self) -> int:
        """How often a lost connection was opened again."""
        return self._client.resumed

    def context(self, context_id: str | None = None, **settings: Any) -> Context:
        """Begin an utterance."""

        async def make() -> AsyncContext:
            return self._client.context(context_id, **settings)

        return Context(self._loop, self._loop.wait(make()))

    def speak(self, pieces: Pieces, **settings: Any) -> Context:
        """Say what comes out of `pieces`, while it comes."""
        return self.context(**settings).speak(pieces)

    def interrupt(self, played_ms: float | None = None) -> list[Interrupted]:
        """Barge in on everything."""
        return self._loop.wait(self._client.interrupt(played_ms))


class Context:
    """One utterance: see `clients.python.Context`."""

    def __init__(self, loop: _Loop, context: AsyncContext) -> None:
        self._loop = loop
        self._context = context

    @property
    def id(self) -> str:
        """Its name in the session."""
        return self._context.id

    @property
    def started(self) -> Started | None:
        """What its packets are."""
        return self._context.started

    @property
    def done(self) -> Done | None:
        """How it ended by itself."""
        return self._context.done

    @property
    def interrupted(self) -> Interrupted | None:
        """How it was interrupted."""
        return self._context.interrupted

    def configure(self, **settings: Any) -> None:
        """Send settings now."""
        self._loop.wait(self._context.configure(**settings))

    def send(self, text: str) -> None:
        """Add text."""
        self._loop.wait(self._context.send(text))

    def speak(self, pieces: Pieces) -> Context:
        """Send what an LLM says as it comes, then end; returns at once."""

        async def feed() -> None:
            self._context.speak(pieces)

        self._loop.wait(feed())
        return self

    def flush(self, flush_id: int | str | None = None) -> None:
        """Speak what is buffered."""
        self._loop.wait(self._context.flush(flush_id))

    def end(self) -> None:
        """No more text."""
        self._loop.wait(self._context.end())

    def interrupt(self, played_ms: float | None = None) -> Interrupted | None:
        """Barge in, and wait for what was heard."""
        return self._loop.wait(self._context.interrupt(played_ms))

    def duck(self, gain: float = 0.2) -> None:
        """Lower the output."""
        self._loop.wait(self._context.duck(gain))

    def resume(self) -> None:
        """Go on where it stopped."""
        self._loop.wait(self._context.resume())

    def report_playback(self, played_ms: float) -> None:
        """Tell the gateway how much has been heard."""
        self._loop.wait(self._context.report_playback(played_ms))

    def events(self) -> Iterator[AudioPacket | Event]:
        """Everything of this context in order."""
        items: AsyncIterator[AudioPacket | Event] = self._context.events()

        async def take() -> AudioPacket | Event | None:
            return await anext(items, None)

        while (item := self._loop.wait(take())) is not None:
            yield item

    def __iter__(self) -> Iterator[AudioPacket]:
        for item in self.events():
            if isinstance(item, AudioPacket):
                yield item
