"""What stands beside a match: the words before and after it decide between classes."""

from __future__ import annotations

import re

from engine.reading.types import Match

_BEFORE = re.compile(r"([^\W\d_][\w'’&]*)[.:,]?[\s(\"“]*$")
_NUMBER_BEFORE = re.compile(r"[$€£]?[\d.,]+\s?[-–—]\s?$")
_LAST_WORD = re.compile(r"([^\W\d_][\w'’&-]*)[.,]?\s+\Z")
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_AFTER = re.compile(r"[ \u00a0-]([^\W\d_][\w'’]*)")
_REACH = 40  # characters looked at

DETERMINERS = frozenset(
    "a an the this that my your his her its our their each every any another no one's first second "
    "third next last new whole single two three four five six seven eight nine ten eleven twelve "
    "twenty several".split()
)
# After a quantity these show that it is not a noun's attribute: "the 5 km was long".
FUNCTION_WORDS = frozenset(
    "is are was were be been being am has have had do does did will would can could shall should "
    "may might must and or but nor so yet if when while as than then that which who whom whose "
    "because since until till before after of to in on at by for from with without into onto over "
    "under about above below between through during against per via off out up down away ago long "
    "tall high wide deep thick later earlier apart old more less fewer too each every total left "
    "behind ahead here there now today tomorrow yesterday it he she they we you i this these those "
    "not also only just again already still around across near plus minus times equals worth "
    "except tops max maximum minimum maybe the a an your my his her our their".split()
)


def before(match: Match) -> str:
    """The word before the match, in lower case; "" where there is none.

    A full stop counts as the end of an abbreviation: "No. 5".
    """
    start = match.start()
    text = match.string[max(0, start - _REACH) : start]
    text = _NUMBER_BEFORE.sub("", text)
    found = _BEFORE.search(text)
    return found[1].lower() if found else ""


def words_before(match: Match) -> list[str]:
    """Up to four words before the match, the nearest first, in lower case; no sentence crossed."""
    start = match.start()
    text = re.split(r"(?<!\b[Nn]o)[.!?;\n]\s", match.string[max(0, start - _REACH) : start])[-1]
    return [word.lower() for word in reversed(re.findall(r"[^\W\d_][\w'’-]*", text))][:4]


def after(match: Match) -> str:
    """The word after the match, as written; "" where none follows at once."""
    found = _AFTER.match(match.string, match.end())
    return found[1] if found else ""


def is_attribute(match: Match) -> bool:
    """Whether a quantity stands before its noun, and so in the singular: a 5 km run."""
    noun = after(match)
    return bool(noun) and noun not in FUNCTION_WORDS and before(match) in DETERMINERS


def stands_alone(match: Match) -> bool:
    """Whether nothing but white space is beside the match."""
    return match.string.strip() == match[0].strip()


def last_word(match: Match) -> str:
    """The word before the match as written; "" where there is none."""
    found = _LAST_WORD.search(match.string[max(0, match.start() - _REACH) : match.start()])
    return found[1] if found else ""


def is_shouted(match: Match) -> bool:
    """Whether the words beside the match are capitals too, so that capitals tell nothing."""
    beside = (
        match.string[max(0, match.start() - 24) : match.start()],
        match.string[match.end() :][:24],
    )
    words = [word for text in beside for word in _LONG_WORD.findall(text)]
    return bool(words) and all(word.isupper() for word in words)
