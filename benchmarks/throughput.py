"""Frames of sound per second: the engine at 1 to 16 streams beside a plain loop of its modules.

    uv run python -m benchmarks.throughput

Both sides go the whole road from prompt to PCM: slow AR, sampling, fast AR, streaming codec. The
plain loop speaks one request after the other in this process, eagerly: its codec runs layer by
layer, its attention in torch's calls; the engine is a worker process with SGLang in it, its codec
in compiled tiles and its attention in compiled loops. The keys with `_tiled` give the loop the
codec's tiles, too. They take turns within one run, so that a change of the
machine's mood meets all. Expectation: 8 times the loop's rate at 16 streams (a step's cost grows
slowly with its batch), 1 at 1 (a step then pays for two processes and the scheduler).
"""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks.parts.report import Spread, finish, say, tree_memory_mib
from engine import api
from engine.checkpoint.folder import Checkpoint
from engine.codec.decoder import StreamingDecoder
from engine.codec.weights import load_codec
from engine.link.client import WorkerEngine
from engine.models.plain import PlainLoop
from engine.models.request_table import RowSettings
from engine.text.prompt import PromptBuilder
from engine.text.registry import load_tokenizer
from engine.worker_config import EngineConfig

CHECKPOINT = Path(__file__).parents[1] / "tests" / "golden" / "s2-pro-tiny"
STREAMS = (1, 4, 8, 16)
ROUNDS = 5
FRAMES = 64
TEXT = "Thank you for listening to this short test."
GAP_LIMIT_MS = 100.0
_ids = itertools.count()


class Loop:
    """The plain loop with the codec behind it."""

    def __init__(self, tiles: bool) -> None:
        checkpoint = Checkpoint.open(CHECKPOINT)
        prompts = PromptBuilder(load_tokenizer(checkpoint), checkpoint)
        self._matrix = prompts.build(TEXT).matrix()
        self._loop = PlainLoop(CHECKPOINT)
        self._decoder = StreamingDecoder(load_codec(CHECKPOINT), 1, tiles)

    def frames_per_second(self) -> float:
        """Speak one request."""
        slot = self._decoder.allocate()
        settings = RowSettings(0.8, 0.8, 0.8, 30, seed=1, min_frames=FRAMES)
        start = time.perf_counter()
        for _, codes in self._loop.generate(self._matrix, settings, FRAMES):
            self._decoder.decode([slot], codes[None, None].astype(np.uint16))
        elapsed = time.perf_counter() - start
        self._decoder.free(slot)
        return FRAMES / elapsed


async def speak(engine: WorkerEngine, delay_s: float = 0.0) -> list[tuple[float, int]]:
    """One utterance -> (arrival time, frames) of each piece of sound."""
    await asyncio.sleep(delay_s)
    request = api.SpeechRequest(
        f"bench-{next(_ids)}", TEXT, sampling=api.Sampling(seed=1, max_frames=FRAMES)
    )
    return [
        (time.perf_counter(), len(event.codes) // 20)
        async for event in engine.speak(request)
        if isinstance(event, api.Frames)
    ]


async def frames_per_second(engine: WorkerEngine, streams: int) -> float:
    """All streams at once."""
    start = time.perf_counter()
    pieces = await asyncio.gather(*(speak(engine) for _ in range(streams)))
    elapsed = time.perf_counter() - start
    return sum(frames for stream in pieces for _, frames in stream) / elapsed


def worst_gap_ms(arrivals: list[tuple[float, int]], frame_ms: float) -> float:
    """The longest silence of a listener who plays each piece when it comes."""
    worst, played_until = 0.0, arrivals[0][0]
    for at, frames in arrivals:
        worst = max(worst, (at - played_until) * 1000)
        played_until = max(played_until, at) + frames * frame_ms / 1000
    return worst


async def gap_free_streams(engine: WorkerEngine, frame_ms: float, most: int) -> int:
    """The most streams, started over half a second, none of which ever runs dry by over 100 ms."""
    best = 0
    for streams in range(2, most + 1, 2):
        pieces = await asyncio.gather(*(speak(engine, 0.5 * i / streams) for i in range(streams)))
        if max(worst_gap_ms(stream, frame_ms) for stream in pieces) > GAP_LIMIT_MS:
            break
        best = streams
    return best


async def main() -> None:
    """Run and report."""
    torch.set_num_threads(1)
    say("loading the plain loop")
    loop, tiled = Loop(tiles=False), Loop(tiles=True)
    say("starting the engine")
    engine = WorkerEngine(EngineConfig(CHECKPOINT, max_streams=max(STREAMS)), say)
    info = await engine.start()
    try:
        assert engine.pid is not None
        plain: list[float] = []
        plain_tiled: list[float] = []
        rates: dict[int, list[float]] = {n: [] for n in STREAMS}
        loop.frames_per_second(), tiled.frames_per_second()
        for _ in range(ROUNDS):
            plain.append(loop.frames_per_second())
            plain_tiled.append(tiled.frames_per_second())
            for n in STREAMS:
                rates[n].append(await frames_per_second(engine, n))
            say(
                f"plain {plain[-1]:.0f}/s, "
                + ", ".join(f"{n}: {r[-1]:.0f}/s" for n, r in rates.items())
            )
        ratios, ratios_tiled = (
            {
                n: Spread.of([rate / one for rate, one in zip(rates[n], base, strict=True)])
                for n in STREAMS
            }
            for base in (plain, plain_tiled)
        )
        gap_free = await gap_free_streams(engine, info.frame_ms, max(STREAMS))
        memory = tree_memory_mib(engine.pid)
    finally:
        await engine.close()
    say(f"ratio to the plain loop at 16 streams: {ratios[16]}, at 1: {ratios[1]}")
    finish(
        benchmark="throughput",
        ratio_at_1=ratios[1].median,
        ratio_at_16=ratios[16].median,
        ratio_at_1_tiled=ratios_tiled[1].median,
        ratio_at_16_tiled=ratios_tiled[16].median,
        ratios={str(n): str(ratio) for n, ratio in ratios.items()},
        ms_per_frame={str(n): round(1000 / float(np.median(r)), 2) for n, r in rates.items()},
        step_ms={str(n): round(1000 * n / float(np.median(r)), 2) for n, r in rates.items()},
        plain_ms_per_frame=round(1000 / float(np.median(plain)), 2),
        plain_tiled_ms_per_frame=round(1000 / float(np.median(plain_tiled)), 2),
        gap_free_streams=gap_free,
        memory_mib=memory,
    )


if __name__ == "__main__":
    asyncio.run(main())
