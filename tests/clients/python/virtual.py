"""A clock that stands until it is moved, a loudspeaker that remembers, scripted contexts."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from clients.python.context import Context
from clients.python.window import TextWindow
from clients.python.wire import AudioFormat, AudioPacket, Done, Interrupted, Started

RATE_HZ = 8000
_TURNS = 12  # of the loop, for what a moment makes possible


async def settle() -> None:
    """Let everybody do what can be done without time passing."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


class VirtualClock:
    """Seconds that pass only in `advance`."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, duration_s: float) -> None:
        waiter = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now_s + duration_s, id(waiter), waiter))
        await waiter

    async def advance(self, duration_ms: float) -> None:
        """Wake everybody in turn who sleeps until then."""
        until_s = self.now_s + duration_ms / 1000.0
        await settle()
        while self._sleepers and self._sleepers[0][0] <= until_s:
            self.now_s, _, waiter = heapq.heappop(self._sleepers)
            if not waiter.done():
                waiter.set_result(None)
            await settle()
        self.now_s = until_s


class Speaker:
    """A device: what it was given and when, and when it was silenced."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.pcm = bytearray()
        self.written: list[tuple[float, int]] = []  # (s, bytes so far)
        self.silenced: list[float] = []
        self.error: OSError | None = None
        self.closed = False

    async def write(self, pcm: bytes) -> None:
        if self.error is not None:
            raise self.error
        self.pcm += pcm
        self.written.append((self._clock.now_s, len(self.pcm)))

    def silence(self) -> None:
        self.silenced.append(self._clock.now_s)

    async def close(self) -> None:
        self.closed = True


@dataclass
class ScriptedSession:
    """What contexts need of a client; remembers what they say, and answers an interrupt."""

    window: TextWindow = field(default_factory=lambda: TextWindow(10_000, 65_536))
    said: list[dict[str, Any]] = field(default_factory=list)
    contexts: dict[str, Context] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def context(self, name: str) -> Context:
        self.contexts[name] = Context(self, name, {})
        self.contexts[name].opened = True
        return self.contexts[name]

    async def send_command(self, kind: str, **fields: Any) -> None:
        self.said.append({"type": kind, **fields})
        if kind == "interrupt":
            heard_ms = fields["played_ms"] or 0.0
            answer = Interrupted(fields["context"], 0, "heard", "not", heard_ms, 0.0, True)
            self.contexts[fields["context"]].take_event(answer)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def stop_soon(self, context: Context) -> None:
        self.said.append({"type": "interrupt", "context": context.id})

    def buffered(self, delta_bytes: int) -> None: ...

    def owns(self, context: Context) -> bool:
        return True

    def forget(self, context: Context) -> None: ...


def begin(context: Context, number: int, rate_hz: int = RATE_HZ) -> None:
    """The context's sound begins, as 16-bit samples."""
    context.take_event(Started(context.id, number, 0, AudioFormat("pcm_s16le", rate_hz)))


def sound(context: Context, pcm: bytes, cut_bytes: int = 320) -> None:
    """Its packets come."""
    for sequence, start in enumerate(range(0, len(pcm), cut_bytes)):
        payload = pcm[start : start + cut_bytes]
        context.take_audio(AudioPacket(context.number or 0, 0, sequence, 0, payload))


def done(context: Context, samples: int, rate_hz: int = RATE_HZ) -> None:
    """It is over after so many samples."""
    context.take_event(Done(context.id, 1000.0 * samples / rate_hz, 1, 1))
