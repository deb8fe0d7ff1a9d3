"""One utterance, from the caller's side: text goes in, packets and events come out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from clients.python.errors import SpeechError
from clients.python.wire import (
    AudioPacket,
    Done,
    Event,
    Failed,
    Interrupted,
    Started,
)

# After these the gateway has ended the context itself. After any other error it would go on with
# what it has (the default voice for an unknown one, say), which is not what the caller asked for.
ENDING_CODES = frozenset({"engine_failed", "internal", "overloaded"})


class Context:
    """Made by `Client.context`. Iterate it for its packets, or `events()` for everything.

    Iteration ends after the last packet, or at once when the context is interrupted; then `done` or
    `interrupted` says how it went. It raises SpeechError if the context failed.
    """

    def __init__(self, client: Any, context_id: str, settings: dict[str, Any]) -> None:
        self.id = context_id
        self.started: Started | None = None
        self.done: Done | None = None
        self.interrupted: Interrupted | None = None
        self._client = client
        self._unsent_settings: dict[str, Any] | None = settings or None
        self._queue: deque[AudioPacket | Event] = deque()
        self._arrived = asyncio.Event()
        self._error: Exception | None = None
        self._over = asyncio.Event()
        self._answer: asyncio.Future[None] | None = None
        self._deaf = False  # interrupted by us, answer not here yet: sound is stale

    @property
    def number(self) -> int | None:
        """The tag of this context's binary frames, once it has started."""
        return self.started.number if self.started else None

    async def configure(self, **settings: Any) -> None:
        """Send settings now, which also warms the voice before the first text."""
        merged = {**(self._unsent_settings or {}), **settings}
        self._unsent_settings = None
        await self._send("configure", **merged)

    async def send(self, text: str) -> None:
        """Add text: any size, cut anywhere."""
        await self._send_settings()
        await self._send("text", text=text)

    async def flush(self, flush_id: int | str | None = None) -> None:
        """Speak what is buffered; a `Flushed` event follows when it was sent."""
        await self._send("flush", flush_id=flush_id)

    async def end(self) -> None:
        """No more text."""
        await self._send_settings()
        await self._send("end")

    async def interrupt(self, played_ms: float | None = None) -> Interrupted | None:
        """Barge in, and wait for the gateway's answer. No packet is seen from this call on.

        Also after `done`, because the listener may still be hearing it. None: the gateway knows
        nothing (any more) of this context. Raises GatewayClosedError.
        """
        self.drop_pending_audio()
        if self.interrupted is None:
            if self._answer is None:
                self._answer = asyncio.get_running_loop().create_future()
                await self._send("interrupt", played_ms=played_ms)
            await self._answer
        return self.interrupted

    async def duck(self, gain: float = 0.2) -> None:
        """Lower the output (0 pauses it) while it is not yet clear that the listener speaks."""
        await self._send("duck", gain=gain)

    async def resume(self) -> None:
        """It was a false alarm: go on where it stopped."""
        await self._send("resume")

    async def report_playback(self, played_ms: float) -> None:
        """Tell the gateway how much has been heard; it paces what it sends by that."""
        await self._send("playback", played_ms=played_ms)

    async def __aiter__(self) -> AsyncIterator[AudioPacket]:
        async for item in self.events():
            if isinstance(item, AudioPacket):
                yield item

    async def events(self) -> AsyncIterator[AudioPacket | Event]:
        """Everything of this context in order, packets among the events."""
        while True:
            while self._queue:
                item = self._queue.popleft()
                if isinstance(item, AudioPacket):
                    self._client.buffered(-len(item.payload))
                yield item
            if self._over.is_set():
                break
            self._arrived.clear()
            await self._arrived.wait()
        if self._error is not None:
            raise self._error

    # Called by the client's reader.

    def take_audio(self, packet: AudioPacket) -> None:
        """Keep a packet, unless a barge-in made it stale."""
        stale = self._deaf or (
            self.started is not None and packet.generation < self.started.generation
        )
        if stale:
            return
        self._queue.append(packet)
        self._client.buffered(len(packet.payload))
        self._arrived.set()

    def take_event(self, event: Event) -> None:
        """Keep an event and follow what it means for the context."""
        if isinstance(event, Started):
            self.started = event
        elif isinstance(event, Done):
            self.done = event
        elif isinstance(event, Interrupted):
            self.interrupted = event
            self.drop_pending_audio()
        elif isinstance(event, Failed) and self._over.is_set():
            self._settle_interrupt()  # there was nothing left to interrupt
            return
        self._queue.append(event)
        self._arrived.set()
        if isinstance(event, (Done, Interrupted)):
            self._finish(None)
        elif isinstance(event, Failed):
            self._finish(SpeechError(event.code, event.message))
            if event.code not in ENDING_CODES and self._answer is None:
                self._client.stop_soon(self)

    def fail(self, error: Exception) -> None:
        """The connection is gone."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        if not self._over.is_set():
            self._finish(error)

    def drop_pending_audio(self) -> None:
        """Forget packets that wait here, and those that still arrive before the answer."""
        self._deaf = True
        waiting = [item for item in self._queue if isinstance(item, AudioPacket)]
        self._client.buffered(-sum(len(packet.payload) for packet in waiting))
        events = [item for item in self._queue if not isinstance(item, AudioPacket)]
        self._queue.clear()
        self._queue.extend(events)

    def _finish(self, error: Exception | None) -> None:
        if self.interrupted is not None or error is not None:
            self._settle_interrupt()
        if self._over.is_set():
            return
        self._error = error
        self._over.set()
        self._arrived.set()
        self._client.forget(self)

    def _settle_interrupt(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    async def _send_settings(self) -> None:
        if self._unsent_settings is not None:
            await self.configure()

    async def _send(self, kind: str, **fields: Any) -> None:
        await self._client.send_command(kind, context=self.id, **fields)
