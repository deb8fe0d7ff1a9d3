"""Text in other scripts: read as its Latin spelling would be, as far as that goes."""

from __future__ import annotations

import re

from anyascii import anyascii

from engine.reading import OTHER_SCRIPT

_SYLLABLE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FOREIGN = re.compile(OTHER_SCRIPT)


def latin_words(word: str) -> list[str]:
    """A word of another script in Latin letters: privet, ni hao; one in Latin letters as it is."""
    if not _FOREIGN.search(word):
        return [word]
    return [syllable.lower() for syllable in _SYLLABLE.findall(anyascii(word))]


def foreign_letters(text: str) -> str:
    """The first few letters of `text` in other scripts; "" where there is none."""
    runs = "".join(_FOREIGN.findall(text))
    return "".join(c for c in runs if c.isalpha())[:20]
