"""What both runs are made to say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.errors import CheckpointError
from engine.workshop.fidelity.sequences import TEXTS, golden_sequences
from tests.engine.quick_gate import reference_run
from tests.golden_data import GENERATIONS, GOLDEN, TINY

FRAMES = 12


def test_each_text_is_said_and_the_first_voice_is_cloned() -> None:
    sequences, captures = reference_run(TINY, FRAMES)
    assert len(sequences) == len(TEXTS) == len(captures)
    plain, *cloned = sequences
    spoken = plain.frames[1:]
    assert 2 <= spoken.shape[1] <= FRAMES
    assert not plain.matrix[1:, : plain.first_frame].any()
    for saying in cloned:
        prompt = saying.matrix[1:, : saying.first_frame]
        voiced = np.flatnonzero(prompt.any(axis=0))
        assert np.array_equal(prompt[:, voiced], spoken)
    for saying, capture in zip(sequences, captures, strict=True):
        count = saying.frames.shape[1]
        assert capture.slow.shape[0] == capture.fast.shape[0] == capture.hidden.shape[0] == count
        assert capture.layers.shape[1] == saying.matrix.shape[1]


def test_golden_generations_are_found() -> None:
    found = golden_sequences(GOLDEN)
    assert {saying.name for saying in found} == set(GENERATIONS)
    assert all(saying.matrix.dtype == np.int64 for saying in found)


def test_a_folder_without_vectors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="expected golden vectors in"):
        golden_sequences(tmp_path)
