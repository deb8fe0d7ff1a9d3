"""A KV cache too small for its load: streams are put back and go on, voices stay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from engine import api
from engine.link.client import WorkerEngine
from engine.worker_config import EngineConfig

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,  # a second engine
    pytest.mark.asyncio(loop_scope="module"),
]

KV_TOKENS = 640
FRAMES = 120
STREAMS = 8


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def small(golden_checkpoint: Path) -> AsyncIterator[WorkerEngine]:
    # without the pace, so that the cache is what is short
    config = EngineConfig(golden_checkpoint, max_streams=STREAMS, kv_tokens=KV_TOKENS, paced=False)
    engine = WorkerEngine(config)
    await engine.start()
    yield engine
    await engine.close()


async def speak(
    engine: WorkerEngine, name: str, text: str, voice: str, sampling: api.Sampling
) -> tuple[NDArray[np.uint16], api.Finished]:
    request = api.SpeechRequest(name, text, voice, sampling=sampling)
    events = [event async for event in engine.speak(request)]
    codes = b"".join(event.codes for event in events if isinstance(event, api.Frames))
    finished = events[-1]
    assert isinstance(finished, api.Finished)
    return np.frombuffer(codes, "<u2").reshape(-1, 10), finished


def sampling(seed: int, frames: int = FRAMES) -> api.Sampling:
    style = "omni" if seed % 2 else "fish"
    return api.Sampling(seed=seed, min_frames=frames, max_frames=frames, style=style)


async def test_a_seed_gives_the_same_codes_after_a_retraction(small: WorkerEngine) -> None:
    alone = [await speak(small, f"a{i}", "Hello.", "clone", sampling(i)) for i in range(STREAMS)]
    before = await small.stats()
    assert before.retractions_total == 0
    together = await asyncio.gather(
        *(speak(small, f"b{i}", "Hello.", "clone", sampling(i)) for i in range(STREAMS))
    )
    assert (await small.stats()).retractions_total > 0
    for (codes, _), (again, finished) in zip(alone, together, strict=True):
        assert len(codes) == FRAMES
        assert np.array_equal(codes, again)
        assert finished.reason is api.FinishReason.LENGTH


async def test_a_voice_outlives_what_was_said_since(small: WorkerEngine) -> None:
    ordinary = "What was said once, by the way, in the voice of nobody in particular."
    await small.warm("multi_speaker")
    _, first = await speak(small, "v0", "One.", "multi_speaker", sampling(0, 8))
    await speak(small, "o0", ordinary, api.DEFAULT_VOICE, sampling(0, 8))
    _, again = await speak(small, "o1", ordinary, api.DEFAULT_VOICE, sampling(0, 8))
    assert again.cached_tokens == again.prompt_tokens - 1  # it was filed, too
    for i in range(12):  # more than the cache holds, one after the other
        text = f"Number {i}: all of this is new, and none of it comes again."
        await speak(small, f"n{i}", text, api.DEFAULT_VOICE, sampling(i, 60))
    _, voice = await speak(small, "v1", "Two.", "multi_speaker", sampling(0, 8))
    _, gone = await speak(small, "o2", ordinary, api.DEFAULT_VOICE, sampling(0, 8))
    # all that the second text shares with the first: the voice's prefix and some scaffolding
    assert voice.cached_tokens >= first.prompt_tokens - 20
    assert gone.cached_tokens < 30


async def test_what_can_never_fit_is_refused(small: WorkerEngine) -> None:
    with pytest.raises(api.InvalidRequestError, match="fits the KV cache|at most"):
        await speak(small, "long", "word " * 900, api.DEFAULT_VOICE, sampling(0, 8))
    stats = await small.stats()
    assert (stats.running, stats.kv_tokens) == (0, KV_TOKENS)
