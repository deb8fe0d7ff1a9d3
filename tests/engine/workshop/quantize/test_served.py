"""A quantised checkpoint through SGLang, where nothing knows that it is one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.api import Finished, Frames, Sampling, SpeechRequest
from engine.checkpoint.folder import Checkpoint
from engine.link.client import WorkerEngine
from engine.models.plain import PlainLoop
from engine.models.request_table import RowSettings
from engine.text.prompt import PromptBuilder
from engine.text.registry import load_tokenizer
from engine.worker_config import EngineConfig
from engine.workshop.quantize.convert import convert
from engine.workshop.quantize.plan import Plan
from tests.golden_data import TINY

pytestmark = pytest.mark.slow

TEXT, FRAMES = "The harbour lay quiet under a thin fog.", 24
GREEDY = RowSettings(1.0, 1.0, 1.0, top_k=1, seed=0, min_frames=1)


def by_the_loop(checkpoint: Checkpoint) -> list[list[int]]:
    prompt = PromptBuilder(load_tokenizer(checkpoint), checkpoint).build(TEXT)
    made = PlainLoop(checkpoint.path).generate(prompt.matrix(), GREEDY, FRAMES)
    return [codes.tolist() for _, codes in made]


async def by_the_engine(checkpoint: Checkpoint, dtype: str) -> list[list[int]]:
    engine = WorkerEngine(EngineConfig(checkpoint.path, dtype=dtype, max_streams=2))
    await engine.start()
    request = SpeechRequest("one", TEXT, sampling=Sampling(top_k=1, max_frames=FRAMES))
    raw = b""
    try:
        async for event in engine.speak(request):
            if isinstance(event, Frames):
                raw += event.codes
            else:
                assert isinstance(event, Finished)
    finally:
        await engine.close()
    frames: list[list[int]] = (
        np.frombuffer(raw, "<u2").reshape(-1, checkpoint.config.num_codebooks).tolist()
    )
    return frames


@pytest.mark.parametrize("scheme", ["int8", "fp8"])
async def test_fp32_speaks_as_the_plain_loop_does(tmp_path: Path, scheme: str) -> None:
    plan = Plan(scheme, keep_attention=(2,))  # type: ignore[arg-type]
    made = convert(Checkpoint.open(TINY), tmp_path / scheme, plan)
    frames = await by_the_engine(made, "float32")
    assert len(frames) == FRAMES
    assert frames == by_the_loop(made)
    assert frames != by_the_loop(Checkpoint.open(TINY))


async def test_bf16_speaks_with_8_bit_weights(tmp_path: Path) -> None:
    """Free running, bf16 leaves the fp32 path at the first near tie; the first frame has none."""
    made = convert(Checkpoint.open(TINY), tmp_path / "int8", Plan("int8"))
    frames = await by_the_engine(made, "bfloat16")
    assert len(frames) == FRAMES
    expected = by_the_loop(made)
    assert frames[0][0] == expected[0][0]
    assert np.mean(np.array(frames[0]) == np.array(expected[0])) >= 0.8
