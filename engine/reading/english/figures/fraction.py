"""Fractions: 2/3, 3 3/4, ½, with a unit behind them; and what only looks like one: 24/7, 60/40."""

from __future__ import annotations

import re
import unicodedata

from engine.reading.english.words import context, numbers
from engine.reading.english.words.units import UNIT, UNITS
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_GLYPHS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"
_WHOLES = frozenset("page step chapter part slide question task item lesson exercise level".split())
_MARKS = frozenset("rated score scored scores rating of gave graded".split())
_STARS = re.compile(r"\s?stars?\b")
_PAIRS = frozenset(((24, 7), (9, 11)))
_UNIT_BEHIND = rf"(?:\s?(?P<unit>{UNIT}|[\"″])(?![\w/]))?"


def _unit(match: Match, one: bool) -> str:
    """The unit behind a fraction: half a pound is singular, one and a half pounds are not."""
    if not match["unit"]:
        return ""
    unit = UNITS.get(match["unit"], ("inch", "inches"))  # 3/4"
    return f" {unit[0 if one or context.is_attribute(match) else 1]}"


def _glyph(match: Match) -> Spoken:
    """½ cup, 1½ hours."""
    top, _, bottom = unicodedata.normalize("NFKC", match["glyph"]).partition("\u2044")
    if match["whole"]:
        words = numbers.mixed(int(match["whole"]), int(top), int(bottom))
        return words + _unit(match, False)
    return numbers.fraction(int(top), int(bottom)) + _unit(match, True)


def _mixed(match: Match) -> Spoken:
    """3 3/4 inches."""
    whole = numbers.cardinal(int(match["whole"]))
    words = numbers.mixed(int(match["whole"]), int(match["top"]), int(match["bottom"]))
    rest = words.removeprefix(whole) + _unit(match, False)
    return [part(match, "whole", whole), Part(rest, match.start("top"), match.end())]


def _fraction(match: Match) -> Spoken:
    top, bottom = int(match["top"]), int(match["bottom"].replace(",", ""))
    before = context.before(match)
    stars = _STARS.match(match.string, match.end()) is not None
    if before in _WHOLES:
        joint: str | None = "of "
    elif stars or before in _MARKS and bottom in (5, 10, 100):
        joint = "out of "
    elif (
        top == bottom
        or context.after(match) == "vision"
        or top + bottom == 100
        or (top, bottom) in _PAIRS
    ):
        joint = ""
    else:
        joint = None
    if joint is not None:
        return [
            part(match, "top", numbers.cardinal(top)),
            part(match, "bottom", joint + numbers.cardinal(bottom)),
        ]
    if len(match["top"]) > 1 and match["top"][0] == "0" or bottom == 0:
        return None
    return numbers.fraction(top, bottom) + _unit(match, True)


RULES: tuple[Rule, ...] = (
    rule("fraction", rf"[\d{_GLYPHS}]",
         rf"(?P<whole>\d{{1,9}})?\s?(?P<glyph>[{_GLYPHS}]){_UNIT_BEHIND}", _glyph),
    rule("fraction", r"\d", r"(?P<whole>\d{1,4})(?:\s|-)(?P<top>\d{1,3})[/⁄]"
         rf"(?P<bottom>[1-9]\d{{0,2}})(?![\d/]|\.\d)(?:th|rd|nd)?{_UNIT_BEHIND}", _mixed),
)  # fmt: skip

PLAIN_RULES: tuple[Rule, ...] = (
    rule("fraction", r"\d", r"(?<!/)(?P<top>\d{1,5})\s?[/⁄]\s?(?P<bottom>\d{1,3},\d{3}|\d{1,5})"
         rf"(?:(?:th|rd|nd|TH|RD|ND)\b)?(?![\d/]|\.\d){_UNIT_BEHIND}(?!\w)", _fraction),
)  # fmt: skip
