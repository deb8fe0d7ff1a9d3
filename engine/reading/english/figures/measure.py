"""Quantities with a unit: 5 km, 9.8 m/s², 120/80 mmHg, 5'10", 12-inch, 1.5M, 128k."""

from __future__ import annotations

import re

from engine.reading.english.words import context, numbers
from engine.reading.english.words.tables import SCALE_WORD, SCALES
from engine.reading.english.words.units import (
    LABELS,
    LENGTHS,
    LETTERS,
    POWER,
    UNIT,
    UNITS,
    unit_words,
)
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_NUMBER = rf"(?P<number>{numbers.NUMBER})"
_QUANTITY = rf"(?P<number>{numbers.COMMA_DECIMAL}(?=\s?[°º℃℉%a-zA-Z])|{numbers.NUMBER})"
_UNIT = (
    rf"(?P<unit>{UNIT})(?P<power>{POWER})?"
    rf"(?:\s?/\s?(?P<per>{UNIT})(?P<perpower>{POWER})?)?(?!\w)(?!/\d)"
)
_POWERED = {"2": "squared", "²": "squared", "3": "cubed", "³": "cubed"}
_CAPITAL_BEHIND = re.compile(r"\s+[A-Z]")
_JOINED_BEHIND = re.compile(r"['’&]")
# Letters behind a number that are a unit only with a space before them, and only without one.
_NEVER_APART = frozenset("T B t b F l".split())
_NEVER_TOUCHING = frozenset("B b T t K".split())  # billions, trillions, thousands
# A run, a screen: 5K, 4K.
_K_NOUNS = frozenset("race run video tv display monitor resolution screen walk fun".split())


def _quantity(match: Match) -> Spoken:
    if not _is_unit(match):
        return None
    text = match["number"]
    comma = re.fullmatch(numbers.COMMA_DECIMAL, text) is not None
    words = numbers.with_comma(text) if comma else numbers.plain(text)
    words += (match["scale"] or "").lower()
    name = unit_words(match["unit"], match["power"], words == "one" or context.is_attribute(match))
    if match["per"]:
        name += f" per {_divisor(match['per'], match['perpower'])}"
    at = match.start("unit")
    return [Part(words, match.start(), at), Part(name, at, match.end())]


def _divisor(symbol: str, power: str | None) -> str:
    """Per cubic centimeter, but per second squared."""
    if power is None or symbol in LENGTHS:
        return unit_words(symbol, power, one=True)
    return f"{UNITS[symbol][0]} {_POWERED[power[-1]]}"


def _is_unit(match: Match) -> bool:
    """Whether letters behind a number are a unit: not in "Step 5 g", "3 m&ms", "32 A Horse"."""
    symbol, apart = match["unit"], match.string[match.start("unit") - 1].isspace()
    if match["per"]:
        return True
    if match["power"] and symbol not in LENGTHS:
        return False
    if symbol in ("in.", "A") and _CAPITAL_BEHIND.match(match.string, match.end()):
        return False
    if symbol in LETTERS and context.before(match) in LABELS:
        return False
    if not apart:
        return symbol not in _NEVER_TOUCHING
    if symbol == "K":
        return len(match["number"]) > 1 and match["number"].isdecimal()
    joined = _JOINED_BEHIND.match(match.string, match.end()) is not None
    return symbol not in _NEVER_APART and not (joined and symbol in LETTERS)


def _attribute(match: Match) -> Spoken:
    """12-inch, 6-ft, 5-km: always one."""
    if len(match["unit"]) == 1 and match["unit"].isupper():
        return None
    words = numbers.plain(match["number"])
    return [part(match, "number", words), part(match, "unit", UNITS[match["unit"]][0])]


def _feet_and_inches(match: Match) -> Spoken:
    return [
        part(match, "feet", f"{numbers.cardinal(int(match['feet']))} foot"),
        part(match, "inches", numbers.plain(match["inches"])),
    ]


def _feet(match: Match) -> Spoken:
    words = numbers.cardinal(int(match["feet"]))
    return f"{words} {'foot' if words == 'one' or context.is_attribute(match) else 'feet'}"


