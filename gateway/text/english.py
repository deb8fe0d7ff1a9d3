"""English numbers, dates, money and times in words."""

from __future__ import annotations

from collections.abc import Callable

import regex
from num2words import num2words

Rule = tuple[regex.Pattern[str], Callable[[regex.Match[str]], str | None]]

MAX_DIGITS = 15
"""Longer numbers are read digit by digit."""

_MONTHS = (
    "January February March April May June July August September October November December".split()
)
_MONTH = "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS) + r"|Sept\.?"
_CURRENCIES = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "€": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "¥": ("yen", "yen", "sen", "sen"),
    "₹": ("rupee", "rupees", "paisa", "paise"),
}
_UNITS = {
    "km": "kilometer",
    "cm": "centimeter",
    "mm": "millimeter",
    "kg": "kilogram",
    "mg": "milligram",
    "ml": "milliliter",
    "km/h": "kilometer per hour",
    "mph": "mile per hour",
    "lb": "pound",
    "lbs": "pound",
    "oz": "ounce",
    "ms": "millisecond",
    "GHz": "gigahertz",
    "MHz": "megahertz",
    "kHz": "kilohertz",
    "Hz": "hertz",
    "GB": "gigabyte",
    "MB": "megabyte",
    "KB": "kilobyte",
    "TB": "terabyte",
    "°C": "degree Celsius",
    "°F": "degree Fahrenheit",
    "°": "degree",
}
_FRACTIONS = {2: "half", 3: "third", 4: "quarter"}
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
# Before and after a number that is no part of a word, an address or a longer number.
ALONE = r"(?<![\p{L}\p{N}_.,:/#@-])"
NOTHING_MORE = r"(?![\p{L}\p{N}_]|[.,:/]\d)"


