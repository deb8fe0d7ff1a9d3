"""The walk over a text: marks, kept stretches, other scripts, spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.reading import LANGUAGES, Kind, read

_FIGURES = "0123456789.,:/-–$€%°'\"() kmstndrhAPMx²½#+&ªXIV"


def test_marks_shape_the_sentence() -> None:
    items = read("Well... yes! (no) — ok\nso?! a;b: c。d").items
    assert [item.text for item in items] == [
        "Well", "…", "yes", "!", ",", "no", ",", "—", "ok", ".", "so", "?", "a", ";", "b", ":",
        "c", ".", "d",
    ]  # fmt: skip


def test_a_kept_stretch_comes_back_unread() -> None:
    text = "pay [$5] $5"
    items = read(text, kept=[(4, 8)]).items
    assert [(item.text, item.kind) for item in items[:2]] == [
        ("pay", Kind.WORD),
        ("[$5]", Kind.KEPT),
    ]
    assert [item.text for item in items[2:]] == ["five", "dollars"]


def test_a_kept_stretch_parts_what_is_beside_it() -> None:
    assert str(read("1[x]2", kept=[(1, 4)])) == "one two"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Привет, мир!", "Привет мир"),
        ("say 你好 to her", "say 你好 to her"),
        ("हिन्दी", "हिन्दी"),
        ("café Nguyễn", "café Nguyễn"),
        ("٣ cats", "three cats"),
        ("fun 🎉 day", "fun day"),
        ("we’re y`all", "we're y'all"),
    ],
)
def test_other_scripts_and_signs(text: str, words: str) -> None:
    assert str(read(text)) == words


def test_spans_point_into_the_text() -> None:
    text = "On July 4, 1776 pay $4.50 now."
    spans = {word.text: text[word.start : word.end] for word in read(text).words}
    assert spans["July"] == "July"
    assert spans["fourth"] == "4"
    assert spans["seventeen"] == spans["six"] == "1776"
    assert spans["dollars"] == spans["cents"] == "$4.50"
    assert spans["now"] == "now"


@given(st.text(max_size=80), st.sampled_from(sorted(LANGUAGES)))
def test_any_text_is_read_in_order_and_nothing_is_made_up(text: str, language: str) -> None:
    _check_spans(text, language)


@given(st.text(_FIGURES, max_size=40), st.sampled_from(sorted(LANGUAGES)))
def test_any_figures_are_read_in_order(text: str, language: str) -> None:
    _check_spans(text, language)


@given(st.text(_FIGURES, max_size=40))
def test_no_figure_is_left(text: str) -> None:
    for word in read(text).words:
        assert not any(character in "0123456789" for character in word.text)


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("around", ["{}", "${}", "{} km", "{}th", "{}.5", "{},5 €", "{}/2", "1-{}"])
def test_no_row_of_digits_is_too_long(around: str, language: str) -> None:
    for digits in ("1" * 4400, "1" + ",234" * 1100):  # Python refuses numbers of such length
        assert read(around.replace("{}", digits), language).words


def _check_spans(text: str, language: str) -> None:
    items = read(text, language).items
    starts, ends = [item.start for item in items], [item.end for item in items]
    assert starts == sorted(starts)
    assert ends == sorted(ends)
    assert all(0 <= item.start < item.end <= len(text) for item in items)
    assert all(item.text and not item.text.isspace() for item in items)


def test_a_language_without_number_words_is_an_error() -> None:
    with pytest.raises(LookupError, match="expected a language"):
        read("5", "xx")


def test_a_region_is_ignored() -> None:
    assert str(read("5 km", "en-GB")) == "five kilometers"
