"""Character classes, from Unicode's own properties (UAX 29 sentence break, UAX 14 line break)."""

from __future__ import annotations

from functools import lru_cache

import regex

QUOTES = frozenset("\"'“”„‟‘’‚‛«»‹›")
"""Which side a quotation mark closes depends on the language: judged by its neighbours."""
MARKUP = frozenset("*_~`")
DASHES = frozenset("-–—―⸺")
NO_BREAK_SPACES = frozenset("\u00a0\u2007\u202f\u2060\ufeff")
LATIN_ENDS = frozenset(".!?…‼⁇⁈⁉‽․﹒．")
"""Marks that also occur inside tokens, or want a space after them."""
ELLIPSES = frozenset("…⋯")
NEWLINES = frozenset("\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029")


class Kind:
    """What a character can be, as far as segmenting cares: bits of `kind_of`.

    Plain integers, because enum.IntFlag takes longer than all the rest of a character's way.
    """

    SPACE = 1 << 0
    END = 1 << 1  # ends a sentence, in some script
    BARE_END = 1 << 2  # ... and needs no space after it
    PAUSE = 1 << 3  # comma, colon, ...
    BARE_PAUSE = 1 << 4
    CLOSE = 1 << 5
    OPEN = 1 << 6
    EXTEND = 1 << 7  # never starts a grapheme cluster
    CJK = 1 << 8  # Han, kana, bopomofo: no spaces between words
    SA = 1 << 9  # Thai, Lao, Khmer, Myanmar ...: spaces between phrases only


_CLASSES = (
    (Kind.SPACE, r"\s\x1c-\x1f"),
    (Kind.END, r"\p{SB=STerm}\p{SB=ATerm}…⋯།༎"),
    (Kind.PAUSE, r"\p{SB=SContinue};،؛፣፤፥፦၊·՝៖：；꛶"),
    (Kind.CLOSE, r"\p{Pe}\p{Pf}%"),
    (Kind.OPEN, r"\p{Ps}\p{Pi}¿¡"),
    (Kind.EXTEND, r"\p{GCB=Extend}\p{GCB=SpacingMark}\u200d"),
    (Kind.CJK, r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}ー々〆「『（【《〈〔"),
    (Kind.SA, r"\p{LB=SA}\p{Tibetan}"),
    # Urdu's full stop is also used inside abbreviations, Greek's question mark looks like ';'.
    (Kind.BARE_END, r"[\p{SB=STerm}།༎]--[!?‼⁇⁈⁉‽۔]"),
    (Kind.BARE_PAUSE, r"、，；：､﹐﹑﹔—⸺"),
)
_PATTERNS = tuple((kind, regex.compile(f"(?V1)[{chars}]")) for kind, chars in _CLASSES)
_WIDE3 = regex.compile(r"\p{Han}")
_WIDE2 = regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Hangul}]")


@lru_cache(maxsize=4096)
def kind_of(char: str) -> int:
    """All classes of one character."""
    kind = 0
    for flag, pattern in _PATTERNS:
        if pattern.match(char):
            kind |= flag
    return kind


@lru_cache(maxsize=4096)
def weight_of(char: str) -> int:
    """How many letters of an alphabetic script the character is worth in speech, at least 1."""
    if char < "\u1100":
        return 1
    return 3 if _WIDE3.match(char) else 2 if _WIDE2.match(char) else 1
