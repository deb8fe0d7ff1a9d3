"""A reader's words put into a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.reading import read as engine_read
from gateway.text.normalize import normalize
from gateway.text.rewriting import TracedText
from gateway.text.segment import Segmenter, SegmentPolicy
from gateway.types import SpokenWord


def read(text: str, language: str, kept: Sequence[tuple[int, int]]) -> Sequence[SpokenWord]:
    return engine_read(text, language, kept).words


def say(text: str, language: str = "en") -> str:
    spoken = TracedText(text)
    normalize(spoken, read, language)
    return spoken.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It costs $1,299.50, or $5.", "It costs one thousand two hundred ninety nine dollars and"
         " fifty cents, or five dollars."),
        ("On May 12, 2024!", "On May twelfth, twenty twenty four!"),
        ("(5km)", "(five kilometers)"),
        ("Call 555-0199 now.", "Call five five five zero one nine nine now."),
        ("“Well,” he said; I don’t.", "“Well,” he said; I don’t."),
        ("well-known: the US economy", "well-known: the U S economy"),
        ("a@b.com", "A at B dot com"),
        ("no figures -- here", "no figures -- here"),
        ("", ""),
    ],
)  # fmt: skip
def test_only_what_is_said_otherwise_is_replaced(text: str, said: str) -> None:
    assert say(text) == said


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("de", "1.299 Euro", "eintausendzweihundertneunundneunzig Euro"),
        ("fr-CA", "80 et 12,5", "quatre-vingts et douze virgule cinq"),
        ("ru", "1 000 и 5", "одна тысяча и пять"),
        ("ja", "25", "二十五"),
        ("xx", "25", "25"),
    ],
)
def test_other_languages(language: str, text: str, words: str) -> None:
    assert say(text, language) == words


def test_frozen_stretches_are_left() -> None:
    import regex

    spoken = TracedText("5 [5] 5")
    spoken.freeze(regex.compile(r"\[5\]"))
    normalize(spoken, read, "en")
    assert spoken.text == "five [5] five"
    assert spoken.origins == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 6, 6, 6]


@given(st.text("0123456789.,:/-$%°#+()kmst amp", max_size=30), st.sampled_from(["en", "de", "ar"]))
@settings(max_examples=300, deadline=None)
def test_any_text_is_handled(text: str, language: str) -> None:
    spoken = TracedText(text)
    normalize(spoken, read, language)
    assert spoken.origins == sorted(spoken.origins)
    assert len(spoken.origins) == len(spoken.text)


_WRITTEN = (
    "$5 |-7°C|Dr. Lee|Henry VIII|May 4, 2024|9am-5pm|the US|I/O|1/2|v1.2.3|555-0199|AT&T|3rd|4K|"
    "a@b.com|A-Z|API|x² + y²|Chapter I|and|of|who|10 in a row|a 5 km run|24/7|#5|Mr. A. Bee"
).split("|")


@given(st.lists(st.sampled_from(_WRITTEN), max_size=6).map(" ".join))
@settings(max_examples=300, deadline=None)
def test_what_was_read_is_not_read_otherwise_again(text: str) -> None:
    """The built-in voice reads once more what the gateway has read."""
    once = str(engine_read(text))
    assert str(engine_read(say(text))) == once
    assert str(engine_read(once)) == once


def test_it_is_an_option() -> None:
    text = "It is $5, isn't it? "
    for normal, said in ((True, "It is five dollars, isn't it?"), (False, "It is $5, isn't it?")):
        segmenter = Segmenter(SegmentPolicy(normalize=normal), read=read)
        segments = [*segmenter.push(text, 0.0), *segmenter.flush()]
        assert "".join(segment.spoken for segment in segments) == said


def test_pronunciations_win() -> None:
    segmenter = Segmenter(SegmentPolicy(normalize=True), {"$5": "a fiver", "Dr.": "doc"}, read)
    segments = [*segmenter.push("Dr. Lee has $5 of $6.", 0.0), *segmenter.flush()]
    assert segments[0].spoken == "doc Lee has a fiver of six dollars."


def test_written_words_find_their_place() -> None:
    segmenter = Segmenter(SegmentPolicy(normalize=True), read=read)
    (segment,) = [*segmenter.push("Pay $5 on July 4.", 0.0), *segmenter.flush()]
    at = {m[0]: segment.raw_index(m.start()) for m in re.finditer(r"\w+", segment.spoken)}
    raw = segment.text
    assert raw[at["five"] :].startswith("$5")
    assert raw[at["July"] :].startswith("July")
    assert raw[at["fourth"] :].startswith("4.")
