"""Word times: every mark of the transcript belongs to a word."""

from __future__ import annotations

import math

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from gateway.dialects.cartesia.words import WordTimes
from gateway.types import SegmentStarted, Word, Words


def told(text: str, at: int = 0) -> dict[str, list[object]]:
    """Of a segment whose letters and digits are the words, 100 ms each."""
    words = tuple(
        Word(at + m.start(), at + m.end(), m[0], 100.0 * i, 100.0 * (i + 1))
        for i, m in enumerate(regex.finditer(r"\p{Han}|[\p{L}\p{N}']+", text))
    )
    times = WordTimes()
    times.begin(SegmentStarted("1", 0, at, at + len(text), text, 0.0))
    return times.tell(Words("1", words, "proportional"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello there. ", ["Hello", "there."]),
        ('"Wait," he (Bob) said!', ['"Wait,"', "he", "(Bob)", "said!"]),
        ("It's $1,299.50, well-known.", ["It's", "$1,299.50,", "well-known."]),
        ("sea \u2014 and sand", ["sea \u2014", "and", "sand"]),
        ("- first\n- second", ["- first\n-", "second"]),
        (
            "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
            ["\u4f60", "\u597d\uff0c", "\u4e16", "\u754c\u3002"],
        ),
    ],
)
def test_words_keep_their_marks(text: str, words: list[str]) -> None:
    assert told(text, at=7)["words"] == words


@given(st.text(st.sampled_from("ab1 .,-'\"()\n\u4f60"), max_size=40).filter(str.strip))
def test_nothing_of_the_text_is_lost(text: str) -> None:
    if not regex.search(r"[\p{L}\p{N}]", text):
        return
    found = told(text)
    assert "".join("".join(map(str, found["words"])).split()) == "".join(text.split())
    assert all(found["words"])
    edges = [x for pair in zip(found["start"], found["end"], strict=True) for x in pair]
    assert edges == sorted(edges)  # type: ignore[type-var]


def test_words_of_an_unannounced_segment_and_odd_times() -> None:
    times = WordTimes()
    found = times.tell(Words("1", (Word(3, 5, "Hi", math.nan, 1234.56),), "proportional"))
    assert found == {"words": ["Hi"], "start": [0.0], "end": [1.235]}
