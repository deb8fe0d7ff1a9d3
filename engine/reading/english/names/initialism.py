"""Capitals and joined names: US from us, APIs, AT&T, TCP/IP, C#, ChatGPT."""

from __future__ import annotations

import re

from engine.reading.english.words import context
from engine.reading.english.words.tables import SPOKEN_CAPITALS
from engine.reading.types import Match, Part, Rule, Spoken, rule

# In small letters these are other words, so among small letters their capitals are spelt.
_SPELT = frozenset(
    "US IT WHO AM PM ID TV PC UN EU UK AI VR IP OS UI UX IO IQ IM DM HR PR CV".split()
)
_SHOUTED_WORDS = frozenset(("US", "IT", "WHO", "AM"))
_WARS = {"WWI": "world war one", "WWII": "world war two"}
_FAMILY_NAME = re.compile(r"(?:Mc|Mac|O['’]|De|La|Le|Van|Fitz)[A-Z][a-z]+")
_SANDWICH = re.compile(r"[A-Z][a-z][A-Z]")  # YoY, IoT
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ALTERNATIVES = {
    f"{one}/{other}": f"{one} or {other}"
    for one, other in map(
        str.split,
        ("he she", "she he", "his her", "him her", "yes no", "true false", "on off", "his hers",
         "himself herself", "girl boy", "boy girl", "man woman"),
    )
} | {"and/or": "and or", "either/or": "either or", "s/he": "she or he"}  # fmt: skip


def _letters(text: str) -> str:
    return " ".join(text)


def _capitals(match: Match) -> Spoken:
    """US, IT, WHO among small letters; plurals of what is spelt: APIs, PDFs. The rest is left to
    the voice's dictionary.
    """
    capitals = match["capitals"]
    if capitals in _WARS:
        return _WARS[capitals]
    owned = match["plural"] or match.string[match.end() : match.end() + 2] in ("'s", "’s")
    short = 1 < len(capitals) < 5 and capitals not in SPOKEN_CAPITALS
    if owned and (short or capitals in _SPELT):
        return _letters(capitals) + ("'s" if match["plural"] else "")
    shouted = capitals in _SHOUTED_WORDS and context.is_shouted(match)
    if capitals in _SPELT and not match["plural"] and not shouted:
        return _letters(capitals)
    return None


def _joined(match: Match) -> Spoken:
    """S&P, AT&T, M&Ms."""
    parts: list[Part] = []
    for found in re.finditer(r"[A-Za-z]+", match[0]):
        text = found[0]
        plural = len(text) == 2 and text[1] == "s" and text[0].isupper()
        spelt = text.isupper() or plural or text in ("m", "ms")
        word = text if not spelt else _letters(text.rstrip("s").upper())
        word += "'s" if spelt and text.endswith("s") else ""
        at = match.start() + found.start()
        parts.append(Part(("and " if parts else "") + word, at, at + len(text)))
    return parts


def _slashed(match: Match) -> Spoken:
    """TCP/IP one after the other; he/she with "or"; other words with the slash."""
    known = _ALTERNATIVES.get(match[0].lower())
    if known is not None:
        return known
    parts: list[Part] = []
    for found in re.finditer(r"[^/\s]+", match[0]):
        text, at = found[0], match.start() + found.start()
        slash = "slash " if parts and text.islower() and len(text) > 1 else ""
        word = _letters(text) if text.isupper() and len(text) < 4 else text
        parts.append(Part(slash + word, at, at + len(text)))
    return parts


def _camel(match: Match) -> Spoken:
    """Capitals inside a word divide it: ChatGPT, iPad; family names stay whole."""
    text = match[0]
    if _FAMILY_NAME.fullmatch(text):
        return text
    if _SANDWICH.fullmatch(text):
        return _letters(text.upper())
    parts = []
    for found in _HUMP.finditer(text):
        word, at = found[0], match.start() + found.start()
        spelt = len(word) == 1 or word.isupper() and len(word) < 4
        parts.append(Part(_letters(word.upper()) if spelt else word, at, at + len(word)))
    return parts


RULES: tuple[Rule, ...] = (
    rule("name", r"[A-Z]", r"(?P<letter>[A-GJ])#(?!\w)", lambda m: f"{m['letter']} sharp"),
    rule("name", r"[A-Za-z]", r"(?P<word>[A-Za-z]+)\+\+(?!\w)", lambda m: f"{m['word']} plus plus"),
    rule("name", r"[A-Za-z]", r"[A-Za-z]{1,4}&[A-Za-z]{1,4}(?!\w)", _joined),
    rule("name", r"[A-Za-z]", r"[A-Za-z]{1,14}(?:/[A-Za-z]{1,14})+(?![\w/])", _slashed),
)
CAPITALS: tuple[Rule, ...] = (
    rule("initialism", r"[A-Z]", r"(?P<capitals>[A-Z]{1,6})(?P<plural>s)?(?!\w)", _capitals),
    rule("name", r"[A-Za-z]", r"(?:[A-Z]+[a-z]+|[a-z]+)(?:[A-Z]+[a-z]*)+(?!\w)", _camel),
)
