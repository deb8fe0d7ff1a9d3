"""What a written thing is in words: money, times, dates, quantities, addresses.

Each function takes the match of its pattern (engine.text.frontend.normalise) and gives the words.
"""

from __future__ import annotations

import re

from engine.text.frontend import numbers
from engine.text.frontend.tables import ABBREVIATIONS, CURRENCIES, MONTHS, TITLES, UNITS

_MONTHS_BY_START = {name[:3].lower(): name for name in MONTHS}


def number(text: str) -> list[str]:
    """Digits with or without commas: a year, a count, or a code read digit by digit."""
    plain = text.replace(",", "")
    if plain != text:
        return numbers.cardinal(int(plain))
    if len(plain) > 1 and plain[0] == "0" or len(plain) > 7:
        return numbers.digits(plain)
    if len(plain) == 4 and 1100 <= int(plain) <= 2099:
        return numbers.year(int(plain))
    return numbers.cardinal(int(plain))


def real(text: str) -> list[str]:
    """Digits with an optional decimal part; whole numbers as `number` reads them."""
    whole, point, fraction = text.partition(".")
    return numbers.decimal(whole, fraction) if point and fraction else number(whole)


def quantity(text: str) -> list[str]:
    """As `_real`, but never a year: 1998 kg."""
    whole, point, fraction = text.partition(".")
    if point and fraction:
        return numbers.decimal(whole, fraction)
    return numbers.cardinal(int(whole.replace(",", "")))


def money(match: re.Match[str]) -> list[str]:
    """An amount with its currency: four dollars and fifty cents."""
    unit, cent = CURRENCIES[match["currency"]]
    whole, _, fraction = match["amount"].partition(".")
    if scale := match["scale"]:
        return [*quantity(match["amount"]), scale.lower(), unit[1]]
    count = int(whole.replace(",", ""))
    words = [*numbers.cardinal(count), unit[count != 1]] if count or not fraction else []
    if fraction and (cents := int((fraction + "0")[:2])):
        words += [*(["and"] if words else []), *numbers.cardinal(cents), cent[cents != 1]]
    return words or ["zero", unit[1]]


def half_of_day(text: str | None) -> list[str]:
    """A M or P M, or nothing."""
    return [text[0].upper(), "M"] if text else []


def clock(match: re.Match[str]) -> list[str]:
    """A time with minutes."""
    hour, minute = int(match["hour"]), int(match["minute"])
    half = half_of_day(match["half"])
    if minute == 0:
        return [*numbers.cardinal(hour), *(half or ["o'clock" if hour < 13 else "hundred"])]
    low = ["oh", *numbers.cardinal(minute)] if minute < 10 else numbers.cardinal(minute)
    return [*numbers.cardinal(hour), *low, *half]


def hour(match: re.Match[str]) -> list[str]:
    """A full hour with its half of the day."""
    return [*numbers.cardinal(int(match["hour"])), *half_of_day(match["half"])]


def decade(match: re.Match[str]) -> list[str]:
    """The nineteen nineties, the eighties."""
    number = int(match["decade"])
    return numbers.plural(numbers.year(number) if number > 99 else numbers.cardinal(number))


def ordinal(match: re.Match[str]) -> list[str]:
    """21st."""
    return numbers.ordinal(int(match["n"].replace(",", "")))


def version(match: re.Match[str]) -> list[str]:
    """Numbers with several points: two point ten point three."""
    words: list[str] = []
    for part in match[0].split("."):
        words += [*(["point"] if words else []), *number(part)]
    return words


def initials(match: re.Match[str]) -> list[str]:
    """Letters with full stops: U.S.A., or an abbreviation such as e.g."""
    return ABBREVIATIONS.get(match[0].lower()) or list(match[0].replace(".", "").upper())


def month_name(text: str) -> str:
    """The month that a full or short name means."""
    return _MONTHS_BY_START[text[:3].lower()]


