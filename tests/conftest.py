"""The one real engine of a test session: started by the first test that asks for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import settings

from tests.golden_data import ALIGNMENT_HEADS, TINY, description, vectors

# examples take milliseconds, but a loaded machine may stall any one of them
settings.register_profile("default", deadline=None)
settings.load_profile("default")


@pytest.fixture(scope="session")
def golden_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny checkpoint, with the golden requests' references as registered voices."""
    folder = tmp_path_factory.mktemp("checkpoint") / "s2-pro-tiny"
    shutil.copytree(TINY, folder)
    # random weights follow no text, but where these heads look is exact all the same
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["voice_gateway"] = {"alignment_heads": [list(head) for head in ALIGNMENT_HEADS]}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    voices = folder / "voices"
    voices.mkdir()
    generation = vectors("generation")
    for name, request in description("prompts").items():
        if not request["ref_frames"]:
            continue
        refs = [generation[f"{name}.ref{i}"] for i in range(len(request["ref_frames"]))]
        np.save(voices / f"{name}.npy", np.concatenate(refs, axis=1).T.astype(np.uint16))
        texts = request["prompt_text"]
        tagged = [t if "<|speaker:" in t else f"<|speaker:{i}|>{t}" for i, t in enumerate(texts)]
        (voices / f"{name}.txt").write_text("\n".join(tagged), encoding="utf-8")
    # a voice whose prompt has the same words and the same codebook 0 as another's
    twin = np.load(voices / "clone.npy")
    twin[:, 1:] = np.roll(twin[:, 1:], 1, axis=0)
    np.save(voices / "clone-twin.npy", twin)
    shutil.copy(voices / "clone.txt", voices / "clone-twin.txt")
    return folder


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def engine(golden_checkpoint: Path) -> AsyncIterator[object]:
    """A WorkerEngine on the golden checkpoint, 8 streams. Ends its process tree.

    Random weights follow no text: a guard would draw everything again.
    """
    from engine.link.client import WorkerEngine
    from engine.worker_config import EngineConfig

    worker = WorkerEngine(EngineConfig(golden_checkpoint, max_streams=8, guarded=False))
    await worker.start()
    try:
        yield worker
    finally:
        await worker.close()
