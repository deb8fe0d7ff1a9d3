"""Short forms: titles before names, abbreviations with and without a full stop, initials."""

from __future__ import annotations

import re

from engine.reading.english.names import address
from engine.reading.english.names.roman import COUNTED
from engine.reading.english.words import context
from engine.reading.english.words.tables import (
    ABBREVIATIONS,
    BARE,
    BARE_BEFORE_NUMBER,
    BARE_TITLES,
    BEFORE_NUMBER,
    STREETS,
    TITLES,
)
from engine.reading.types import Match, Rule, Spoken, rule

_NAME_BEHIND = re.compile(
    r"\s+(?:[A-Z](?!\w)|(?:&|and)\s(?:Mrs?|Ms|Dr)\b|[A-Z][\w.'’-]|[A-Z]\.|(?:Col|Gen|Cmdr|Maj|Gov)\b)"
)
_NUMBER_BEHIND = re.compile(r"[:#\s]\s?#?(?:\d|[IVXLC]+\b)")
_I_BEHIND = re.compile(r"\s*I\b")
# Words too without a full stop, or words with a capital.
_WANT_DOT = frozenset("Sec Sr Fr Col".split())
_WANT_SMALL = frozenset("c. v. ed. b. d. r.".split())
_SMALL_ONLY = frozenset("ie eg etc tv diy".split())


def _title(match: Match) -> Spoken:
    """Dr. Evil, Sen. Park; with a full stop any title, without one those that are nothing else."""
    short = match["short"]
    if _NAME_BEHIND.match(match.string, match.end()) is None:
        return None
    if not match["dot"] and (short not in BARE_TITLES or short in _WANT_DOT):
        return None
    if short in STREETS and address.follows_house(match):
        return None
    return TITLES[short]


def _dotted(match: Match) -> Spoken:
    short = match[0].lower()
    stem, capital = short.rstrip("."), match[0][0].isupper()
    words = ABBREVIATIONS[short]
    if capital and short in _WANT_SMALL:
        return None
    if stem == "no" and _I_BEHIND.match(match.string, match.end()):
        return None
    if stem in BEFORE_NUMBER and not _NUMBER_BEHIND.match(match.string, match.end()):
        noun = stem in ("max", "min") and context.before(match) == "the"
        return words if noun else None
    if stem == "st" and capital and not address.follows_name(match):
        return None
    if stem == "al" and context.before(match) != "et":
        return None
    return words


def _bare(match: Match) -> Spoken:
    """cats vs dogs, ext 42; not VS, and "max" only before a number."""
    short, text = match[0].lower(), match[0]
    if short in BARE and (text.islower() or text[1:].islower() and short not in _SMALL_ONLY):
        return BARE[short]
    if short in BARE_BEFORE_NUMBER and _NUMBER_BEHIND.match(match.string, match.end()):
        return BARE_BEFORE_NUMBER[short]
    return None


def _initials(match: Match) -> Spoken:
    """U.S., J.R.R., e.g."""
    text = match["letters"]
    known = ABBREVIATIONS.get(f"{text.lower()}.")
    if known and text.islower():
        return known
    return " ".join(re.findall(r"[A-Za-z]", text)).upper()


def _initial(match: Match) -> Spoken:
    """The J. of J. Smith is no end of a sentence; the B. of "plan B. We" and the I. of a chapter
    are.
    """
    before = context.before(match)
    if before in COUNTED and match["letter"] in "IVX":
        return None
    name = context.last_word(match)[:1].isupper()
    return match["letter"] if name or not before or match.start() == 0 else None


def _one_of(words: list[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


TITLE_RULES: tuple[Rule, ...] = (
    rule("title", r"[A-Z]", rf"(?P<short>{_one_of(list(TITLES))})(?P<dot>\.)?(?!\w)", _title),
)
RULES: tuple[Rule, ...] = (
    rule("initials", r"[A-Za-z]", r"(?P<letters>(?:[A-Za-z]\.)+[A-Za-z])(?!\w)\.?", _initials),
    rule("abbreviation", r"P", r"Ph\.?D(?P<plural>s)?\b\.?",
         lambda m: "P H D's" if m["plural"] else "P H D"),
    rule("initials", r"[A-Z]", r"(?P<letter>[A-Z])\.(?=\s[A-Z])(?<!\w..)", _initial),
    rule("abbreviation", r"[A-Za-z]", r"(?i:"
         + _one_of([short[:-1] for short in ABBREVIATIONS if short.count(".") == 1])
         + r")\.(?!\w)", _dotted),
    rule("abbreviation", r"T", r"Tel:", "telephone"),
    rule("abbreviation", r"c", r"(?<=\d(?:st|nd|rd|th)\s)c(?:ent)?\.(?!\w)", "century"),
    rule("abbreviation", r"[A-Za-z]",
         rf"(?i:{_one_of([*BARE, *BARE_BEFORE_NUMBER])})(?![\w'’])", _bare),
)  # fmt: skip

TRIGGERS = frozenset(
    [*BARE, *BARE_BEFORE_NUMBER, "ph", "c", "cent"]
    + [key.rstrip(".") for key in ABBREVIATIONS]
    + [title.lower() for title in TITLES]
)