def month_day(match: re.Match[str]) -> list[str]:
    """July 4, 1776."""
    words = [month_name(match["month"]), *numbers.ordinal(int(match["day"]))]
    return words + (numbers.year(int(match["year"])) if match["year"] else [])


def day_month(match: re.Match[str]) -> list[str]:
    """4 July 1776."""
    before = match.string[: match.start()].rstrip().lower()
    article = [] if before.endswith("the") else ["the"]
    words = [*article, *numbers.ordinal(int(match["day"])), "of", month_name(match["month"])]
    return words + (numbers.year(int(match["year"])) if match["year"] else [])


def numeric_date(match: re.Match[str]) -> list[str]:
    """ISO, or month/day/year as in the United States."""
    month, day = int(match["m"] or match["m2"]), int(match["d"] or match["d2"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return numbers.digits(match[0])
    date = int(match["y"] or match["y2"])
    return [
        MONTHS[month - 1],
        *numbers.ordinal(day),
        *numbers.year(date if date > 99 else 2000 + date),
    ]


def unit(match: re.Match[str]) -> list[str]:
    """A quantity with its unit."""
    one, many = UNITS[match["unit"]]
    words = quantity(match["amount"])
    return [
        *(["minus"] if match["sign"] else []),
        *words,
        *(one if words == ["one"] else many).split(),
    ]


def fraction(match: re.Match[str]) -> list[str]:
    """Two thirds; beyond hundredths one over the other."""
    top, bottom = int(match["top"]), int(match["bottom"])
    if bottom == 2:
        name = ["half" if top == 1 else "halves"]
    elif bottom == 4:
        name = ["quarter" if top == 1 else "quarters"]
    elif 2 < bottom < 100:
        name = numbers.ordinal(bottom)
        name[-1] += "" if top == 1 else "s"
    else:
        return [*numbers.cardinal(top), "over", *numbers.cardinal(bottom)]
    return [*numbers.cardinal(top), *name]


def address(match: re.Match[str]) -> list[str]:
    """E-mail and web addresses, sign by sign."""
    words: list[str] = []
    for part in re.findall(
        r"[A-Za-z]+|\d+|[^A-Za-z\d]", match[0].removeprefix("https://").removeprefix("http://")
    ):
        if part.isdigit():
            words += numbers.digits(part) if len(part) > 2 else number(part)
        elif part.lower() == "www":
            words += ["W", "W", "W"]
        elif part[0].isalpha():
            words.append(part)
        else:
            words += {
                ".": ["dot"],
                "@": ["at"],
                "/": ["slash"],
                "-": ["dash"],
                "_": ["underscore"],
            }.get(part, [])
    return words


def abbreviation(match: re.Match[str]) -> list[str]:
    """St. Peter, but Oak St."""
    before_name = re.match(r"\s+[A-Z]", match.string[match.end() :])
    title = TITLES.get(match[0].rstrip(".").capitalize())
    return title if title and before_name else ABBREVIATIONS.get(match[0].lower()) or title or []


def span_of_numbers(match: re.Match[str]) -> list[str]:
    """10-20."""
    return [*real(match["low"]), "to", *real(match["high"])]


def word(match: re.Match[str]) -> list[str]:
    """A word, in pieces where capitals or digits divide it."""
    text = match[0].replace("’", "'")
    pieces = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*'?|\d+", text)
    words: list[str] = []
    for piece in pieces:
        if piece.isdigit():
            # Letters and digits together are a name: AB1234 is read in digits, A4 in numbers.
            words += (
                numbers.cardinal(int(piece))
                if len(piece) < 3 and piece[0] != "0"
                else numbers.digits(piece)
            )
        else:
            words += [
                part
                for part in re.findall(r"[^\W\d_]{2,}?(?=[A-Z][a-z])|[a-z]{2,}(?=[A-Z])|.+", piece)
                if part
            ]
    return words
