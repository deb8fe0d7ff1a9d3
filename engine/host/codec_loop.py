"""The codec's thread: many streams' new frames, decoded in as few batched calls as they allow.

Each stream has at most one job in flight, so its frames stay in order without any lock. Jobs that
arrive in the same turn of the event loop (SGLang reports a whole batch at once) are handed over
together and decoded together.

A language model that outruns the codec leaves it jobs of different lengths. They are decoded in
rounds of as many frames as all have left, and what came meanwhile joins the next round: so calls
stay full when they matter most, and a stream's first frame never waits for another's backlog.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint16]
Pcm = NDArray[np.float32]


class Decoder(Protocol):
    """What is needed of `engine.codec`'s StreamingDecoder."""

    def allocate(self) -> int: ...
    def free(self, slot: int) -> None: ...
    def decode(self, slots: list[int], codes: Codes) -> Pcm: ...


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
        self._in_flight: dict[int, asyncio.Future[Pcm]] = {}
        self._thread = threading.Thread(target=self._run, name="codec", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def open(self) -> int:
        """Take a slot with fresh state. Raises what the decoder's pool raises when it is empty."""
        slot = self._decoder.allocate()
        self.open_slots += 1
        return slot

    async def release(self, slot: int) -> None:
        """Give a slot back, once a decode that its caller has abandoned is through with it."""
        if (job := self._in_flight.get(slot)) is not None:
            await asyncio.wait((job,))
        self._decoder.free(slot)
        self.open_slots -= 1

    async def decode(self, slot: int, codes: Codes) -> Pcm:
        """The next frames of a stream, codes [T, N] -> samples [T * frame_samples]."""
        job = _Job(slot, codes, self._loop.create_future())
        self._in_flight[slot] = job.result
        job.result.add_done_callback(lambda _: self._in_flight.pop(slot, None))
        if not self._gathering:
            self._loop.call_soon(self._hand_over)
        self._gathering.append(job)
        # a cancelled caller must not take the slot from under a running decode
        return await asyncio.shield(job.result)

    async def stop(self) -> None:
        """Finish what is in flight and end the thread."""
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)

    def _hand_over(self) -> None:
        self._batches.put(self._gathering)
        self._gathering = []

    def _run(self) -> None:
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
        count = min(MOST_FRAMES_A_ROUND, *(len(job.codes) for job in first))
        try:
            codes = np.stack([job.codes[:count] for job in first])
            decoded = self._decoder.decode([job.slot for job in first], codes)
        except Exception as error:
            self._loop.call_soon_threadsafe(_settle, first, [error] * len(first))
            return [job for job in jobs if job not in first]
        for job, pcm in zip(first, decoded, strict=True):
            job.pcm.append(pcm)
            job.codes = job.codes[count:]
        through = [job for job in first if not len(job.codes)]
        if through:
            results = [np.concatenate(job.pcm) for job in through]
            self._loop.call_soon_threadsafe(_settle, through, results)
        return [job for job in jobs if len(job.codes)]


def _settle(jobs: list[_Job], results: Sequence[Pcm | Exception]) -> None:
    for job, result in zip(jobs, results, strict=True):
        if job.result.done():
            continue
        if isinstance(result, Exception):
            job.result.set_exception(result)
        else:
            job.result.set_result(result)
