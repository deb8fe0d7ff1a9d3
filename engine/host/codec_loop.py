"""The codec's thread: many streams' new frames, decoded in as few batched calls as they allow.

Each stream has at most one job in flight, so its frames stay in order without any lock. Jobs that
arrive in the same turn of the event loop (SGLang reports a whole batch at once) are handed over
together and decoded together.

A language model that outruns the codec leaves it jobs of different lengths. They are decoded in
rounds of as many frames as all have left, and what came meanwhile joins the next round: so calls
stay full when they matter most, and a stream's first frame never waits for another's backlog.

A round that fails fails the streams in it. Then the decoder is asked whether it can still decode
anything: where it cannot (a GPU's error is for good), or where the thread fails in any other way,
the thread ends, every decode that waits or comes raises, and `broken` tells whoever can start a
new process.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.api import EngineUnavailableError
from engine.codec.slots import SlotError

Codes = NDArray[np.uint16]
Pcm = NDArray[np.float32]


class Decoder(Protocol):
    """What is needed of `engine.codec`'s StreamingDecoder."""

    def allocate(self) -> int: ...
    def free(self, slot: int) -> None: ...
    def decode(self, slots: list[int], codes: Codes) -> Pcm: ...
    def check(self) -> None: ...


MOST_FRAMES_A_ROUND = 4  # of each stream


@dataclass(slots=True, eq=False)
class _Job:
    slot: int
    codes: Codes  # [T, N]: those still to be decoded
    result: asyncio.Future[Pcm]
    pcm: list[Pcm] = field(default_factory=list)


class CodecLoop:
    """Owns the decoder's thread. All methods are for the event loop that `start` was called on."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._batches: queue.SimpleQueue[list[_Job] | None] = queue.SimpleQueue()
        self._gathering: list[_Job] = []
        self.open_slots = 0
        # a cancelled caller may leave a job behind and bring another one of the same stream
        self._in_flight: dict[int, set[_Job]] = {}
        self._draining: dict[int, asyncio.Future[None]] = {}  # released with jobs in flight
        self._thread = threading.Thread(target=self._run, name="codec", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._loop = asyncio.get_running_loop()
        self._failure: asyncio.Future[BaseException] = self._loop.create_future()
        self._thread.start()

    async def broken(self) -> BaseException:
        """Wait until nothing can be decoded any more; returns why."""
        return await asyncio.shield(self._failure)

    async def open(self) -> int:
        """Take a slot with fresh state, waiting where only abandoned decodes hold what is left.

        Raises SlotError when all slots belong to open streams.
        """
        while True:
            try:
                slot = self._decoder.allocate()
            except SlotError:
                if not self._draining:
                    raise
                await asyncio.wait(self._draining.values(), return_when=asyncio.FIRST_COMPLETED)
            else:
                self.open_slots += 1
                return slot

    def release(self, slot: int) -> None:
        """Give a slot back, as soon as no decode of its stream is in flight.

        Waits for nothing, so no cancellation can come between.
        """
        if slot in self._in_flight:
            self._draining[slot] = self._loop.create_future()
        else:
            self._free(slot)

    async def decode(self, slot: int, codes: Codes) -> Pcm:
        """The next frames of a stream, codes [T, N] -> samples [T * frame_samples].

        Raises what the decoder raises, EngineUnavailableError once the thread has ended.
        """
        if self._failure.done():
            raise _unavailable(self._failure.result())
        job = _Job(slot, codes, self._loop.create_future())
        self._in_flight.setdefault(slot, set()).add(job)
        job.result.add_done_callback(lambda _: self._through(job))
        if not self._gathering:
            self._loop.call_soon(self._hand_over)
        self._gathering.append(job)
        # a cancelled caller must not take the slot from under a running decode
        return await asyncio.shield(job.result)

    async def stop(self) -> None:
        """Finish what is in flight and end the thread."""
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)

    def _free(self, slot: int) -> None:
        self._decoder.free(slot)
        self.open_slots -= 1

    def _through(self, job: _Job) -> None:
        if not job.result.cancelled():
            job.result.exception()  # an abandoned job's error is nobody's
        jobs = self._in_flight[job.slot]
        jobs.remove(job)
        if jobs:
            return
        del self._in_flight[job.slot]
        if (drained := self._draining.pop(job.slot, None)) is not None:
            self._free(job.slot)
            drained.set_result(None)

    def _hand_over(self) -> None:
        self._batches.put(self._gathering)
        self._gathering = []

    # --- the thread ---

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._tell(self._break, error)

    def _work(self) -> None:
        jobs: list[_Job] = []
        ending = False
        while jobs or not ending:
            while not ending and not (jobs and self._batches.empty()):
                batch = self._batches.get()
                ending = batch is None
                jobs += batch or ()
            if jobs:
                jobs = self._round(jobs)

    def _round(self, jobs: list[_Job]) -> list[_Job]:
        """Decode some frames of all streams in one call; returns the jobs that are not through."""
        # behind a job that its caller has abandoned there may be another one of the same stream
        first = list({job.slot: job for job in reversed(jobs)}.values())[::-1]
        try:
            through = self._decode(first)
            results = [np.concatenate(job.pcm) for job in through]
        except Exception as error:
            self._tell(_settle, first, [error] * len(first))
            self._decoder.check()
            return [job for job in jobs if job not in first]
        if through:
            self._tell(_settle, through, results)
        return [job for job in jobs if job not in through]

    def _decode(self, jobs: list[_Job]) -> list[_Job]:
        """As many frames as all have left; returns the jobs that have none left then."""
        count = min(MOST_FRAMES_A_ROUND, *(len(job.codes) for job in jobs))
        codes = np.stack([job.codes[:count] for job in jobs])
        decoded = self._decoder.decode([job.slot for job in jobs], codes)
        for job, pcm in zip(jobs, decoded, strict=True):
            job.pcm.append(pcm)
            job.codes = job.codes[count:]
        return [job for job in jobs if not len(job.codes)]

    def _tell(self, function: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop is closed: nobody waits
            self._loop.call_soon_threadsafe(function, *arguments)

    # --- back in the event loop ---

    def _break(self, error: BaseException) -> None:
        if not self._failure.done():
            self._failure.set_result(error)
        jobs = [job for jobs in self._in_flight.values() for job in jobs]
        _settle(jobs, [_unavailable(error)] * len(jobs))


def _unavailable(error: BaseException) -> EngineUnavailableError:
    return EngineUnavailableError(f"expected a codec that decodes, got {error!r}")


def _settle(jobs: list[_Job], results: Sequence[Pcm | Exception]) -> None:
    for job, result in zip(jobs, results, strict=True):
        if job.result.done():
            continue
        if isinstance(result, Exception):
            job.result.set_exception(result)
        else:
            job.result.set_result(result)
