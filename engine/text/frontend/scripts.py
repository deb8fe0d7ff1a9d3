"""Text in other scripts: read as its Latin spelling would be, as far as that goes."""

from __future__ import annotations

import re

from anyascii import anyascii

# Letters and marks of all scripts but Latin; the sentence marks among them shape the sentence.
FOREIGN = (
    r"[\u0370-\u05bd\u05bf-\u060b\u060d-\u061a\u061c-\u061e\u0620-\u06d3\u06d5-\u0963\u0966-\u1dff"
    r"\u1f00-\u1fff\u2c00-\u2dff\u3040-\u9fff\ua000-\ud7ff\uf900-\ufaff\ufb07-\ufdff\ufe70-\ufefe"
    r"\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U0003ffff]+"
)
_SYLLABLE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FOREIGN = re.compile(FOREIGN)


def latin_words(match: re.Match[str]) -> list[str]:
    """A stretch of another script in Latin letters: Privet, Ni Hao; what has none is left out."""
    spelled = anyascii(match[0])
    return [word.lower() for word in _SYLLABLE.findall(spelled)]


def foreign_letters(text: str) -> str:
    """The first few letters of `text` in other scripts; "" where there is none."""
    runs = "".join(_FOREIGN.findall(text))
    return "".join(c for c in runs if c.isalpha())[:20]
