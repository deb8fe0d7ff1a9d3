"""The fidelity gate without what costs seconds: one reference run for all tests, no 4,000 strings.

Nothing that is judged is left out but the tokenizer, which tests/engine/fidelity compares.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import torch

from engine.checkpoint.folder import Checkpoint
from engine.models.plain import PlainLoop
from engine.workshop.fidelity import gate
from engine.workshop.fidelity.capture import FRAMES_AT_ONCE, Capture, capture_all
from engine.workshop.fidelity.gate import GateOptions
from engine.workshop.fidelity.sequences import Sequence, speak_sequences
from engine.workshop.fidelity.tokens import TokenizerReport


@cache
def reference_run(path: Path, frames: int) -> tuple[list[Sequence], list[Capture]]:
    """What `gate._reference_run` does, remembered."""
    loop = PlainLoop(path, torch.float32, frames_at_once=FRAMES_AT_ONCE)
    sequences = speak_sequences(loop, Checkpoint.open(path), frames)
    return sequences, capture_all(loop, sequences, "whole")


def make_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test ends."""

    def remembered(
        reference: Checkpoint, options: GateOptions, progress: object
    ) -> tuple[list[Sequence], list[Capture]]:
        return reference_run(reference.path, options.frames)

    nothing = TokenizerReport(0, ())
    monkeypatch.setattr(gate, "_reference_run", remembered)
    monkeypatch.setattr(gate, "compare_tokenizers", lambda checkpoint, count: nothing)
