"""How much of a voice's prefix is found in the cache: 100 requests over 5 voices of 10 s each.

    uv run python -m benchmarks.prefix

Each voice is warmed once, as `configure` does; then sessions speak in random order, one after the
other, with a new text each time. A request's prefix is everything up to the end of its voice's
codes. `hit_rate` is the share of the prefixes' tokens that SGLang reported as cached. Shown beside
it: the share of all prompt tokens; the time to the first frame with the voice cached and with a
voice that was never heard; and the same hit rate in a cache that holds three voices of the five
beside what is spoken. Expectation: 1.0, and 0.92 of all prompt tokens: a text of 22 tokens is new.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from benchmarks.parts.checkpoints import with_voices
from benchmarks.parts.report import Spread, finish, say
from engine import api
from engine.checkpoint.folder import Checkpoint
from engine.host.voices import VoiceStore
from engine.link.client import WorkerEngine
from engine.text.prompt import PromptBuilder
from engine.text.registry import load_tokenizer
from engine.worker_config import EngineConfig

VOICES, SECONDS, REQUESTS, FRAMES = 5, 10.0, 100, 12
COLD_VOICES = 10  # more, for the time without a cache
TRANSCRIPT = "This recording is ten seconds long, and nobody has ever heard it."


@dataclass(frozen=True, slots=True)
class Spoken:
    """One request. `prefix_tokens`: of its voice."""

    prefix_tokens: int
    prompt_tokens: int
    cached_tokens: int
    first_frame_ms: float

    @property
    def hit_tokens(self) -> int:
        """How much of the prefix was cached."""
        return min(self.prefix_tokens, self.cached_tokens)


def prefix_lengths(path: Path) -> dict[str, int]:
    """Tokens up to the end of each voice's codes."""
    checkpoint = Checkpoint.open(path)
    voices = VoiceStore(_no_encoder, checkpoint.config.num_codebooks)
    voices.load_folder(path / "voices")
    builder = PromptBuilder(load_tokenizer(checkpoint), checkpoint)
    return {
        name: builder.build("x", voices.references(name)).code_spans[0][1]
        for name in voices.names[1:]
    }


def _no_encoder(audio: bytes) -> NoReturn:
    raise ValueError("expected voices as codes, got a recording")


async def speak(engine: WorkerEngine, index: int, voice: str, prefix_tokens: int) -> Spoken:
    """One short sentence."""
    text = f"Number {index}, please, and thank you for waiting."
    sampling = api.Sampling(seed=index, min_frames=FRAMES, max_frames=FRAMES)
    request = api.SpeechRequest(f"{voice}-{index}", text, voice, sampling=sampling)
    start, first_ms, finished = time.perf_counter(), None, None
    async for event in engine.speak(request):
        if isinstance(event, api.Finished):
            finished = event
        elif first_ms is None:
            first_ms = 1000 * (time.perf_counter() - start)
    assert finished is not None
    assert first_ms is not None
    return Spoken(prefix_tokens, finished.prompt_tokens, finished.cached_tokens, first_ms)


async def measure(
    checkpoint: Path, lengths: dict[str, int], kv_tokens: int | None
) -> tuple[list[Spoken], list[Spoken]]:
    """The 100 requests over warmed voices, and one over each of the cold ones."""
    engine = WorkerEngine(EngineConfig(checkpoint, max_streams=4, kv_tokens=kv_tokens), say)
    await engine.start()
    try:
        names = list(lengths)
        for name in names[:VOICES]:
            await engine.warm(name)
        choose = random.Random(1)
        warm = []
        for i in range(REQUESTS):
            name = choose.choice(names[:VOICES])
            warm.append(await speak(engine, i, name, lengths[name]))
        cold = [await speak(engine, 0, name, lengths[name]) for name in names[VOICES:]]
    finally:
        await engine.close()
    return warm, cold


def hit_rate(spoken: list[Spoken]) -> float:
    """The share of the prefixes' tokens that was cached."""
    share = sum(s.hit_tokens for s in spoken) / sum(s.prefix_tokens for s in spoken)
    return round(share, 4)


async def main() -> None:
    """Run and report."""
    voices = {f"voice{i}": (TRANSCRIPT, SECONDS) for i in range(VOICES + COLD_VOICES)}
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = with_voices(Path(folder), voices)
        lengths = prefix_lengths(checkpoint)
        warm, cold = await measure(checkpoint, lengths, None)
        # three voices, and one request on top
        tight = 3 * max(lengths.values()) + warm[0].prompt_tokens
        squeezed, _ = await measure(checkpoint, lengths, tight)
    first_warm = Spread.of([s.first_frame_ms for s in warm], 1)
    first_cold = Spread.of([s.first_frame_ms for s in cold], 1)
    say(f"hit rate {hit_rate(warm)}; first frame {first_warm} ms, cold {first_cold} ms")
    finish(
        benchmark="prefix",
        hit_rate=hit_rate(warm),
        prompt_hit_rate=round(
            sum(s.cached_tokens for s in warm) / sum(s.prompt_tokens for s in warm), 4
        ),
        prefix_tokens=max(lengths.values()),
        first_frame_ms=first_warm,
        first_frame_ms_cold=first_cold,
        hit_rate_with_room_for_three=hit_rate(squeezed),
        kv_tokens_with_room_for_three=tight,
    )


if __name__ == "__main__":
    asyncio.run(main())
