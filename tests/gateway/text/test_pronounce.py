"""The pronunciation table respects words and case."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from gateway.text.pronounce import PronunciationTable
from gateway.text.rewriting import TracedText
from gateway.text.segment import Segmenter, SegmentPolicy
from gateway.text.tags import KEPT_TAGS

TABLE = {
    "SQL": "sequel",
    "sql": "squeal",
    "GIF": "jif",
    "C++": "see plus plus",
    ".NET": "dot net",
    "New York": "Noo York",
    "New": "Gnu",
    "重庆": "崇庆",
    "café": "kaffay",
    "Nguyễn": "nwin",
    "read": "red",
    "red": "rouge",
    "": "never",
}


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("SQL, sql and Sql.", "sequel, squeal and Sql."),
        ("MySQL and SQLite and SQL_x", "MySQL and SQLite and SQL_x"),
        ("The GIF's (GIF) GIF-like", "The jif's (jif) jif-like"),
        ("C++ and C+++", "see plus plus and see plus plus+"),
        ("use .NET now", "use dot net now"),
        ("New York is New", "Noo York is Gnu"),
        ("在重庆市", "在崇庆市"),
        ("a café, a cafe\u0301", "a kaffay, a cafe\u0301"),
        ("Nguyễn", "nwin"),
        ("read red", "red rouge"),
        ("SQL\u0301", "SQL\u0301"),
    ],
)
def test_respelling(text: str, spoken: str) -> None:
    rewritten = TracedText(text)
    PronunciationTable(TABLE).apply(rewritten)
    assert rewritten.text == spoken


def reference(words: list[str]) -> regex.Pattern[str]:
    """The same rule as one pattern."""
    word, unspaced = r"[\p{L}\p{M}\p{N}_]", r"[\p{Han}\p{Hiragana}\p{Katakana}\p{LB=SA}]"

    def bounded(char: str) -> bool:
        return bool(regex.match(word, char)) and not regex.match(unspaced, char)

    return regex.compile(
        "|".join(
            (f"(?<!{word})" if bounded(w[0]) else "")
            + regex.escape(w, special_only=True, literal_spaces=True)
            + (f"(?!{word})" if bounded(w[-1]) else r"(?!\p{M})")
            for w in sorted(words, key=len, reverse=True)
        )
    )


alphabet = st.sampled_from([*"ab+ ._3字กé", "e\u0301"])
pieces = st.lists(alphabet, min_size=1, max_size=4).map("".join)


@given(st.lists(pieces, min_size=1, max_size=8, unique=True), st.lists(pieces).map("".join))
def test_every_stretch_is_found_that_one_pattern_would_find(words: list[str], text: str) -> None:
    table = {word: f"<{i}>" for i, word in enumerate(words)}
    rewritten = TracedText(text)
    PronunciationTable(table).apply(rewritten)
    assert rewritten.text == reference(words).sub(lambda match: table[match[0]], text)
    assert len(rewritten.origins) == len(rewritten.text)


def test_tags_and_addresses_are_left_alone() -> None:
    rewritten = TracedText("[SQL voice] SQL")
    rewritten.freeze(KEPT_TAGS)
    PronunciationTable(TABLE).apply(rewritten)
    assert rewritten.text == "[SQL voice] sequel"


def test_the_segmenter_uses_the_table_whatever_the_chunking() -> None:
    segmenter = Segmenter(SegmentPolicy(), TABLE)
    segments = [s for char in "I like **SQL**. Yes, sql." for s in segmenter.push(char, 0.0)]
    segments += segmenter.flush()
    assert " ".join(segment.spoken for segment in segments) == "I like sequel. Yes, squeal."


def test_an_empty_table_changes_nothing() -> None:
    rewritten = TracedText("SQL")
    PronunciationTable({}).apply(rewritten)
    assert rewritten.text == "SQL"
