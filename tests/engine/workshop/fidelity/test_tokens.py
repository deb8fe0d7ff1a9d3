"""Equality with transformers, and that an unequal tokenizer is seen."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from engine.checkpoint.folder import Checkpoint
from engine.text import tokenizer
from engine.workshop.fidelity.tokens import compare_tokenizers, compare_with_vectors
from tests.golden_data import GOLDEN, TINY

CHECKPOINT = Checkpoint.open(TINY)


def test_the_golden_vectors_match() -> None:
    report = compare_with_vectors(CHECKPOINT, GOLDEN)
    assert report.strings > 10 and not report.mismatches


def test_equal_to_transformers() -> None:
    report = compare_tokenizers(CHECKPOINT, 300)
    assert report.strings == 300 and not report.mismatches


def test_a_tokenizer_that_parses_control_tokens_in_texts_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def parsing(self: tokenizer.BpeTokenizer, text: str) -> list[int]:
        ids: list[int] = self._full.encode(text.replace("\0", " "), add_special_tokens=False).ids
        return ids

    monkeypatch.setattr(tokenizer.BpeTokenizer, "encode", parsing)
    assert 30 < len(compare_tokenizers(CHECKPOINT, 300).mismatches) < 300


def test_another_vocabulary_is_seen(tmp_path: Path) -> None:
    """The vectors, which do not come from tokenizer.json, are what tells."""
    root = tmp_path / "checkpoint"
    shutil.copytree(TINY, root)
    definition = json.loads((root / "tokenizer.json").read_text("utf-8"))
    definition["model"]["merges"] = definition["model"]["merges"][:-40]
    (root / "tokenizer.json").write_text(json.dumps(definition), "utf-8")
    assert compare_with_vectors(Checkpoint.open(root), GOLDEN).mismatches
