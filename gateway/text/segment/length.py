"""Where to cut a segment that has become too long."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from gateway.text.segment.boundary import Verdict
from gateway.text.segment.chars import Kind, kind_of, weight_of

HARD_FACTOR = 4
"""A stretch without any boundary (a URL, a tag) is left whole up to so many times `max_chars`."""

# The strongest kind wins, if it does not leave too short a segment: kind, least part of max_chars.
_PREFERENCES = ((Verdict.SENTENCE, 0.2), (Verdict.CLAUSE, 0.35), (Verdict.WORD, 0.5))
_GRAPHEME = regex.compile(r"\X")
_KATAKANA = regex.compile(r"[\p{Katakana}ー]")
# Line-breaking's "non-starters": small kana, iteration marks (UAX 14 CJ and NS).
_NON_STARTER = regex.compile(r"[\p{LB=CJ}\p{LB=NS}ๆฯ]")
# Thai and Lao syllables begin with these vowels, and end after these marks.
_SYLLABLE_START = frozenset("เแโใไເແໂໃໄ")
_SYLLABLE_END = frozenset("ะๆฯະໆ")
_FEW_CHARS = 8
"""What comes later does not change whether the text around `max_chars` has spaces."""
_STACKERS = frozenset("\u1039\u17d2")
"""Myanmar virama and Khmer coeng: the next consonant belongs below."""


def forced_cut(
    text: str,
    weight: int,
    boundaries: Sequence[tuple[int, Verdict, int]],
    max_chars: int,
    is_silent: bool,
) -> int | None:
    """The best place to cut text of this weight, over `max_chars`; None: leave it whole for now.

    `boundaries`: (position, kind, weight of the text before it), ascending.
    """
    if is_silent:
        newline = text.rfind("\n") + 1
        if 0 < newline < len(text):
            return newline
    usable = [b for b in boundaries if b[2] <= max_chars]
    for kind, part in _PREFERENCES:
        if kind is Verdict.WORD and weight <= max_chars + _FEW_CHARS:
            position = _unspaced_cut(text, max_chars)
            if position is not None:
                return position
        for position, verdict, before in reversed(usable):
            if verdict >= kind and before >= part * max_chars:
                return position
    if usable:
        return usable[-1][0]
    if boundaries:  # behind something long that had to stay whole
        return boundaries[0][0]
    if len(text) >= HARD_FACTOR * max_chars:
        return _last_grapheme(text, max_chars)
    return None


def _unspaced_cut(text: str, max_chars: int) -> int | None:
    """A syllable's or character's edge in the last half, for scripts without spaces."""
    limit = _index_at_weight(text, max_chars)
    if not kind_of(text[limit - 1]) & (Kind.CJK | Kind.SA):
        return None
    edges = [match.start() for match in _GRAPHEME.finditer(text, 0, limit + 1)]
    inner = [edge for edge in edges if limit // 2 <= edge <= limit and edge > 0]
    for edge in reversed(inner):
        if _is_syllable_edge(text, edge):
            return edge
    for edge in reversed(inner):
        if _may_break(text, edge):
            return edge
    return None


def _is_syllable_edge(text: str, edge: int) -> bool:
    before, after = text[edge - 1], text[edge]
    if kind_of(before) & Kind.CJK:
        return _may_break(text, edge)
    if after in _SYLLABLE_START:
        return before not in _SYLLABLE_START
    return before in _SYLLABLE_END and bool(kind_of(after) & Kind.SA) and after not in "ๆฯ"


def _may_break(text: str, edge: int) -> bool:
    before, after = text[edge - 1], text[edge]
    unspaced = Kind.CJK | Kind.SA
    if not kind_of(before) & unspaced or not kind_of(after) & unspaced:
        return False
    if kind_of(after) & (Kind.EXTEND | Kind.CLOSE | Kind.END | Kind.PAUSE):
        return False
    if kind_of(before) & Kind.OPEN or before in _STACKERS or before in _SYLLABLE_START:
        return False
    if _NON_STARTER.match(after) or _KATAKANA.match(before) and _KATAKANA.match(after):
        return False
    # A Myanmar consonant with asat (U+103A) closes the syllable before it.
    return text[edge + 1 : edge + 2] != "\u103a"


def _index_at_weight(text: str, max_chars: int) -> int:
    """The largest index from 1 to len(text) - 1 with at most `max_chars` of weight before it."""
    weight = 0
    for index, char in enumerate(text):
        weight += weight_of(char)
        if weight > max_chars:
            return max(index, 1)
    return max(len(text) - 1, 1)


def _last_grapheme(text: str, max_chars: int) -> int:
    limit = _index_at_weight(text, max_chars)
    edges = [match.start() for match in _GRAPHEME.finditer(text, 0, limit + 1)]
    return edges[-1] if len(edges) > 1 else limit
