"""Addresses: the number of a house, directions, streets, states and their codes, post boxes."""

from __future__ import annotations

import re

from engine.reading.english.words import numbers
from engine.reading.english.words.tables import (
    DIRECTIONS,
    OLD_STATES,
    STATES,
    STREETS,
    SURE_STREETS,
)
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_DIRECTION = "(?:" + "|".join(sorted(DIRECTIONS, key=len, reverse=True)) + ")"
_STREET = "(?i:" + "|".join(sorted(STREETS, key=len, reverse=True)) + ")"
_FULL_STREET = "(?i:street|avenue|road|lane|drive|way|boulevard)"
_NAME = r"(?:[A-Z][\w'’-]+|\d+(?:st|nd|rd|th))"
_STREET_BEHIND = (
    rf"(?=\s(?:{_DIRECTION}\.?\s)?(?:{_NAME}\s){{1,3}}(?:{_STREET}\b|{_FULL_STREET}\b))"
)
_HOUSE_BEFORE = re.compile(rf"\d+[A-Za-z]?\s(?:{_DIRECTION}\.?\s)?(?:{_NAME}\s){{1,4}}\Z")
_NAME_BEFORE = re.compile(rf"{_NAME}\s\Z")
_NAME_ENDS = re.compile(r"\s*(?:\Z|[,;:)\n]|[A-Z])")
_NUMBER_BEFORE = re.compile(r"\d[A-Za-z]?\s\Z")
_THOROUGHFARE = re.compile(rf"\s{_NAME}\s(?:{_NAME}\s)?{_STREET}\b")


def follows_house(match: Match) -> bool:
    """Whether the number of a house and a name stand before the match."""
    return _HOUSE_BEFORE.search(match.string, 0, match.start()) is not None


def follows_name(match: Match) -> bool:
    """Whether a word with a capital, or an ordinal, stands before the match."""
    return _NAME_BEFORE.search(match.string, 0, match.start()) is not None


def _house(match: Match) -> Spoken:
    """Twelve eleven, two twenty one B; 708 has its zero said."""
    number = match["number"]
    spelt = len(number) == 3 and number[1] == "0"
    words = numbers.digits(number) if spelt else numbers.in_pairs(number)
    parts = [part(match, "number", words)]
    return parts + ([part(match, "letter", match["letter"].upper())] if match["letter"] else [])


def _direction(match: Match) -> Spoken:
    """708 N 1st St, NW 23rd St."""
    if _THOROUGHFARE.match(match.string, match.end()) is None:
        return None
    sure = match.start() == 0 or len(match["short"]) == 2
    if not sure and _NUMBER_BEFORE.search(match.string, 0, match.start()) is None:
        return None
    return DIRECTIONS[match["short"]]


def _street(match: Match) -> Spoken:
    """St, Ave, Dr after a name; those that mean other things too, where an address stands."""
    short = match["short"].capitalize()
    if not follows_name(match):
        return None
    if follows_house(match) or short in SURE_STREETS:
        return STREETS[short]
    ends = _NAME_ENDS.match(match.string, match.end()) is not None
    likely = short != "Dr" and (match["dot"] is not None or short in ("St", "Pkwy"))
    return STREETS[short] if ends and likely else None


def _state(match: Match) -> Spoken:
    """Santa Clara, CA 95051."""
    parts = [part(match, "state", STATES[match["state"]])]
    return parts + ([part(match, "zip", numbers.digits(match["zip"]))] if match["zip"] else [])


def _box(match: Match) -> Spoken:
    return [
        Part("P O box", match.start(), match.end("box")),
        part(match, "number", numbers.in_pairs(match["number"])),
    ]


RULES: tuple[Rule, ...] = (
    rule("address", r"P", r"P\.?\s?O\.?\s(?P<box>Box)\s(?P<number>\d{1,6})", _box),
    rule("address", r"\d", rf"(?P<number>\d{{1,5}})(?P<letter>[A-Za-z])?{_STREET_BEHIND}", _house),
    rule("address", r"[A-Z]", rf"(?<=,\s)(?P<state>{'|'.join(STATES)})\b"
         r"(?:,?\s(?P<zip>\d{5})\b(?:-\d{4})?)?", _state),
    rule("address", r"[A-Z]", rf"(?<=,\s)(?P<state>{'|'.join(OLD_STATES)})\.(?!\w)",
         lambda match: OLD_STATES[match["state"]]),
    rule("address", r"[NSEW]", rf"(?P<short>{_DIRECTION})\b\.?", _direction),
)  # fmt: skip

STREET_RULES: tuple[Rule, ...] = (
    rule("address", r"[A-Za-z]", rf"(?P<short>{_STREET})(?!\w)(?P<dot>\.(?!\w))?", _street),
)

TRIGGERS = frozenset([name.lower() for name in (*STREETS, *OLD_STATES)] + list(DIRECTIONS))
