"""Where the golden vectors lie, and the one tiny checkpoint. See tests/golden/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

GOLDEN = Path(__file__).parent / "golden"
TINY = GOLDEN / "s2-pro-tiny"

LOGITS_TOLERANCE = 1e-4
HIDDEN_TOLERANCE = 2e-5

# (layer, head) pairs that the session's engine is told to watch: two of one layer, one of another
ALIGNMENT_HEADS = ((1, 0), (1, 3), (2, 2))

# every golden generation: request and batch; multi_turn's second one continues its first
GENERATIONS = ("plain.b0", "clone.b0", "multi_speaker.b0", "multi_turn.b0", "multi_turn.b1")


def vectors(name: str) -> dict[str, NDArray[Any]]:
    """One file of golden tensors, as numpy arrays."""
    from safetensors.numpy import load_file

    return dict(load_file(GOLDEN / f"{name}.safetensors"))


def description(name: str) -> Any:
    """One golden JSON file."""
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def code_spans(matrix: NDArray[np.int64], first: int, last: int) -> list[tuple[int, int]]:
    """[start, end) of each run of semantic ids in row 0 of a prompt matrix."""
    inside = np.concatenate(([False], (matrix[0] >= first) & (matrix[0] <= last), [False]))
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
