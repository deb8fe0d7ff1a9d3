"""Whatever is read reads back to its value: integers, amounts, dates, times, signs."""

from __future__ import annotations

import calendar
import datetime
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from num2words import num2words

from engine.reading import read
from engine.reading.english.words import numbers
from tests.engine.reading import inverse

_PLACES = ("{}", "It was {} there.", "({})", "from {} on", "x, {}!", "“{}”")


def said(text: str, place: str = "{}") -> list[str]:
    """The words of `text` inside `place`."""
    start = place.index("{}")
    words = read(place.format(text)).words
    return [word.text for word in words if start <= word.start < start + len(text)]


@given(st.integers(0, 10**18))
@example(0)
@example(1_000_000)
def test_cardinals_are_another_librarys(number: int) -> None:
    theirs = num2words(number).replace(",", "").replace(" and ", " ").replace("-", " ")
    assert numbers.cardinal(number) == theirs


@given(st.integers(0, 10**15))
def test_ordinals_are_another_librarys(number: int) -> None:
    theirs = num2words(number, to="ordinal").replace(",", "").replace(" and ", " ")
    assert numbers.ordinal(number) == theirs.replace("-", " ")


@given(st.integers(0, 10**9 - 1), st.booleans(), st.sampled_from(_PLACES))
@example(1984, False, "It was {} there.")
@example(2007, False, "{}")
@example(1000, True, "{}")
def test_any_integer(number: int, grouped: bool, place: str) -> None:
    assert inverse.number(said(f"{number:,}" if grouped else str(number), place)) == number


@given(st.decimals(-(10**9), 10**9, places=3), st.sampled_from(_PLACES))
def test_any_decimal_keeps_its_sign(value: Decimal, place: str) -> None:
    assert inverse.number(said(f"{value:,f}", place)) == value


@given(
    st.integers(-(10**9), 10**9),
    st.sampled_from(["°C", "%", " km", "kg", " GB", "°", " degrees", " m/s", " percent"]),
    st.sampled_from(_PLACES),
)
@example(-1, " km", "{}")
def test_any_quantity_keeps_its_sign(number: int, unit: str, place: str) -> None:
    words = said(f"{number}{unit}", place)
    units = set("degree degrees Celsius percent kilometer kilometers kilogram kilograms gigabyte "
                "gigabytes meter meters per second".split())  # fmt: skip
    assert inverse.number([word for word in words if word not in units]) == number
    assert any(word in units for word in words)


@given(
    st.decimals(-(10**9), 10**9, places=2),
    st.sampled_from(["$", "€", "£"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(_PLACES),
)
@example(Decimal("-5.00"), "$", False, True, "{}")
@example(Decimal("1.01"), "£", False, True, "{}")
def test_any_amount(value: Decimal, sign: str, behind: bool, grouped: bool, place: str) -> None:
    unit, cent = {"$": ("dollar", "cent"), "€": ("euro", "cent"), "£": ("pound", "p")}[sign]
    figure = f"{abs(value):,f}" if grouped else f"{abs(value):f}"
    text = f"{figure} {sign}" if behind and sign == "€" else f"{sign}{figure}"
    text = f"-{text}" if value < 0 else text
    assert inverse.money(said(text, place), unit, cent) == value


@given(
    st.decimals(Decimal("0.1"), 999, places=1),
    st.sampled_from(
        ["k", "K", "M", "m", "B", "bn", " million", " billion", " trillion", "-million", "T"]
    ),
    st.booleans(),
)
def test_any_scaled_amount(value: Decimal, scale: str, negative: bool) -> None:
    factor = {"k": 3, "m": 6, "b": 9, "t": 12}[scale.strip(" -")[0].lower()]
    words = said(f"{'-' if negative else ''}${value}{scale}")
    assert inverse.money(words, "dollar", "cent") == value * 10**factor * (-1 if negative else 1)


@given(st.integers(0, 99), st.integers(1, 10**6))
def test_small_prices_keep_every_digit(zeros: int, number: int) -> None:
    text = f"0.{'0' * (zeros % 5)}{number}5"
    assert inverse.money(said(f"${text}"), "dollar", "cent") == Decimal(text)


_DATES = st.dates(min_value=datetime.date(1100, 1, 1), max_value=datetime.date(2099, 12, 31))


@pytest.mark.parametrize(
    "form",
    [
        "{month} {day}, {year}", "{month} {day} {year}", "{day} {month} {year}",
        "{short} {day}, {year}", "{short}. {day}, {year}", "{day} {short} {year}",
        "the {day}{th} of {month} {year}", "{month} {day}{th}, {year}",
        "{month} the {day}{th}, {year}", "{year}-{m:02}-{day:02}", "{year}/{m:02}/{day:02}",
        "{m}/{day}/{year}", "{m:02}/{day:02}/{year}",
        "{day}.{m}.{year}", "{day:02}.{m:02}.{year}", "{m}-{day}-{year}", "{short}-{day:02}-{year}",
    ],
)  # fmt: skip
@given(when=_DATES)
def test_any_date_in_each_order(form: str, when: datetime.date) -> None:
    th = {1: "st", 2: "nd", 3: "rd"}.get(when.day % 10 * (when.day // 10 != 1), "th")
    text = form.format(
        day=when.day,
        m=when.month,
        year=when.year,
        th=th,
        month=calendar.month_name[when.month],
        short=calendar.month_abbr[when.month],
    )
    assert inverse.date(said(text)) == (when.year, when.month, when.day), text


@given(st.integers(13, 28), st.integers(1, 12), st.integers(1990, 2060))
def test_the_day_comes_first_where_it_cannot_be_a_month(day: int, month: int, year: int) -> None:
    assert inverse.date(said(f"{day}/{month}/{year}")) == (year, month, day)


@given(
    st.integers(0, 23),
    st.integers(0, 59),
    st.sampled_from(["", " am", "pm", " AM", " p.m.", "a.m."]),
    st.sampled_from(_PLACES),
)
def test_any_time(hour: int, minute: int, half: str, place: str) -> None:
    hour = hour % 12 or 12 if half else hour
    expected = half.replace(".", "").strip().upper()
    assert inverse.clock(said(f"{hour}:{minute:02}{half}", place)) == (hour, minute, expected)
    if half:
        assert inverse.clock(said(f"{hour}{half}", place)) == (hour, 0, expected)


@given(st.integers(1, 500), st.integers(1, 500), st.sampled_from(["-", "–", " - ", "–"]))
def test_any_range(low: int, size: int, dash: str) -> None:
    words = said(f"{low}{dash}{low + size} people")
    at = words.index("to")
    assert inverse.integer(words[:at]) == low
    assert inverse.integer(words[at + 1 : -1]) == low + size


@given(st.lists(st.integers(0, 9), min_size=4, max_size=9))
def test_codes_are_spelt(code: list[int]) -> None:
    text = "".join(map(str, code))
    for cue in ("Your code is {}.", "PIN {}", "account number {}", "dial {}"):
        words = said(text, cue)
        assert inverse.digits(words) == text, cue
