"""Numbers as words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.frontend import numbers


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (20, "twenty"),
        (101, "one hundred one"),
        (1250, "one thousand two hundred fifty"),
        (1_000_000, "one million"),
        (2_000_017, "two million seventeen"),
    ],
)
def test_cardinal(number: int, words: str) -> None:
    assert numbers.cardinal(number) == words.split()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "first"),
        (12, "twelfth"),
        (20, "twentieth"),
        (21, "twenty first"),
        (100, "one hundredth"),
    ],
)
def test_ordinal(number: int, words: str) -> None:
    assert numbers.ordinal(number) == words.split()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1998, "nineteen ninety eight"),
        (1900, "nineteen hundred"),
        (1805, "eighteen oh five"),
        (2000, "two thousand"),
        (2005, "two thousand five"),
        (2024, "twenty twenty four"),
    ],
)
def test_year(number: int, words: str) -> None:
    assert numbers.year(number) == words.split()


_VALUES = {word: value for value, word in enumerate(numbers._ONES)} | {
    word: 10 * index for index, word in enumerate(numbers._TENS) if word != "_"
}


def _value(words: list[str]) -> int:
    total = group = 0
    for word in words:
        if word == "hundred":
            group *= 100
        elif word in _VALUES:
            group += _VALUES[word]
        else:
            total, group = total + group * 1000 ** numbers._SCALES.index(word), 0
    return total + group


@given(st.integers(min_value=0, max_value=10**17))
def test_cardinals_can_be_read_back(number: int) -> None:
    assert _value(numbers.cardinal(number)) == number


def test_numbers_without_a_name_are_read_digit_by_digit() -> None:
    assert numbers.cardinal(10**18) == ["one"] + ["zero"] * 18
