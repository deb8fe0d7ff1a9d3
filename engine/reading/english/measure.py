"""Quantities with a unit: 5 km, 9.8 m/s², 120/80 mmHg, 5'10", 30-minute, 1.5M."""

from __future__ import annotations

import re

from engine.reading.english import context, numbers
from engine.reading.english.tables import SCALE_WORD, SCALES
from engine.reading.english.units import (
    LABELS,
    LENGTHS,
    LETTERS,
    POWER,
    UNIT,
    UNITS,
    unit_words,
)
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_MIXED = r"(?:\d+\s\d+/\d+|\d*\s?[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]|\d{1,2}/\d{1,2})"
_QUANTITY = rf"(?P<number>{numbers.COMMA_DECIMAL}(?=\s?(?:[°º℃℉%]|[a-zA-Z]))|{numbers.NUMBER})"
_SCALED = rf"(?P<scale>\s(?:{SCALE_WORD}))?"
_BEHIND = rf"(?P<unit>{UNIT})(?P<power>{POWER})?(?:\s?/\s?(?P<per>{UNIT})(?P<perpower>{POWER})?)?(?!\w)(?!/\d)"
_POWERED = {"2": "squared", "²": "squared", "3": "cubed", "³": "cubed"}
_SHARP_NOUNS = frozenset("race run video tv display monitor resolution screen walk fun".split())


def _unit(match: Match) -> Spoken:
    symbol, spaced = match["unit"], match.string[match.start("unit") - 1].isspace()
    if not _plausible(match, symbol, spaced):
        return None
    text = match["number"]
    comma = re.fullmatch(numbers.COMMA_DECIMAL, text) is not None
    words = numbers.with_comma(text) if comma else numbers.plain(text)
    if match["scale"]:
        words += match["scale"].lower()
    one = words == "one" or context.is_attribute(match)
    name = unit_words(symbol, match["power"], one)
    if match["per"]:
        name += f" per {UNITS[match['per']][0]}"
        if match["perpower"]:
            name += f" {_POWERED[match['perpower'][-1]]}"
    return [
        Part(words, match.start(), match.start("unit")),
        Part(name, match.start("unit"), match.end()),
    ]


def _plausible(match: Match, symbol: str, spaced: bool) -> bool:
    """Whether letters after a number are a unit."""
    if match["power"] and symbol not in LENGTHS and not match["per"]:
        return False
    if symbol == "in." or symbol == "in" or symbol.endswith("."):
        behind = match.string[match.end() :]
        if symbol == "in." and re.match(r"\s+[A-Z]", behind):
            return False
        return True
    if match["per"]:
        return True
    if symbol == "A" and re.match(r"\s[A-Z]", match.string[match.end() :]):
        return False
    if symbol == "K" and spaced:
        return len(match["number"]) > 1 and "." not in match["number"]
    if symbol in ("d", "K", "T", "B", "t", "b", "N", "F", "J", "A", "at", "l") and spaced:
        return symbol in ("A", "N", "J", "K", "d") and context.before(match) not in LABELS
    if symbol in LETTERS and context.before(match) in LABELS:
        return False
    if symbol in ("B", "b", "T", "t", "K") and not spaced:
        return False  # billions, or a name
    if (
        spaced
        and symbol in ("s", "m", "g", "h")
        and re.match(r"['’&]", match.string[match.end() :])
    ):
        return False
    return not (symbol == "ac" and spaced)


def _attribute(match: Match) -> Spoken:
    """12-inch, 6-ft, 5-km: always one."""
    if len(match["unit"]) == 1 and match["unit"].isupper():
        return None
    return [
        part(match, "number", numbers.plain(match["number"])),
        part(match, "unit", UNITS[match["unit"]][0]),
    ]


def _feet_inches(match: Match) -> Spoken:
    feet = numbers.cardinal(int(match["feet"]))
    if match["inches"] is None:
        one = feet == "one" or context.is_attribute(match)
        return f"{feet} {'foot' if one else 'feet'}"
    return [
        part(match, "feet", f"{feet} foot"),
        part(match, "inches", numbers.plain(match["inches"])),
    ]


