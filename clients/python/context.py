"""One utterance, from the caller's side: text goes in, packets and events come out."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Protocol

from clients.python.errors import GatewayClosedError, SpeechError
from clients.python.pieces import Pieces, pieces_of
from clients.python.window import TextWindow
from clients.python.wire import (
    AudioPacket,
    Done,
    Event,
    Failed,
    Interrupted,
    SegmentStarted,
    Started,
)

# After these the gateway has ended the context itself. After any other error it would go on with
# what it has (the default voice for an unknown one, say), which is not what the caller asked for.
ENDING_CODES = frozenset({"engine_failed", "internal", "overloaded"})
UNKNOWN_CODE = "unknown_context"


class Session(Protocol):
    """What a context needs of the client that made it."""

    @property
    def window(self) -> TextWindow:
        """How much text may be sent."""
        ...

    async def send_command(self, kind: str, **fields: Any) -> None:
        """Send one message. Raises GatewayClosedError."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something beside whoever calls."""
        ...

    def stop_soon(self, context: Context) -> None:
        """Interrupt a context that nobody will listen to, without waiting for the answer."""
        ...

    def buffered(self, delta_bytes: int) -> None:
        """The context holds so much more sound, or less."""
        ...

    def owns(self, context: Context) -> bool:
        """Whether the context's id still means this utterance, and not a later one."""
        ...

    def forget(self, context: Context) -> None:
        """The context is over."""
        ...


