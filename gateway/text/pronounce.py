"""A session's pronunciation table: words to respellings the model reads as wanted.

Looked up by hand, because to compile a pattern of two hundred words takes tens of milliseconds, in
which no other session would be served.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import regex

from gateway.text.rewriting import Hold, TracedText

# Scripts without spaces have no word boundary to respect.
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{LB=SA}]",
)
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}_]")
_MARK = regex.compile(r"\p{M}")


class PronunciationTable:
    """Replaces whole words, case-sensitively, longest entry first, each stretch at most once.

    A boundary is where a letter, mark, digit or underscore meets anything else; it is asked for
    only at an end of the entry that is itself such a character, so "C++" and ".NET" work.
    """

    def __init__(self, respellings: Mapping[str, str]) -> None:
        self._respellings = {word: new for word, new in respellings.items() if word}
        self._words: dict[str, list[str]] = {}  # by their first character, longest first
        for word in sorted(self._respellings, key=len, reverse=True):
            self._words.setdefault(word[0], []).append(word)

    def apply(self, spoken: TracedText) -> None:
        """Respell in place; respelled words are frozen, so later rewriting leaves them alone."""
        if self._words:
            spoken.replace(self._found(spoken.text), Hold.SAID)

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        at = 0
        while at < len(text):
            for word in self._words.get(text[at], ()):
                if text.startswith(word, at) and _stands_alone(text, at, word):
                    yield at, at + len(word), self._respellings[word]
                    at += len(word)
                    break
            else:
                at += 1


def _stands_alone(text: str, start: int, word: str) -> bool:
    end = start + len(word)
    if _bounded(word[0]) and start and _is_word(text[start - 1]):
        return False
    if end == len(text):
        return True
    return not (_is_word(text[end]) if _bounded(word[-1]) else _MARK.match(text[end]))


@lru_cache(maxsize=4096)
def _is_word(char: str) -> bool:
    return _WORD.match(char) is not None


@lru_cache(maxsize=4096)
def _bounded(char: str) -> bool:
    return _is_word(char) and _UNSPACED.match(char) is None
