"""Letters and digits in one, which name and do not count: AA1234, B12, CO₂, 401(k), A1:B2."""

from __future__ import annotations

import re

from engine.reading.english.words import context, numbers
from engine.reading.types import Match, Part, Rule, Spoken, part, rule

_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_PIECE = re.compile(r"[A-Za-z]+|\d+(?:\.\d+)?")
_CELL = re.compile(r"([A-Z]+)(\d+)")
_FLIP = re.compile(r"(?<=\d)[A-Za-z]|(?<=[A-Za-z])\d")
_PLATE = re.compile(r"[A-Z]{2}(?!19|20)\d{4}")
_WORD_AND_NUMBER = re.compile(r"[a-z]{3,}-|[A-Za-z]{2,}-\d+(?:\.\d+)?(?:'?s)?(?![\w-])")
_CUES = frozenset(
    "code confirmation pnr otp password passcode reference ref plate license licence serial sku "
    "tracking key token voucher coupon id postcode".split()
)
_MANY_FLIPS = 2
"""Letters and digits that change places more often are a machine's code."""


def _mixed(match: Match) -> Spoken:
    """B12 in numbers; XK7P2Q, and what a cue calls a code, sign by sign."""
    if _WORD_AND_NUMBER.match(match.string, match.start()) is not None:
        return None  # GPT-3.5, mid-1980s
    text = match[0].translate(_SUBSCRIPTS)
    cued = not _CUES.isdisjoint(context.words_before(match)[:3])
    spelt = cued or len(_FLIP.findall(text)) > _MANY_FLIPS
    parts = []
    for found in _PIECE.finditer(text):
        piece, at = found[0], match.start() + found.start()
        if piece.isalpha():
            letters = spelt or len(piece) == 1 or piece.isupper() and len(piece) < 4
            words = " ".join(piece.upper()) if letters else piece
        elif "." in piece:
            words = numbers.plain(piece)
        elif spelt and len(text) > 3 and (cued or len(piece) > 2):
            words = numbers.digits(piece)
        else:
            words = _figure(piece, _PLATE.fullmatch(text) is not None)
        parts.append(Part(words, at, at + len(piece)))
    return parts


def _figure(digits: str, plate: bool) -> str:
    if plate or len(digits) > 4 or digits[0] == "0" and len(digits) > 1:
        return numbers.digits(digits)
    return numbers.in_pairs(digits)


def _paragraph(match: Match) -> Spoken:
    """401(k), 501(c)(3)."""
    pieces = re.findall(r"\w+", match["rest"])
    words = [numbers.cardinal(int(p)) if p.isdecimal() else p.upper() for p in pieces]
    return [
        part(match, "number", numbers.in_pairs(match["number"])),
        part(match, "rest", " ".join(words)),
    ]


def _cells(match: Match) -> Spoken:
    """A1:B2."""
    parts: list[Part] = []
    for found in _CELL.finditer(match[0]):
        words = f"{' '.join(found[1])} {numbers.cardinal(int(found[2]))}"
        at = match.start() + found.start()
        parts.append(Part(("to " if parts else "") + words, at, at + len(found[0])))
    return parts


def _wireless(match: Match) -> Spoken:
    """802.11ac."""
    letters = " ".join(match["letters"].upper())
    return f"eight oh two dot {numbers.cardinal(int(match['part']))} {letters}"


def _hardware(match: Match) -> Spoken:
    """The address of a network card: 00:1A:2B."""
    if match[0].replace(":", "").isdecimal():
        return None
    return " ".join(numbers.digits(c) if c.isdecimal() else c.upper() for c in match[0] if c != ":")


def _screen(match: Match) -> Spoken:
    """720p, 1080i."""
    words = f"{numbers.in_pairs(match['lines'])} {match['way'].upper()}"
    return f"{words} {numbers.cardinal(int(match['rate']))}" if match["rate"] else words


def _postcode(match: Match) -> Spoken:
    """SW1A 1AA."""
    return " ".join(numbers.digits(c) if c.isdecimal() else c for c in match[0] if c != " ")


# Before pence are thought of.
SCREENS: tuple[Rule, ...] = (
    rule("code", r"\d", r"(?P<lines>144|240|360|480|576|720|1080|1440|2160|4320)"
         r"(?P<way>[pi])(?P<rate>\d{2,3})?(?!\w)", _screen),
)  # fmt: skip

RULES: tuple[Rule, ...] = (
    rule("code", r"8", r"802\.(?P<part>\d{1,2})(?P<letters>[a-z]{0,2})(?!\w)", _wireless),
    rule("code", r"[\dA-Fa-f]", r"(?:[\dA-Fa-f]{2}:){2,7}[\dA-Fa-f]{2}(?![\w:])", _hardware),
    rule("code", r"\d", r"(?P<number>[1-9]\d{2})"
         r"(?P<rest>(?:\([a-z0-9]\))+|(?<=40[13])[kb](?!\w))", _paragraph),
    rule("code", r"[A-Z]", r"[A-Z]{1,2}\d{1,5}:[A-Z]{1,2}\d{1,5}(?!\w)", _cells),
    rule("code", r"[A-Z]", r"[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2}(?!\w)", _postcode),
)  # fmt: skip

# After everything else that can be made of a number with letters.
LAST: tuple[Rule, ...] = (
    rule("code", r"[A-Za-z\d]", r"(?=[\w₀-₉-]{0,40}[A-Za-z])(?=[\w₀-₉-]{0,40}[\d₀-₉])"
         r"[A-Za-z\d₀-₉]+(?:(?<=[A-Z]\d)\.\d+(?![\w.])|-[A-Za-z]?\d[A-Za-z\d]*|-[A-Z](?!\w))*"
         r"(?![^\W_])", _mixed),
)  # fmt: skip