class Context:
    """Made by `Client.context`. Iterate it for its packets, or `events()` for everything.

    Iteration ends after the last packet, or at once when the context is interrupted; then `done` or
    `interrupted` says how it went. It raises SpeechError if the context failed.
    """

    def __init__(self, session: Session, context_id: str, settings: dict[str, Any]) -> None:
        self.id = context_id
        self.started: Started | None = None
        self.done: Done | None = None
        self.interrupted: Interrupted | None = None
        self.opened = False  # the gateway has been told: before that, nothing can be stopped
        self._session = session
        self._settings = settings  # to be sent with the first command
        self._queue: deque[AudioPacket | Event] = deque()
        self._arrived = asyncio.Event()
        self._error: Exception | None = None
        self._lost: Exception | None = None
        self._ended = False  # we have said that no more text comes
        self._over = False
        self._deaf = False  # interrupted by us: what sound still comes is stale
        self._sent_chars = 0
        self._worded_chars = 0  # of them, up to the last letter or figure
        self._settled_chars = 0  # of them, those that have begun to sound
        self._feeding: asyncio.Task[None] | None = None
        self._feed_error: Exception | None = None
        self._asking: asyncio.Task[None] | None = None
        self._answered = asyncio.Event()

    @property
    def number(self) -> int | None:
        """The tag of this context's binary frames, once it has started."""
        return self.started.number if self.started else None

    @property
    def over(self) -> bool:
        """Done, interrupted or failed."""
        return self._over

    @property
    def silenced(self) -> bool:
        """It was interrupted, or is about to be: nobody should hear any more of it."""
        return self._deaf

    async def configure(self, **settings: Any) -> None:
        """Send settings now, which also warms the voice before the first text."""
        settings, self._settings = {**self._settings, **settings}, {}
        await self._send("configure", **settings)

    async def send(self, text: str) -> None:
        """Add text: any size, cut anywhere. What comes after an interrupt is dropped.

        Waits while the gateway has enough that is not spoken yet. Raises SpeechError when the
        context has failed or is done, GatewayClosedError.
        """
        for start in range(0, len(text), self._session.window.piece_chars):
            piece = text[start : start + self._session.window.piece_chars]
            if not await self._has_room(piece):
                return
            await self._send_settings()
            await self._send("text", text=piece)

    def speak(self, pieces: Pieces) -> Context:
        """Send what an LLM says as it comes, then end; returns at once, to iterate meanwhile.

        `pieces`: a string, or any async or plain iterator of strings. It is stopped and closed when
        the context is interrupted or fails. When it raises, what came before is spoken, and then
        iterating raises the same.
        """
        self._feeding = self._session.spawn(self._feed(pieces))
        return self

    async def flush(self, flush_id: int | str | None = None) -> None:
        """Speak what is buffered; a `Flushed` event follows when it was sent."""
        if self._takes_text():
            await self._open()
            await self._send("flush", flush_id=flush_id)

    async def end(self) -> None:
        """No more text. A context that had none is done, with no sound. Repeats are harmless."""
        if self._over or self._deaf:
            return
        self._ended = True
        if not self.opened and not self._settings:
            self.take_event(Done(self.id, audio_ms=0.0, frames=0, segments=0))
            return
        await self._send_settings()
        await self._send("end")

    async def interrupt(self, played_ms: float | None = None) -> Interrupted | None:
        """Barge in, and wait for the gateway's answer. No packet is seen from this call on.

        Also after `done`, because the listener may still be hearing it. However many wait, they
        share one answer, and who stops waiting takes it from nobody else. None: the gateway knows
        nothing of this context any more. Raises GatewayClosedError.
        """
        self.drop_pending_audio()
        if not self.opened:
            self._interrupt_unsaid()
        if self.interrupted is None and self._session.owns(self):
            if self._asking is None or self._asking.done():
                self._asking = self._session.spawn(self._ask(played_ms))
            await asyncio.shield(self._asking)
        return self.interrupted

    async def duck(self, gain: float = 0.2) -> None:
        """Lower the output (0 pauses it) while it is not yet clear that the listener speaks."""
        await self._open()
        await self._send("duck", gain=gain)

    async def resume(self) -> None:
        """It was a false alarm: go on where it stopped."""
        await self._open()
        await self._send("resume")

    async def report_playback(self, played_ms: float) -> None:
        """Tell the gateway how much has been heard; it paces what it sends by that."""
        if self.opened:
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
                    self._session.buffered(-len(item.payload))
                yield item
            if self._over:
                break
            self._arrived.clear()
            await self._arrived.wait()
        if self._error is not None:
            raise self._error
        if self._feed_error is not None:
            raise self._feed_error

    # Called by the client's reader.

    def take_audio(self, packet: AudioPacket) -> None:
        """Keep a packet, unless a barge-in made it stale."""
        stale = self._deaf or (
            self.started is not None and packet.generation < self.started.generation
        )
        if stale:
            return
        self._queue.append(packet)
        self._session.buffered(len(packet.payload))
        self._arrived.set()

    def take_event(self, event: Event) -> None:
        """Keep an event and follow what it means for the context."""
        if not self._over:
            self._queue.append(event)
            self._arrived.set()
        match event:
            case Started():
                self.started = event
            case SegmentStarted():
                self._settle(event.end)
            case Done():
                self.done = event
                if not self._ended:
                    self._feed_error = SpeechError(
                        "context_state", "the gateway ended it: no text came for too long"
                    )
                self._finish(None)
            case Interrupted():
                self.interrupted = event
                self._answered.set()
                self.drop_pending_audio()
                self._finish(None)
            case Failed():
                self._take_failure(event)

    def fail(self, error: Exception) -> None:
        """The connection is gone."""
        self._lost = error
        self._answered.set()
        self._finish(error)

    def drop_pending_audio(self) -> None:
        """Forget packets that wait here, and those that still arrive."""
        self._deaf = True
        self._stop_feeding()
        waiting = [item for item in self._queue if isinstance(item, AudioPacket)]
        self._session.buffered(-sum(len(packet.payload) for packet in waiting))
        events = [item for item in self._queue if not isinstance(item, AudioPacket)]
        self._queue.clear()
        self._queue.extend(events)

    def _take_failure(self, event: Failed) -> None:
        if event.code == UNKNOWN_CODE:
            self._answered.set()  # there is nothing to interrupt
        if self._over:
            return
        self._finish(SpeechError(event.code, event.message))
        if event.code not in ENDING_CODES and self._asking is None:
            self._session.stop_soon(self)

    def _finish(self, error: Exception | None) -> None:
        if self._over:
            return
        self._error = error
        self._over = True
        self._arrived.set()
        self._session.window.leave(self.id)
        self._stop_feeding()
        self._session.forget(self)

    def _interrupt_unsaid(self) -> None:
        """The gateway has never heard of it, so that this is the whole answer."""
        if self.interrupted is None:
            self.take_event(Interrupted(self.id, 0, "", "", 0.0, 0.0, engine_confirmed=True))

    async def _ask(self, played_ms: float | None) -> None:
        self._answered.clear()
        await self._send("interrupt", played_ms=played_ms)
        await self._answered.wait()
        if self.interrupted is None and self._lost is not None:
            raise self._lost

    async def _has_room(self, piece: str) -> bool:
        """Wait until a piece of text may be sent; False: it is not wanted any more."""
        window = self._session.window
        while self._takes_text():
            if window.has_room(self.id, len(piece)):
                window.take(self.id, len(piece))
                if any(map(str.isalnum, piece)):
                    self._worded_chars = self._sent_chars + len(piece)
                self._sent_chars += len(piece)
                return True
            if self._settled_chars >= self._worded_chars and self._sent_chars:
                raise SpeechError("limit_exceeded", "expected words in so much text, got none")
            await window.moved()
        return False

    def _settle(self, chars: int) -> None:
        """The text up to here does not wait in the gateway any more."""
        settled = max(min(chars, self._sent_chars), self._settled_chars)
        self._session.window.give_back(self.id, settled - self._settled_chars)
        self._settled_chars = settled

    async def _feed(self, pieces: Pieces) -> None:
        source = pieces_of(pieces)
        try:
            async with contextlib.aclosing(source):
                async for piece in source:
                    await self.send(piece)
                    if self._over or self._deaf:
                        return
        except Exception as error:
            if error is not self._error:
                self._feed_error = error
        with contextlib.suppress(GatewayClosedError, SpeechError):  # then that is the context's end
            await self.end()

    def _stop_feeding(self) -> None:
        self._session.window.wake()
        if self._feeding is not None and self._feeding is not asyncio.current_task():
            self._feeding.cancel()

    def _takes_text(self) -> bool:
        if self._deaf:
            return False  # an LLM's late tokens, which nobody wants spoken
        if self._error is not None:
            raise self._error
        if self._over:
            raise SpeechError("context_state", f"expected no text for {self.id}: it is done")
        return True

    async def _open(self) -> None:
        if not self.opened:
            await self.configure()

    async def _send_settings(self) -> None:
        if self._settings:
            await self.configure()

    async def _send(self, kind: str, **fields: Any) -> None:
        if not self.opened:
            self.opened = True
            self._session.window.take(self.id, 0)
        await self._session.send_command(kind, context=self.id, **fields)
