"""Judging a voice: by its codes, by its log, and by what a recogniser heard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.text.frontend import phones
from engine.workshop.train.judging.curves import draw, read_log
from engine.workshop.train.judging.distance import edit_distance
from engine.workshop.train.judging.evaluate import all_sentences, expected_sounds, sounds

_SILENCE = len(phones.ANCHORS) - 1


@pytest.mark.parametrize(
    ("a", "b", "edits"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)],
)
def test_edit_distance(a: str, b: str, edits: int) -> None:
    assert edit_distance(a, b) == edit_distance(b, a) == edits


def test_codes_that_say_a_text_have_its_sounds() -> None:
    tokens = ["h", "ˈI", "_", "ˌI", "ð", "ɛ", "ɹ", "."]
    spoken = [_SILENCE, *(phones.anchor(t) for t in tokens for _ in range(2)), _SILENCE]
    row_anchor = torch.arange(len(phones.ANCHORS))
    assert sounds(np.array(spoken), row_anchor) == expected_sounds(tokens)
    # A boundary is not a sound: the same vowel on both sides of it is one run of codes.
    assert len(expected_sounds(tokens)) == 5


def test_sentences_by_kind() -> None:
    assert len(all_sentences(["easy"])) == 12
    assert set(all_sentences(["short", "easy"])) < set(all_sentences())


def test_a_log_is_read_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "log.jsonl").write_text(
        '{"step": 1, "spent_s": 60, "loss": 2.0}\n'
        '{"step": 2, "spent_s": 120, "loss": 1.0, "held_loss": 1.5}\n{"step": 3, "sp'
    )
    series = read_log(tmp_path / "log.jsonl")
    assert series == {"loss": [(1.0, 2.0), (2.0, 1.0)], "held_loss": [(2.0, 1.5)]}
    assert draw(tmp_path).read_text().startswith("<?xml")
