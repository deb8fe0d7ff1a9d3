"""Text in other scripts."""

from __future__ import annotations

import re

import pytest

from engine.reading import OTHER_SCRIPT
from engine.text.frontend.scripts import foreign_letters


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("Hello, wörld! Łódź", ""),
        ("Привет", "Привет"),
        ("one 你好, two", "你好"),
        ("", ""),
        ("🎉 — … ¿ 12 ½", ""),
        ("،؟।。", ""),
        ("ω" * 50, "ω" * 20),
    ],
)
def test_letters_of_other_scripts_are_found(text: str, letters: str) -> None:
    assert foreign_letters(text) == letters


@pytest.mark.parametrize("mark", "।۔؟،؛。！？，；：、")
def test_sentence_marks_are_no_letters(mark: str) -> None:
    assert not re.fullmatch(OTHER_SCRIPT, mark)
