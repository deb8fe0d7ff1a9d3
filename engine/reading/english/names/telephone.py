"""Telephone numbers, and other rows of digits in groups: cards, social security, ISBN."""

from __future__ import annotations

import re

from engine.reading.english.words import context, numbers
from engine.reading.types import Match, Part, Rule, Spoken, rule

_GROUP = re.compile(r"\+|[A-Za-z]+|\d+")
_CUES = frozenset("phone tel telephone call mobile cell fax at on number dial text".split())
_GROUPED_CUES = frozenset(
    "isbn issn account ssn serial phone tel fax imei doi ean upc card invoice order case ticket "
    "tracking reference".split()
)
_TOLL_FREE = frozenset(("800", "900"))
_MIN_DIGITS, _MAX_DIGITS = 7, 15  # E.164


def _groups(match: Match) -> list[Part]:
    """Digit by digit, group by group; 1-800 is said as the hundred it is."""
    parts: list[Part] = []
    for found in _GROUP.finditer(match[0]):
        text, at = found[0], match.start() + found.start()
        if text.isdecimal():
            hundred = text in _TOLL_FREE and len(parts) < 2
            words = numbers.cardinal(int(text)) if hundred else numbers.digits(text)
        else:
            words = {"+": "plus", "ext": "extension", "x": "extension"}.get(text.lower(), text)
        parts.append(Part(words, at, at + len(text)))
    return parts


def _seven(match: Match) -> Spoken:
    """555-0199; but 500-1000 people is a range."""
    noun = context.after(match)
    counted = noun.islower() and noun not in context.FUNCTION_WORDS
    return None if counted and context.before(match) not in _CUES else _groups(match)


def _loose(match: Match) -> Spoken:
    """Groups of two to five digits: with a plus, a zero or a cue before them."""
    if not _MIN_DIGITS <= sum(char.isdecimal() for char in match[0]) <= _MAX_DIGITS:
        return None
    return _groups(match) if match[0][0] in "+0(" or context.before(match) in _CUES else None


def _named(match: Match) -> Spoken:
    """Groups with hyphens after a word that says what they are: ISBN 0-521-36395-0."""
    cued = not _GROUPED_CUES.isdisjoint(context.words_before(match)[:2])
    return _groups(match) if cued else None


_EXTENSION = r"(?:,?\s?(?:ext\.?|x)\s?\d{1,5}\b)?"
_AREA = r"(?:\(\d{3}\)[\s.-]?|\b\d{3}[\s.-])"

RULES: tuple[Rule, ...] = (
    rule("telephone", r"[\d+(]", rf"(?:\+?\d{{1,3}}[\s.-]?)?{_AREA}\d{{3}}[\s.-]\d{{4}}(?!\d)"
         rf"{_EXTENSION}(?:-\d{{1,4}}(?!\d))?", _groups),
    rule("telephone", r"\d", r"1-\d{3}-(?:[A-Z0-9]+-?){1,4}(?<=[A-Z])(?!\w)", _groups),
    rule("telephone", r"\d", rf"\d{{3}}-\d{{4}}(?![\d-]){_EXTENSION}", _seven),
    rule("telephone", r"\+", r"\+\d{7,15}(?!\d)", _groups),
    rule("telephone", r"[\d+(]", r"(?:\+\d{1,3}[ .-]?)?(?:\(\+?\d{1,5}\)[ ]?)?\d{2,5}"
         r"(?:[ .-]\d{2,8}){1,4}(?![\d.,/:%-])", _loose),
    rule("code", r"\d", r"\d+(?:\s?[-–]\s?\d+){1,12}(?:\s?[-–]\s?[xX])?(?!\w)", _named),
    # cards, social security numbers, ISBN-13
    rule("code", r"\d", r"\d{4}(?:[ -]\d{4}){2,4}(?!\d)|\d{4}[ -]\d{6}[ -]\d{5}(?!\d)", _groups),
    rule("code", r"\d", r"\d{3}-\d{2}-\d{4}(?!\d)|97[89]-\d{1,5}-\d+-\d+-[\dX](?!\d)", _groups),
)  # fmt: skip