def _inches(match: Match) -> Spoken:
    """12" pizza; not the end of a quotation."""
    if match.string.count('"', 0, match.end() - 1) % 2:
        return None
    noun = context.after(match)
    words = numbers.plain(match["number"])
    one = words == "one" or bool(noun) and noun not in context.FUNCTION_WORDS
    return f"{words} {'inch' if one else 'inches'}"


def _pressure(match: Match) -> Spoken:
    top, bottom = numbers.plain(match["top"]), numbers.plain(match["bottom"])
    return [
        part(match, "top", top),
        part(match, "bottom", f"over {bottom}"),
        part(match, "unit", UNITS[match["unit"]][1]),
    ]


def _scale(match: Match) -> Spoken:
    """1.5M, 128k, 3B parameters; 5K, 4K and 10K runs keep their letter."""
    letter, noun = match["scale"], context.after(match)
    words = numbers.plain(match["number"])
    if letter in "kK" and (noun.lower() in _SHARP_NOUNS or letter == "K" and words == "four"):
        return f"{words} K"
    if letter == "K" and not noun and not match["plus"] and len(match["number"]) < 2:
        return f"{words} K"
    if letter in ("M", "B", "T", "m", "b") and context.before(match) in LABELS:
        return None
    if letter in ("m", "b", "t") and not noun.endswith("s"):
        return None
    if letter in ("B", "b") and noun == "model":
        return f"{words} B"
    plus = " plus" if match["plus"] else ""
    return f"{words} {SCALES[letter]}{plus}"


def _per_unit(match: Match) -> Spoken:
    """12/kg."""
    return f"{numbers.plain(match['number'])} per {UNITS[match['unit']][0]}"


def _per_area(match: Match) -> Spoken:
    """People/km²."""
    return f"per {unit_words(match['unit'], match['power'], True)}"


RULES: tuple[Rule, ...] = (
    rule("measure", r"\d", r"(?P<feet>\d{1,2})\s?['’′]\s?(?P<inches>1[01]|\d(?:\.\d)?)\s?(?:[\"”″]|''|’’)", _feet_inches),
    rule("measure", r"\d", r"(?P<feet>\d{1,2})\s?(?:ft)\.?\s(?P<inches>1[01]|\d)\s?(?:in)\b\.?", _feet_inches),
    rule("measure", r"\d", r"(?P<feet>\d{1,3})[′](?P<inches>(?!))?(?!\w)", _feet_inches),
    rule("measure", r"\d", rf"(?P<number>{numbers.NUMBER})(?:[\"″](?![\w])|-?inch(?!\w))(?<=[\"″])", _inches),
    rule("measure", r"\d", rf"(?P<top>\d{{2,3}})/(?P<bottom>\d{{2,3}})\s?(?P<unit>mmHg)\b", _pressure),
    rule("measure", r"[\d.]", rf"{_QUANTITY}{_SCALED}\s?{_BEHIND}", _unit),
    rule("measure", r"\d", rf"(?P<number>{numbers.NUMBER})-(?P<unit>{UNIT})(?![\w/.-])", _attribute),
    rule("measure", r"\d", rf"(?P<number>{numbers.NUMBER})/(?P<unit>{UNIT})(?![\w/])", _per_unit),
    rule("measure", r"/", rf"/\s?(?P<unit>{UNIT})(?P<power>{POWER})(?!\w)", _per_area),
    rule("scale", r"[\d.]", rf"(?P<number>{numbers.NUMBER})\s?(?<!\s)(?P<scale>bn|mn|tn|[kKMBTmb])(?P<plus>\+)?(?![\w/&'’])", _scale),
    rule("scale", r"[\d.]", rf"(?P<number>{numbers.NUMBER})\s(?P<scale>bn|mn|tn)(?P<plus>(?!))?(?!\w)", _scale),
)  # fmt: skip
