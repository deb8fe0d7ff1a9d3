"""Ordinals: 24th, 1,000th, 2ND, 3ʳᵈ, and the 23d of old books."""

from __future__ import annotations

import re

from engine.reading.english.words import numbers
from engine.reading.types import Match, Rule, Spoken, rule

_RAISED = str.maketrans("ˢᵗⁿᵈʳʰ", "stndrh")
_ENDING = r"(?P<ending>(?:st|nd|rd|th)\b|(?:ST|ND|RD|TH)\b|ˢᵗ|ⁿᵈ|ʳᵈ|ᵗʰ)"


def _ordinal(match: Match) -> Spoken:
    """Only with the ending that belongs to the number."""
    text = re.sub(r"\D", "", match["number"])
    if len(text) > numbers.MAX_DIGITS:
        return None
    number = int(text)
    last = number % 10 if number // 10 % 10 != 1 else 0
    if match["ending"].translate(_RAISED).lower() != {1: "st", 2: "nd", 3: "rd"}.get(last, "th"):
        return None
    return numbers.ordinal(number)


RULES: tuple[Rule, ...] = (
    rule("ordinal", r"\d", rf"(?P<number>{numbers.GROUPED}|\d{{1,30}}){_ENDING}", _ordinal),
    rule("ordinal", r"\d", r"(?P<number>\d{0,4}[2-9][23])d(?!\w)",
         lambda m: numbers.ordinal(int(m["number"]))),
)  # fmt: skip
