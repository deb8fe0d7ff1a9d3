"""Between two numbers and before one: ranges, scores, subtractions, signs, dimensions."""

from __future__ import annotations

import re

from engine.reading.english.words import context, numbers
from engine.reading.english.words.tables import MONTH
from engine.reading.english.words.units import POWER, UNIT, unit_words
from engine.reading.types import Match, Rule, Spoken, part, rule

_EQUALS = re.compile(r"\s?=")
_DEGREES = re.compile(r"[\d.,]+\s?(?:degrees?\b|[°º])")
# A quantity that is whole, before a dash: 9am-, 20%-, 5km-.
_QUANTITY = re.compile(
    r"(?:\d|\bnoon|\bmidnight|[%°]|(?<=[\d\s])[AaPp]\.?[Mm]\.?|(?<=\d)[a-zA-Z°]{1,3})\s?\Z"
)
_NAMED = re.compile(r"[A-Za-z]-[\d.]+\Z")  # Llama-3.1-8B
_MORE = frozenset("faster more slower less better cheaper larger smaller higher lower".split())
_NUM = numbers.NUMBER
_MEASURED = r"['’\"′″½¼¾⅛⅜⅝⅞]"


def _row(match: Match) -> Spoken:
    """3-2-1, 9-1-1: one after the other."""
    return " ".join(numbers.plain(piece) for piece in re.findall(r"\d+", match[0]))


def _pair(match: Match) -> Spoken:
    """50-50."""
    if match["low"] != match["high"]:
        return None
    return [part(match, group, numbers.plain(match[group])) for group in ("low", "high")]


def _range(match: Match) -> Spoken:
    """10-20; its second number is left to the next rule, so that it may have a unit."""
    joint = "minus" if _subtracts(match) else "to"
    return [part(match, "low", numbers.plain(match["low"])), part(match, "dash", joint)]


def _subtracts(match: Match) -> bool:
    """A minus sign proper, an equation, or two numbers with spaces and nothing beside them."""
    if "−" in match["dash"] or _EQUALS.match(match.string, match.end("high")):
        return True
    alone = match.string.strip() == match[0] + match["high"]
    year = len(match["low"]) == 4 and match["low"].isdecimal()
    return alone and not year and match["dash"] != match["dash"].strip()


def _dash(match: Match) -> Spoken:
    """9am-5pm, 20%-30%."""
    start = match.start()
    if _NAMED.search(match.string, max(0, start - 20), start) is not None:
        return None
    found = _QUANTITY.search(match.string, max(0, start - 20), start)
    return "to" if found is not None else None


def _minus(match: Match) -> Spoken:
    """A minus before a number; one with a space only before degrees, or as all there is."""
    spaced = match[0][-1].isspace()
    rest = match.string[match.end() : match.end() + 20]
    return None if spaced and rest and not _DEGREES.match(rest) else "minus"


def _dimensions(match: Match) -> Spoken:
    """10x10 in numbers, 1920x1080 in pairs."""
    written = [group for group in ("low", "high", "third") if match[group]]
    sizes = [len(match[group]) if match[group].isdecimal() else 0 for group in written]
    say = numbers.in_pairs if max(sizes) == 4 and min(sizes) > 2 else numbers.plain
    parts = [
        part(match, group, ("by " if index else "") + say(match[group]))
        for index, group in enumerate(written)
    ]
    if match["unit"]:
        parts.append(part(match, "unit", unit_words(match["unit"], match["power"], False)))
    return parts


def _factor(match: Match) -> Spoken:
    """3x, 1.5x faster."""
    times = "times" if context.after(match) in _MORE else "X"
    return f"{numbers.plain(match['number'])} {times}"


DIMENSIONS: tuple[Rule, ...] = (
    rule("dimension", r"\d", rf"(?P<low>{_NUM})\s?[x×]\s?(?P<high>{_NUM})"
         rf"(?:\s?[x×]\s?(?P<third>{_NUM}))?(?!\s?[=\d⁰¹²³⁴-⁹^])"
         rf"(?:\s?(?P<unit>{UNIT})(?P<power>{POWER})?(?!\w))?", _dimensions),
    rule("dimension", r"[x×]", rf"(?:(?<={_MEASURED}\s)|(?<={_MEASURED}))[x×]\s?(?=\d)", "by"),
    rule("factor", r"[\d.]", rf"(?P<number>{_NUM})[x×](?!\w)", _factor),
)  # fmt: skip

RANGES: tuple[Rule, ...] = (
    rule("range", r"\d", r"\d{1,3}(?:[-–]\d{1,3}){2,8}(?![\w-])", _row),
    rule("range", r"\d", r"(?P<low>\d{1,3})[-–](?P<high>\d{1,3})(?![\d.-])", _pair),
    rule("range", r"[\d.]", rf"(?<![A-Za-z]-)(?P<low>{_NUM})(?P<dash>\s?[-–—−]\s?)"
         rf"(?=(?P<high>{_NUM})(?![-–]\d))",
         _range),
)  # fmt: skip

SIGNS: tuple[Rule, ...] = (
    rule("range", r"[-–—]", rf"[-–—]\s?(?=[$€£]?\d|noon\b|midnight\b|{MONTH}\b)", _dash),
    rule("sign", r"[-−–]", r"(?<![\w)\]%])[-−–]\s?(?=[$€£¥₹₩]?\.?\d)", _minus),
    rule("sign", r"\+", r"(?<![\w)\]])\+(?=[$€£]?\.?\d)", "plus"),
    rule("sign", r"[~≈∼]", r"(?<![\w)\]]\s)(?<![\w)\]])[~∼≈]\s?(?=[$€£]?\.?\d)", "about"),
)  # fmt: skip

TRIGGERS = frozenset("x")
