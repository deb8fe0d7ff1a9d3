"""Numbers to words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.text.normalize import normalize
from gateway.text.rewriting import TracedText
from gateway.text.segment import Segmenter, SegmentPolicy

ENGLISH = {
    "$1,299.50 and $5, $1": "one thousand two hundred ninety-nine dollars and fifty cents and five"
    " dollars, one dollar",
    "$2.5 million": "two point five million dollars",
    "€3.20 or £0.99": "three euros and twenty cents or ninety-nine pence",
    "on 2024-05-12.": "on May twelfth, twenty twenty-four.",
    "05/12/2024": "May twelfth, twenty twenty-four",
    "31/12/1999": "December thirty-first, nineteen ninety-nine",
    "99/99/1999": "99/99/1999",
    "May 12, 2024 or Sep. 3rd": "May twelfth, twenty twenty-four or September third",
    "5 March 2020": "March fifth, twenty twenty",
    "at 12:30, 1:45 p.m., 14:05 or 5 pm": "at twelve thirty, one forty-five p.m., fourteen oh five"
    " or five pm",
    "12:00": "twelve o'clock",
    "the 22nd": "the twenty-second",
    "3.5% of it": "three point five percent of it",
    "in 1999: 1999 people": "in nineteen ninety-nine: one thousand nine hundred ninety-nine people",
    "the 1990s": "the nineteen nineties",
    "5 km, 1 kg, 20°C, 100 mph": "five kilometers, one kilogram, twenty degrees Celsius,"
    " one hundred miles per hour",
    "-5.5 degrees": "minus five point five degrees",
    "+1 (555) 123-4567": "plus one, five five five, one two three, four five six seven",
    "1/2 cup, 3/4": "one half cup, three quarters",
    "v3.4 and 2.0.1": "version three point four and two point zero point one",
    "10–20 of 1,234,567": "ten to twenty of one million two hundred thirty-four thousand"
    " five hundred sixty-seven",
    "007": "zero zero seven",
    "#5": "number five",
    "B2B, mp3, 16:9, 9/11": "B2B, mp3, 16:9, 9/11",
}


def say(text: str, language: str = "en") -> str:
    spoken = TracedText(text)
    normalize(spoken, language)
    return spoken.text


@pytest.mark.parametrize(("text", "words"), ENGLISH.items())
def test_english(text: str, words: str) -> None:
    assert say(text) == words


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (
            "de",
            "1.299 Euro und 2,5",
            "eintausendzweihundertneunundneunzig Euro und zwei Komma fünf",
        ),
        ("fr-CA", "80 et 12,5", "quatre-vingts et douze virgule cinq"),
        ("ru", "1 000 и 5", "одна тысяча и пять"),
        ("ja", "25", "二十五"),
        ("xx", "25", "25"),
    ],
)
def test_other_languages(language: str, text: str, words: str) -> None:
    assert say(text, language) == words


@given(st.text("0123456789.,:/-$%°#+()kmst amp", max_size=30), st.sampled_from(["en", "de", "ar"]))
@settings(max_examples=300, deadline=None)
def test_any_text_is_handled(text: str, language: str) -> None:
    spoken = TracedText(text)
    normalize(spoken, language)
    assert spoken.origins == sorted(spoken.origins)
    assert len(spoken.origins) == len(spoken.text)


def test_it_is_off_by_default_and_leaves_tags_and_addresses_alone() -> None:
    text = "[take 5] I have 3 at example.com/page5 on https://x.com/12"
    assert spoken_by(SegmentPolicy(), text) == "[take 5] I have 3 at example.com/page5 on x.com"
    assert (
        spoken_by(SegmentPolicy(normalize=True), text)
        == "[take 5] I have three at example.com/page5 on x.com"
    )


def spoken_by(policy: SegmentPolicy, text: str) -> str:
    segmenter = Segmenter(policy)
    segments = segmenter.push(text, 0.0) + segmenter.flush()
    return " ".join(segment.spoken for segment in segments)