def compile_rule(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """A pattern in the syntax all rules share."""
    return regex.compile(pattern, flags | regex.VERSION1)


def say_number(number: float, language: str) -> str:
    """num2words, without the commas and "and" it puts into large English numbers."""
    words = str(num2words(number, lang=language))
    return words.replace(",", "").replace(" and ", " ") if language == "en" else words


def cardinal(digits: str) -> str:
    """A number as written in English, in words: "1,299.5" is "one thousand two hundred ..."."""
    whole, point, part = digits.replace(",", "").partition(".")
    if len(whole) > MAX_DIGITS or len(whole) > 1 and whole.startswith("0"):
        words = spell(whole)
    else:
        words = say_number(int(whole), "en")
    return f"{words} point {spell(part)}" if point else words


def spell(digits: str) -> str:
    """Digit by digit."""
    return " ".join(say_number(int(digit), "en") for digit in digits if digit.isdecimal())


def ordinal(number: int) -> str:
    """21 is "twenty-first"."""
    return str(num2words(number, to="ordinal"))


def year(number: int) -> str:
    """1999 is "nineteen ninety-nine"."""
    return str(num2words(number, to="year"))


def _money(match: regex.Match[str]) -> str:
    one, many, cent, cents = _CURRENCIES[match["sign"]]
    number, scale = match["number"], match["scale"]
    if scale:
        return f"{cardinal(number)} {scale.strip().lower()} {many}"
    whole, _, part = number.replace(",", "").partition(".")
    if part and len(part) != 2:
        return f"{cardinal(number)} {many}"
    said = [] if part and int(whole) == 0 else [f"{cardinal(whole)} {_plural(whole, one, many)}"]
    if part and int(part):
        said.append(f"{say_number(int(part), 'en')} {_plural(part, cent, cents)}")
    return " and ".join(said) or f"{cardinal(whole)} {many}"


def _plural(digits: str, one: str, many: str) -> str:
    return one if digits.isdecimal() and int(digits) == 1 else many


def _iso_date(match: regex.Match[str]) -> str | None:
    return _date(int(match[1]), int(match[2]), int(match[3]))


def _us_date(match: regex.Match[str]) -> str | None:
    first, second, of_year = int(match[1]), int(match[2]), int(match[3])
    if first > 12:  # written day first
        first, second = second, first
    return _date(of_year, first, second)


def _date(of_year: int, month: int, day: int) -> str | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return f"{_MONTHS[month - 1]} {ordinal(day)}, {year(of_year)}"


def _month_day(match: regex.Match[str]) -> str | None:
    day = int(match["day"])
    if not 1 <= day <= 31:
        return None
    said = f"{_month(match['month'])} {ordinal(day)}"
    return f"{said}, {year(int(match['year']))}" if match["year"] else said


def _month(name: str) -> str:
    return next(month for month in _MONTHS if month[:3].lower() == name[:3].lower())


def _time(match: regex.Match[str]) -> str | None:
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    half = match["half"] or ""
    if hour > 24 or minute > 59 or match["minute"] is None and not half:
        return None
    said = say_number(hour, "en")
    if minute:
        said += (" oh " if minute < 10 else " ") + say_number(minute, "en")
    elif not half:
        said += " o'clock" if 1 <= hour <= 12 else " hundred hours"
    return f"{said} {half.strip()}".strip()


def _year_in_context(match: regex.Match[str]) -> str:
    return match["before"] + year(int(match["year"]))


def _decade(match: regex.Match[str]) -> str:
    words = (
        year(int(match["year"]))
        if len(match["year"]) == 4
        else say_number(int(match["year"]), "en")
    )
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def _unit(match: regex.Match[str]) -> str:
    name = _UNITS[match["unit"]]
    if match["number"] != "1" and not name.endswith("hertz"):
        noun, _, rest = name.partition(" ")
        name = f"{noun}s {rest}".strip()
    return f"{_signed(match)} {name}"


def _signed(match: regex.Match[str]) -> str:
    return ("minus " if match["minus"] else "") + cardinal(match["number"])


def _fraction(match: regex.Match[str]) -> str | None:
    above, below = int(match[1]), int(match[2])
    if not 0 < above < below <= 10:
        return None
    part = _FRACTIONS.get(below) or ordinal(below)
    plural = "halves" if below == 2 else part + "s"
    return f"{say_number(above, 'en')} {part if above == 1 else plural}"


def _phone(match: regex.Match[str]) -> str | None:
    groups = regex.findall(r"\d+", match[0])
    if not 7 <= sum(map(len, groups)) <= MAX_DIGITS:
        return None
    plus = "plus " if match[0].startswith("+") else ""
    return plus + ", ".join(map(spell, groups))


def _dotted(match: regex.Match[str]) -> str:
    version = "version " if match["v"] else ""
    return version + " point ".join(cardinal(part) for part in match["parts"].split("."))


_SIGNED = rf"(?P<minus>(?<![\p{{L}}\p{{N}}])[-−])?(?P<number>{_NUMBER})"
_HALF = r"(?P<half>\s?(?:[ap]\.m\.|[ap]m\b|[AP]\.M\.|[AP]M\b))?"
_YEAR_BEFORE = (
    r"\b(?:in|since|from|until|till|by|before|after|during|year|of|early|late|mid|circa|spring|summer"
    r"|autumn|fall|winter|and|to|between)\s"
)
ENGLISH_RULES: tuple[Rule, ...] = (
    (
        compile_rule(
            rf"(?P<sign>[$€£¥₹])\s?(?P<number>{_NUMBER})"
            r"(?P<scale>\s(?:thousand|million|billion|trillion)\b)?" + NOTHING_MORE,
            regex.IGNORECASE,
        ),
        _money,
    ),
    (compile_rule(ALONE + r"(\d{4})-(\d{2})-(\d{2})" + NOTHING_MORE), _iso_date),
    (compile_rule(ALONE + r"(\d{1,2})/(\d{1,2})/(\d{4})" + NOTHING_MORE), _us_date),
    (
        compile_rule(
            rf"\b(?P<month>{_MONTH})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
            rf"(?:,?\s(?P<year>[12]\d{{3}}))?{NOTHING_MORE}"
        ),
        _month_day,
    ),
    (
        compile_rule(
            rf"{ALONE}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s(?P<month>{_MONTH})"
            rf"(?:,?\s(?P<year>[12]\d{{3}}))?{NOTHING_MORE}"
        ),
        _month_day,
    ),
    (
        compile_rule(ALONE + r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?" + _HALF + NOTHING_MORE),
        _time,
    ),
    (
        compile_rule(
            r"(?<![\p{L}\p{N}_.,:/#@])(?:\+\d{1,3}[ .\-]?)?(?:\(\d{2,4}\)[ ]?)?"
            r"\d{2,4}(?:[ .\-]\d{2,4}){1,4}" + NOTHING_MORE
        ),
        _phone,
    ),
    (
        compile_rule(ALONE + r"(?P<v>[vV])?(?P<parts>\d{1,4}(?:\.\d{1,4}){2,3})" + NOTHING_MORE),
        _dotted,
    ),
    (compile_rule(ALONE + r"(?P<v>[vV])(?P<parts>\d{1,4}(?:\.\d{1,4})?)" + NOTHING_MORE), _dotted),
    (
        compile_rule(ALONE + r"(\d{1,6})(?:st|nd|rd|th)\b"),
        lambda match: ordinal(int(match[1])),
    ),
    (compile_rule(ALONE + r"['’]?(?P<year>[12]\d\d0|[2-9]0)s\b"), _decade),
    (
        compile_rule(
            rf"(?P<before>{_YEAR_BEFORE})(?P<year>1[1-9]\d\d|20\d\d){NOTHING_MORE}",
            regex.IGNORECASE,
        ),
        _year_in_context,
    ),
    (compile_rule(ALONE + _SIGNED + r"\s?%"), lambda match: f"{_signed(match)} percent"),
    (
        compile_rule(
            ALONE
            + _SIGNED
            + r"\s?(?P<unit>"
            + "|".join(map(regex.escape, sorted(_UNITS, key=len, reverse=True)))
            + r")(?![\p{L}\p{N}])"
        ),
        _unit,
    ),
    (compile_rule(ALONE + r"(\d{1,2})/(\d{1,2})" + NOTHING_MORE), _fraction),
    (
        compile_rule(r"(?<!\S)#(?P<number>\d+)" + NOTHING_MORE),
        lambda match: "number " + cardinal(match[1]),
    ),
    (
        compile_rule(rf"{ALONE}(?P<low>{_NUMBER})\s?[–-]\s?(?P<high>{_NUMBER})" + NOTHING_MORE),
        lambda match: f"{cardinal(match['low'])} to {cardinal(match['high'])}",
    ),
    (compile_rule(r"(?<![\p{L}\p{N}_.,:/#@])" + _SIGNED + NOTHING_MORE), _signed),
)
