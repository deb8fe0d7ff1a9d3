"""Utterances that never pause: played as they arrive, what is the longest silence inside each?

    uv run python -m benchmarks.continuity [--checkpoint FOLDER] [--seconds 25]

So many callers at once, each with one utterance after the other and no time to breathe, 2 to 7 s
long, every second one in a voice of 5 s; their starts are spread over 2 s and then spread
themselves. A listener plays each piece when it comes, and waits for the next if none is left:
`continuity_at_N` is the share of utterances whose longest wait is at most 100 ms. Expectation: 1.0
at 8 and at 16, with as many running at once (`running`); fewer running means that the engine's pace
held some back, which a faster machine would not.

Then more callers than the machine can serve: the same on the tiny checkpoint made so deep that 16
streams cannot keep up, with the engine's pace and without it. `continuity_past_the_limit` belongs
to the first, `..._unpaced` to the second; with the pace, callers wait for their turn instead
(`wait_ms_past_the_limit`), and those beyond the line's end are refused. Expectation: 1.0, and far
less without.

On a machine that others load, too, a figure below 1 may be theirs; run it with `nice -n -10` then.
`stall_ms` is the longest time for which this process, which only listens, got no core. It takes
three starts of the engine and four times --seconds and what was begun by then: about 4 minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.parts.checkpoints import TINY, grown, with_voices
from benchmarks.parts.report import Spread, finish, say
from engine import api
from engine.link.client import WorkerEngine
from engine.worker_config import EngineConfig

GAP_LIMIT_MS = 100.0
PCM_BYTES = 4  # of a sample
SPREAD_S = 2.0
FRAMES = (40, 150)
DEEP_LAYERS = 80
OVERLOAD_CALLERS, OVERLOAD_WAITING = 24, 6
VOICE = "caller"
_ids = itertools.count()


@dataclass(slots=True)
class Report:
    """What the callers of one run met."""

    gaps_ms: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    refused: int = 0
    most_running: int = 0

    @property
    def continuity(self) -> float:
        """The share of utterances without a long silence."""
        return round(sum(gap <= GAP_LIMIT_MS for gap in self.gaps_ms) / len(self.gaps_ms), 4)

    def __str__(self) -> str:
        return (
            f"{len(self.gaps_ms)} utterances, {self.continuity} without a gap, longest "
            f"{max(self.gaps_ms):.0f} ms; first sound after {Spread.of(self.first_ms, 0)} ms; "
            f"{self.refused} refused, at most {self.most_running} at once"
        )


async def speak(engine: WorkerEngine, rate_hz: int, rng: random.Random, to: Report) -> None:
    """One utterance, listened to. Raises RuntimeError if it is not as long as was asked for."""
    frames = rng.randint(*FRAMES)
    sampling = api.Sampling(seed=next(_ids), min_frames=frames, max_frames=frames)
    words = " ".join(rng.sample(WORDS, 8))
    voice = VOICE if frames % 2 else api.DEFAULT_VOICE
    request = api.SpeechRequest(f"c{next(_ids)}", words, voice, sampling=sampling)
    start, played_until, worst = time.perf_counter(), None, 0.0
    async for event in engine.speak(request):
        if isinstance(event, api.Finished) and event.frames != frames:
            raise RuntimeError(f"expected {frames} frames, got {event.frames} ({event.reason})")
        if not isinstance(event, api.Frames):
            continue
        now = time.perf_counter()
        if played_until is None:
            to.first_ms.append(1000 * (now - start))
            played_until = now
        worst = max(worst, now - played_until)
        played_until = max(played_until, now) + len(event.pcm) / PCM_BYTES / rate_hz
    to.gaps_ms.append(1000 * worst)


WORDS = "one two three four five six seven eight nine ten more less much very quite".split()


async def call(
    engine: WorkerEngine, rate_hz: int, seed: int, start_s: float, until: float, to: Report
) -> None:
    """Utterances one after the other; a refused one is tried again a little later."""
    rng = random.Random(seed)
    await asyncio.sleep(start_s)
    while time.perf_counter() < until:
        try:
            await speak(engine, rate_hz, rng, to)
        except api.EngineOverloadedError:
            to.refused += 1
            await asyncio.sleep(1.0)


async def watch(engine: WorkerEngine, to: Report) -> None:
    """How many run at once."""
    while True:
        to.most_running = max(to.most_running, (await engine.stats()).running)
        await asyncio.sleep(0.1)


async def run(engine: WorkerEngine, rate_hz: int, callers: int, seconds: float) -> Report:
    """So many callers for a while."""
    report = Report()
    say(f"{callers} callers for {seconds:.0f} s and until the last one's utterance ends ...")
    until = time.perf_counter() + seconds
    watcher = asyncio.create_task(watch(engine, report))
    await asyncio.gather(
        *(call(engine, rate_hz, i, SPREAD_S * i / callers, until, report) for i in range(callers))
    )
    watcher.cancel()
    say(f"{callers} callers: {report}")
    return report


@contextmanager
def stalls() -> Iterator[list[float]]:
    """Measure, meanwhile, by how much 5 ms of sleep are overslept at most; ms, one number."""
    worst = [0.0]

    async def sleep() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.005)
            worst[0] = max(worst[0], 1000 * (time.perf_counter() - start) - 5)

    task = asyncio.create_task(sleep())
    try:
        yield worst
    finally:
        task.cancel()


async def overload(checkpoint: Path, paced: bool, seconds: float) -> Report:
    """More callers than the deep checkpoint can serve."""
    config = EngineConfig(
        checkpoint, max_streams=OVERLOAD_CALLERS, max_waiting=OVERLOAD_WAITING, paced=paced
    )
    engine = WorkerEngine(config, say)
    info = await engine.start()
    try:
        await engine.warm(VOICE)
        return await run(engine, info.sample_rate_hz, OVERLOAD_CALLERS, seconds)
    finally:
        await engine.close()


async def at_once(checkpoint: Path, seconds: float) -> tuple[list[Report], float]:
    """8 and 16 callers of a checkpoint, and this process's longest stall, ms."""
    engine = WorkerEngine(EngineConfig(checkpoint, max_streams=16), say)
    info = await engine.start()
    try:
        await engine.warm(VOICE)
        with stalls() as stall:
            rate_hz = info.sample_rate_hz
            return [await run(engine, rate_hz, callers, seconds) for callers in (8, 16)], stall[0]
    finally:
        await engine.close()


