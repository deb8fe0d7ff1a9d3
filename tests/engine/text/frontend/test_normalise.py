"""Written English to words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.frontend.normalise import normalise, spoken_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("$4.50", "four dollars and fifty cents"),
        ("$1", "one dollar"),
        ("$0.99", "ninety nine cents"),
        ("£1.2 million", "one point two million pounds"),
        ("3.5%", "three point five percent"),
        ("1,250 feet", "one thousand two hundred fifty feet"),
        ("10:45 a.m.", "ten forty five A M"),
        ("6:05", "six oh five"),
        ("5 pm", "five P M"),
        ("9:00", "nine o'clock"),
        ("2024-03-15", "March fifteenth twenty twenty four"),
        ("3/15/2024", "March fifteenth twenty twenty four"),
        ("July 4, 1776", "July fourth seventeen seventy six"),
        ("on the 4 July", "on the fourth of July"),
        ("Sept. 21st", "September twenty first"),
        ("the 1990s", "the nineteen nineties"),
        ("the '80s", "the eighties"),
        ("(555) 123-4567", "five five five one two three four five six seven"),
        ("ext. 0042", "extension zero zero four two"),
        ("10-20 people", "ten to twenty people"),
        ("-5°C", "minus five degrees Celsius"),
        ("1 km", "one kilometer"),
        ("3/4 of it", "three quarters of it"),
        ("21st", "twenty first"),
        ("No. 7", "number seven"),
        ("#5", "number five"),
        ("Dr. Smith", "doctor Smith"),
        ("Oak St.", "Oak street"),
        ("e.g. this", "for example this"),
        ("the U.S.A.", "the U S A"),
        ("Henry VIII", "Henry eight"),
        ("AT&T", "AT and T"),
        ("joe.b@example.com", "joe dot b at example dot com"),
        ("www.test.org", "W W W dot test dot org"),
        ("version 2.10.3", "version two point ten point three"),
        ("MyFileName", "My File Name"),
        ("iPhone", "iPhone"),
        ("B2B", "B two B"),
        ("and/or", "and or"),
        ("**bold** _it_", "bold it"),
        ("café", "café"),
        ("Привет, мир!", "privet mir"),
        ("say 你好 to her", "say ni hao to her"),
        ("مرحبا، كيف؟", "mrhb kyf"),
        ("안녕 Tom", "an nyeong Tom"),
        ("Καλημέρα", "kalimera"),
        ("Xin chào Đà Nẵng", "Xin chào Đà Nẵng"),
        ("fun 🎉 day", "fun day"),
    ],
)
def test_words(text: str, words: str) -> None:
    assert spoken_words(text) == words


def test_marks_and_tags() -> None:
    items = normalise("Well... [pause] yes! (no) — [Whisper]ok [laughing]\n<|speaker:1|>so?!")
    assert [item.text for item in items] == [
        "Well", "…", "[pause]", "yes", "!", ",", "no", ",", "—", "[whisper]", "ok", ".",
        "<|speaker:1|>", "so", "?",
    ]  # fmt: skip


def test_spans_point_into_the_text() -> None:
    text = "Pay $4.50 now."
    spans = {item.text: text[slice(*item.span)] for item in normalise(text)}
    assert spans["Pay"] == "Pay"
    assert spans["dollars"] == spans["cents"] == "$4.50"
    assert spans["now"] == "now"


@given(st.text(max_size=80))
def test_any_text_is_read_in_order_and_nothing_is_made_up(text: str) -> None:
    items = normalise(text)
    starts = [item.span[0] for item in items]
    assert starts == sorted(starts)
    assert all(0 <= item.span[0] < item.span[1] <= len(text) for item in items)
    assert all(item.text and not item.text.isspace() for item in items)


@given(st.text(alphabet="0123456789.,:/-$%' stndrdth", max_size=30))
def test_any_number_like_text_is_read(text: str) -> None:
    for item in normalise(text):
        if item.kind == "word":
            assert not any(character.isdigit() for character in item.text)


def test_a_long_text_takes_no_time() -> None:
    assert len(normalise("12:30 is a time; 1,000,000 is not. " * 300)) > 3000