def _inches(match: Match) -> Spoken:
    """12" pizza; not the end of a quotation."""
    if match.string.count('"', 0, match.end() - 1) % 2:
        return None
    words, noun = numbers.plain(match["number"]), context.after(match)
    one = words == "one" or bool(noun) and noun not in context.FUNCTION_WORDS
    return f"{words} {'inch' if one else 'inches'}"


def _pressure(match: Match) -> Spoken:
    """120/80 mmHg."""
    return [
        part(match, "top", numbers.plain(match["top"])),
        part(match, "bottom", f"over {numbers.plain(match['bottom'])}"),
        part(match, "unit", UNITS["mmHg"][1]),
    ]


def _scale(match: Match) -> Spoken:
    """1.5M, 128k, 3B parameters; 5K, 4K and 10K runs keep their letter."""
    letter, noun, plus = match["scale"], context.after(match), match["plus"]
    words = numbers.plain(match["number"])
    if letter not in "kK" and context.before(match) in LABELS:
        return None
    short = letter == "K" and not noun and not plus and len(match["number"]) == 1
    if letter in "kK" and noun.lower() in _K_NOUNS or short:
        return f"{words} K"
    if letter in ("m", "b") and not noun.endswith("s"):
        return None
    if letter == "B" and noun == "model":
        return f"{words} B"
    return f"{words} {SCALES[letter]}{' plus' if plus else ''}"


def _per(match: Match) -> Spoken:
    """12/kg."""
    return f"{numbers.plain(match['number'])} per {UNITS[match['unit']][0]}"


# Without a number, where the slash could be taken for an "or".
BARE: tuple[Rule, ...] = (
    rule("measure", r"[kmMGg]",
         r"(?P<unit>km|mi|[kMG][Bb]|[mk]?g|Mbit)/(?P<per>h|hr|s|d?L|m|kg|day)"
         rf"(?P<power>{POWER})?(?!\w)",
         lambda m: f"{UNITS[m['unit']][1]} per {_divisor(m['per'], m['power'])}"),
)  # fmt: skip

RULES: tuple[Rule, ...] = (
    rule("measure", r"\d", r"(?P<feet>\d{1,2})\s?['’′]\s?(?P<inches>1[01]|\d(?:\.\d)?)\s?"
         r"(?:[\"”″]|''|’’)", _feet_and_inches),
    rule("measure", r"\d", r"(?P<feet>\d{1,2})\s?ft\.?\s(?P<inches>1[01]|\d)\s?in\b\.?",
         _feet_and_inches),
    rule("measure", r"\d", r"(?P<feet>\d{1,3})"
         r"(?:′(?!\w)|['’](?=\s(?:tall|high|long|wide|deep|by|x)\b)"
         r"|(?<=[x×]\s\d)['’](?!\w))",
         _feet),
    rule("measure", r"\d", rf"{_NUMBER}[\"″](?!\w)", _inches),
    rule("measure", r"\d", r"(?P<top>\d{2,3})/(?P<bottom>\d{2,3})\s?(?P<unit>mmHg)\b", _pressure),
    rule("measure", r"[\d.]", rf"{_QUANTITY}(?P<scale>\s{SCALE_WORD})?\s?{_UNIT}", _quantity),
    rule("measure", r"\d", rf"{_NUMBER}-(?P<unit>{UNIT})(?![\w/.-])", _attribute),
    rule("measure", r"\d", rf"{_NUMBER}/(?P<unit>{UNIT})(?![\w/])", _per),
    rule("measure", r"/", rf"/\s?(?P<unit>{UNIT})(?P<power>{POWER})(?!\w)",
         lambda m: f"per {unit_words(m['unit'], m['power'], one=True)}"),
    rule("scale", r"[\d.]", rf"{_NUMBER}(?P<scale>bn|mn|tn|[kKMBTmb])(?P<plus>\+)?(?![\w/&'’])",
         _scale),
    rule("scale", r"[\d.]", rf"{_NUMBER}\s(?P<scale>bn|mn|tn)(?!\w)",
         lambda m: f"{numbers.plain(m['number'])} {SCALES[m['scale']]}"),
)  # fmt: skip