async def main(checkpoint: Path, seconds: float) -> None:
    """Run and report."""
    voices = {VOICE: ("A caller, for five seconds.", 5.0)}
    with tempfile.TemporaryDirectory() as folder:
        measured = with_voices(Path(folder) / "measured", voices, checkpoint)
        (at_8, at_16), stall_ms = await at_once(measured, seconds)
        tiny = with_voices(Path(folder) / "tiny", voices)
        deep = grown(tiny, Path(folder), DEEP_LAYERS)
        paced = await overload(deep, paced=True, seconds=seconds)
        unpaced = await overload(deep, paced=False, seconds=seconds)
    finish(
        benchmark="continuity",
        continuity_at_8=at_8.continuity,
        continuity_at_16=at_16.continuity,
        continuity_past_the_limit=paced.continuity,
        continuity_past_the_limit_unpaced=unpaced.continuity,
        longest_gap_ms={
            "8": round(max(at_8.gaps_ms)),
            "16": round(max(at_16.gaps_ms)),
            "past the limit": round(max(paced.gaps_ms)),
            "unpaced": round(max(unpaced.gaps_ms)),
        },
        first_sound_ms_at_16=Spread.of(at_16.first_ms, 0),
        wait_ms_past_the_limit=Spread.of(paced.first_ms, 0),
        refused_past_the_limit=paced.refused,
        running={"8": at_8.most_running, "16": at_16.most_running, "deep": paced.most_running},
        utterances=[len(r.gaps_ms) for r in (at_8, at_16, paced, unpaced)],
        stall_ms=round(stall_ms),
        checkpoint=checkpoint.name,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--checkpoint", type=Path, default=TINY)
    parser.add_argument("--seconds", type=float, default=25.0, help="of each of four runs")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.checkpoint, arguments.seconds))
