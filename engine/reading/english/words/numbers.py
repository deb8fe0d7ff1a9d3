"""Numbers in English words."""

from __future__ import annotations

import re

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = (
    "_ thousand million billion trillion quadrillion quintillion sextillion septillion octillion "
    "nonillion decillion"
).split()
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
MAX_DIGITS = 3 * len(_SCALES)
"""Longer numbers are read digit by digit."""

GROUPED = r"[1-9]\d{0,2}(?:,\d{3})++(?!\d)"
SPACED = (
    r"[1-9]\d{0,2}(?:(?:[\u00a0\u202f]\d{3})+|(?: \d{3}){2,}|(?: 000)+)(?!\d)"
    r"|[1-9]\d{0,2}(?:\.\d{3}){2,}(?![\d.])"
)
"""The thousands of SI and of continental Europe: 1 000 000, 10.000.000."""
NUMBER = rf"(?:{SPACED}|(?:{GROUPED}|\d++)(?:\.\d++)?(?![.,]?\d)|\d++|\.\d++)"
"""An unsigned number as written: 1,299.50, .5, 10 000. Rows of digits are taken whole."""
COMMA_DECIMAL = r"\d{1,3}(?:\.\d{3})*+,\d{1,2}(?!\d)"
"""Where a unit or a currency follows: 22,1 °C, 3,50 €, 1.299,50 €."""
_SEPARATORS = re.compile(r"[,\u00a0\u202f ]")


def digits(text: str, zero: str = "zero") -> str:
    """One word a digit; other characters are passed over."""
    return " ".join(_ONES[int(c)] if c != "0" else zero for c in text if c in "0123456789")


def cardinal(number: int) -> str:
    """1250 -> one thousand two hundred fifty. At most MAX_DIGITS digits."""
    if number < 20:
        return _ONES[number]
    words: list[str] = []
    for power in range(len(_SCALES) - 1, -1, -1):
        group = number // 1000**power % 1000
        if group:
            words += _below_thousand(group) + ([_SCALES[power]] if power else [])
    return " ".join(words)


def _below_thousand(number: int) -> list[str]:
    words = []
    if number >= 100:
        words += [_ONES[number // 100], "hundred"]
        number %= 100
    if number >= 20:
        words.append(_TENS[number // 10])
        number %= 10
    return words + ([_ONES[number]] if number else [])


def ordinal(number: int) -> str:
    """21 -> twenty first."""
    front, _, last = cardinal(number).rpartition(" ")
    if last in _ORDINALS:
        last = _ORDINALS[last]
    else:
        last = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return f"{front} {last}".strip()


def year(number: int) -> str:
    """1998 -> nineteen ninety eight; 2005 -> two thousand five; 1900 -> nineteen hundred."""
    high, low = divmod(number, 100)
    if high % 10 == 0 and low < 10 or not 10 <= high <= 99:
        return cardinal(number)
    return f"{cardinal(high)} {_low(low) or 'hundred'}"


def in_pairs(text: str) -> str:
    """Numbers of houses, rooms, flights: 123 -> one twenty three, 1428 -> fourteen twenty eight."""
    if len(text) < 3 or len(text) > 4 or text[0] == "0":
        return digits(text) if text[0] == "0" or len(text) > 4 else cardinal(int(text))
    high, low = int(text[:-2]), int(text[-2:])
    if len(text) == 4 and high % 10 == 0 and low < 10:
        return cardinal(int(text))
    return f"{cardinal(high)} {_low(low) or 'hundred'}"


def short_year(text: str) -> str:
    """The last two digits of a year: "08" -> oh eight, "24" -> twenty four."""
    return _low(int(text)) or "hundred"


def _low(number: int) -> str:
    if number == 0:
        return ""
    return f"oh {_ONES[number]}" if number < 10 else cardinal(number)


def plain(text: str) -> str:
    """A number as a quantity: separators dropped, digits after the point one by one."""
    text = _SEPARATORS.sub("", text)
    if text.count(".") > 1:
        text = text.replace(".", "")
    whole, point, fraction = text.partition(".")
    if len(whole) > MAX_DIGITS or not point and len(whole) > 1 and whole[0] == "0":
        front = digits(whole)
    else:
        front = cardinal(int(whole)) if whole else ""
    return f"{front} point {digits(fraction)}".strip() if point else front


def with_comma(text: str) -> str:
    """As `plain`, for a number whose decimal mark is a comma."""
    return plain(text.replace(".", "").replace(",", "."))


def fraction(top: int, bottom: int) -> str:
    """2, 3 -> two thirds."""
    if bottom == 0 or bottom == 1:
        return f"{cardinal(top)} over {cardinal(bottom)}"
    one = top == 1
    if bottom == 2:
        name = "half" if one else "halves"
    elif bottom == 4:
        name = "quarter" if one else "quarters"
    else:
        name = ordinal(bottom) + ("" if one else "s")
    return f"{cardinal(top)} {name}"


def mixed(whole: int, top: int, bottom: int) -> str:
    """3, 3, 4 -> three and three quarters; a single part takes "a": one and a half."""
    part = fraction(top, bottom)
    if top == 1 and bottom > 1:
        part = ("an" if bottom in (8, 11, 18, 80) else "a") + part.removeprefix("one")
    return f"{cardinal(whole)} and {part}"


def plural(words: str) -> str:
    """Decades and scores: nineties, thousands, sixes."""
    if words.endswith("y"):
        return words[:-1] + "ies"
    return words + ("es" if words.endswith("x") else "s")
