"""A session's pronunciation table: words to respellings the model reads as wanted."""

from __future__ import annotations

from collections.abc import Mapping

import regex

from gateway.text.rewriting import TracedText

# Scripts without spaces have no word boundary to respect.
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{LB=SA}]",
)
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}_]")


class PronunciationTable:
    """Replaces whole words, case-sensitively, longest entry first, each stretch at most once.

    A boundary is where a letter, mark, digit or underscore meets anything else; it is asked for
    only at an end of the entry that is itself such a character, so "C++" and ".NET" work.
    """

    def __init__(self, respellings: Mapping[str, str]) -> None:
        self._respellings = {word: new for word, new in respellings.items() if word}
        words = sorted(self._respellings, key=len, reverse=True)
        self._pattern = regex.compile("|".join(map(_whole, words))) if words else None

    def apply(self, spoken: TracedText) -> None:
        """Respell in place; respelled words are frozen, so later rewriting leaves them alone."""
        if self._pattern is not None:
            spoken.sub(self._pattern, lambda match: self._respellings[match[0]], freeze=True)


def _whole(word: str) -> str:
    before = r"(?<![\p{L}\p{M}\p{N}_])" if _bounded(word[0]) else ""
    after = r"(?![\p{L}\p{M}\p{N}_])" if _bounded(word[-1]) else r"(?!\p{M})"
    return before + regex.escape(word, special_only=True, literal_spaces=True) + after


def _bounded(char: str) -> bool:
    return _WORD.match(char) is not None and _UNSPACED.match(char) is None
