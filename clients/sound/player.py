"""Plays contexts through a program of the system, and is silent at once when told so.

Theory of operation. Sound is handed to the program at the pace of the clock, never more than
`AHEAD_MS` early: pipes and programs would swallow seconds of it, and nobody could say what was
heard. An interrupt ends the program, and with it what it still holds; the next sound starts
another. What was heard is what was handed over, less what is still ahead of the clock.

    handed over so far   c1 c1 c1 c1 c2 c2 c2|        `_position`
    heard                           ^ the clock       `_position` less what is ahead
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from clients.python.context import Context
from clients.python.errors import GatewayClosedError
from clients.python.wire import OPUS_RATE_HZ, AudioPacket, Done, Event, Interrupted, Started
from clients.sound.device import Device, PlayerError, ProgramDevice
from clients.sound.opus import OpusDecoder

CHUNK_MS = 20.0
AHEAD_MS = 100.0  # handed over before its time, so that a busy machine leaves no gap
BUFFER_MS = 3000.0  # of a context, decoded and not handed over; beyond that it waits
REPORT_MS = 250.0  # between two reports to the gateway
_PCM_BYTES = 2


@dataclass(slots=True)
class _Playing:
    """A context that is played or waits for it. Counts and positions are in samples."""

    context: Context
    started: bool = False
    decoder: OpusDecoder | None = None  # of Opus; other packets hold samples
    pending: bytearray = field(default_factory=bytearray)
    handed: int = 0
    end: int = 0  # position behind what was handed over
    complete: bool = False  # nothing more will come

    def total_is(self, total: int) -> None:
        """The sound is so long; what came beyond it is padding."""
        self.complete = True
        del self.pending[max(total - self.handed, 0) * _PCM_BYTES :]

    def heard(self, position: int) -> int:
        """How much of it lies before a position."""
        return self.handed - min(max(self.end - position, 0), self.handed)


class Player:
    """Made by `Player.open`. Contexts are heard in the order in which their sound begins."""

    def __init__(
        self,
        device: Device,
        rate_hz: int = OPUS_RATE_HZ,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._device = device
        self._rate_hz = rate_hz
        self._clock = clock
        self._sleep = sleep
        self._playing: dict[str, _Playing] = {}
        self._position = 0
        self._due_s: float | None = None  # when what is at `_position` should be heard
        self._wanted = asyncio.Event()
        self._moved = asyncio.Event()
        self._error: PlayerError | None = None
        self._pump_task = asyncio.create_task(self._pump())

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, rate_hz: int = OPUS_RATE_HZ) -> AsyncIterator[Player]:
        """A player of Opus, or of 16-bit PCM at `rate_hz`. Raises NoPlayerError."""
        player = cls(ProgramDevice.find(rate_hz), rate_hz)
        try:
            yield player
        finally:
            await player.close()

    async def play(self, context: Context) -> None:
        """Play one context; returns when its last sample was heard, or it was interrupted.

        Raises what iterating the context raises, after what came before, and PlayerError.
        """
        entry = self._entry(context)
        taking = asyncio.create_task(self._take_all(entry))
        reports = asyncio.create_task(self._report(entry))
        try:
            await asyncio.wait((taking, self._pump_task), return_when=asyncio.FIRST_COMPLETED)
            if not taking.done() and self._error is not None:
                raise self._error
            await taking
        finally:
            for task in (taking, reports):
                task.cancel()
            self._drop(entry)

    async def interrupt(self) -> Interrupted | None:
        """Barge in: silence now, then the gateway's answer about what was being heard.

        What waits behind it, or has not begun to sound, is interrupted too. None when nothing is
        being played. Raises GatewayClosedError.
        """
        stopped = [(entry.context, self._heard_ms(entry)) for entry in self._in_order()]
        self.silence()
        for context, _ in stopped:
            context.drop_pending_audio()
        answers = [await context.interrupt(heard_ms) for context, heard_ms in stopped]
        return answers[0] if answers else None

    def silence(self) -> None:
        """Drop all sound, what the program holds included. The gateway is not told."""
        self._playing.clear()
        self._stop_device()

    def heard_ms(self, context: Context) -> float:
        """How much of a context has been heard; 0 when it is not being played."""
        entry = self._playing.get(context.id)
        return 0.0 if entry is None else self._heard_ms(entry)

    def take(self, context: Context, item: AudioPacket | Event) -> None:
        """The next item of `context.events()`, for who iterates it without `play`."""
        match item:
            case Started():
                self._begin(context, item)
            case AudioPacket() if context.id in self._playing:
                entry = self._playing[context.id]
                pcm = entry.decoder.decode(item.payload) if entry.decoder else item.payload
                entry.pending += pcm
                self._wanted.set()
            case Done() if context.id in self._playing:
                self._playing[context.id].total_is(round(item.audio_ms * self._rate_hz / 1000.0))
                self._wanted.set()
            case Interrupted() if context.id in self._playing:
                self._drop(self._playing[context.id])

    async def room(self, context: Context) -> None:
        """Wait until more of a context may be taken. Raises PlayerError."""
        entry = self._playing.get(context.id)
        if entry is not None:
            await self._until(lambda: not self._has(entry) or not self._full(entry))

    async def drained(self) -> None:
        """Wait until everything that was taken has been heard. Raises PlayerError."""
        await self._until(lambda: not any(entry.started for entry in self._playing.values()))

    async def close(self) -> None:
        """Let the program play what it holds, and be silent for good."""
        self._pump_task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._pump_task
        if self._playing:
            self.silence()
        await self._device.close()

    # --- who is playing ---

    async def _take_all(self, entry: _Playing) -> None:
        try:
            async for item in entry.context.events():
                self.take(entry.context, item)
                await self.room(entry.context)
        except Exception:
            await self._played_out(entry)
            raise
        await self._played_out(entry)

    def _full(self, entry: _Playing) -> bool:
        return len(entry.pending) >= self._bytes(BUFFER_MS)

    def _entry(self, context: Context) -> _Playing:
        return self._playing.setdefault(context.id, _Playing(context))

    def _begin(self, context: Context, started: Started) -> None:
        rate_hz, codec = started.format.sample_rate_hz, started.format.codec
        if codec not in ("opus", "pcm_s16le") or rate_hz != self._rate_hz:
            raise ValueError(
                f"expected opus or pcm_s16le at {self._rate_hz} Hz to play, got {codec} at"
                f" {rate_hz} Hz"
            )
        entry = self._entry(context)
        self._playing[context.id] = self._playing.pop(context.id)  # behind those that have begun
        entry.started = True
        entry.decoder = OpusDecoder(started.pre_skip_samples) if codec == "opus" else None

    def _in_order(self) -> list[_Playing]:
        """All, in the order of being heard; those that have not begun come last."""
        return sorted(self._playing.values(), key=lambda entry: not entry.started)

    def _has(self, entry: _Playing) -> bool:
        return self._playing.get(entry.context.id) is entry

    def _drop(self, entry: _Playing) -> None:
        """Its sound is not wanted any more."""
        if not self._has(entry):
            return
        del self._playing[entry.context.id]
        if entry.handed > self._heard_samples(entry):
            self._stop_device()
        self._moved.set()

    def _stop_device(self) -> None:
        self._due_s = None
        self._device.silence()
        self._moved.set()

    # --- the pace ---

    def _bytes(self, duration_ms: float) -> int:
        return round(duration_ms * self._rate_hz / 1000.0) * _PCM_BYTES

    def _ahead_samples(self) -> int:
        """How much was handed over before its time."""
        if self._due_s is None:
            return 0
        return max(round((self._due_s - self._clock()) * self._rate_hz), 0)

    def _heard_samples(self, entry: _Playing) -> int:
        return entry.heard(self._position - self._ahead_samples())

    def _heard_ms(self, entry: _Playing) -> float:
        return 1000.0 * self._heard_samples(entry) / self._rate_hz

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._error is not None:
                raise self._error
            self._moved.clear()
            await self._moved.wait()

    async def _pump(self) -> None:
        try:
            while True:
                if any(entry.started for entry in self._playing.values()):
                    await self._hand_over()
                    self._look_back()
                else:
                    self._wanted.clear()
                    await self._wanted.wait()
        except OSError as error:
            self._error = PlayerError(f"the player has quit: {error}")
        finally:
            self._error = self._error or PlayerError("the player was closed")
            self._moved.set()

    async def _hand_over(self) -> None:
        """One chunk, when it is time for it."""
        now_s = self._clock()
        if self._due_s is None or self._due_s < now_s:  # silent, or the machine slept: begin anew
            self._due_s = now_s
        started = [entry for entry in self._playing.values() if entry.started]
        # Silence goes out as late as it can, for behind it sound would have to wait.
        has_sound = any(entry.pending for entry in started)
        early_s = self._due_s - now_s + (CHUNK_MS - (AHEAD_MS if has_sound else CHUNK_MS)) / 1000.0
        if early_s > 0 or (not has_sound and all(entry.complete for entry in started)):
            await self._sleep(min(max(early_s, 0.001), CHUNK_MS / 1000.0))
            return
        chunk = self._next_chunk(self._bytes(CHUNK_MS))
        self._due_s += CHUNK_MS / 1000.0
        await self._device.write(chunk)

    def _next_chunk(self, size_bytes: int) -> bytes:
        """What is to be heard next, silence where there is nothing yet."""
        chunk = bytearray()
        for entry in self._in_order():
            if not entry.started:
                break
            taken = entry.pending[: size_bytes - len(chunk)]
            del entry.pending[: len(taken)]
            chunk += taken
            entry.handed += len(taken) // _PCM_BYTES
            if taken:
                entry.end = self._position + len(chunk) // _PCM_BYTES
            if entry.pending or not entry.complete:
                break
        self._position += size_bytes // _PCM_BYTES
        return bytes(chunk.ljust(size_bytes, b"\0"))

    def _look_back(self) -> None:
        """Forget what is over, and wake whoever waits for it."""
        for entry in list(self._playing.values()):
            heard = self._heard_samples(entry)
            if entry.context.silenced:  # by somebody else, maybe after its last packet came
                self._drop(entry)
            elif entry.complete and not entry.pending and heard >= entry.handed:
                del self._playing[entry.context.id]
        self._moved.set()

    async def _played_out(self, entry: _Playing) -> None:
        """Nothing more of it comes: wait until what came was heard."""
        entry.complete = True
        self._wanted.set()
        await self._until(lambda: not self._has(entry) or not entry.started)

    async def _report(self, entry: _Playing) -> None:
        """Tell the gateway now and then what was heard; not in the pump, which must not wait."""
        reported_ms = 0.0
        with contextlib.suppress(GatewayClosedError, PlayerError):  # who iterates is told
            while True:
                next_ms = reported_ms + REPORT_MS
                await self._until(lambda: self._heard_ms(entry) >= next_ms)  # noqa: B023
                reported_ms = self._heard_ms(entry)
                await entry.context.report_playback(reported_ms)
