"""Reading around a place in the text: back over closers and marks, ahead past openers."""

from __future__ import annotations

import regex

from gateway.text.segment.chars import DASHES, MARKUP, QUOTES, Kind, kind_of

MAX_OPENERS = 16
MAX_WORD = 24
"""Characters looked at beyond a place: openers, then the first word."""

_FOOTNOTE = regex.compile(r"(?r)\[\^?\d{1,3}\]")
_WORD_BEFORE = regex.compile(r"(?r)[\p{L}\p{M}\p{N}.'’°№\-]+")


def first_after(text: str, at: int, final: bool) -> int | None:
    """Index of the first telling character at or after the place, past openers and markup.

    None: more text is needed. -1: what follows belongs to the text before.
    """
    length = len(text)
    if at >= length:
        return at
    char = text[at]
    kind = kind_of(char)
    if kind & (Kind.END | Kind.PAUSE) and char not in DASHES:
        return -1
    if kind & Kind.CLOSE or char in QUOTES or char in MARKUP:
        after = at + 1
        while after < length and text[after] == char and char in MARKUP:
            after += 1
        if after >= length and not final:
            return None
        nearby = kind_of(text[after]) if after < length else Kind.SPACE
        if char != "«" and nearby & (Kind.SPACE | Kind.END | Kind.PAUSE | Kind.CLOSE):
            return -1
        if kind & Kind.CLOSE and char not in QUOTES:
            return -1
    limit = at + MAX_OPENERS
    while at < limit:
        if at >= length:
            return at if final else None
        char = text[at]
        opens = char in QUOTES or char in MARKUP or char in DASHES or char in "#>"
        if not (opens or kind_of(char) & (Kind.OPEN | Kind.SPACE)) or char in "[<":
            break
        at += 1
    return at


def strip_closers(text: str, end: int) -> tuple[int, bool]:
    """Walk back over closing quotes, brackets, markup and footnote marks: (index, any seen)."""
    start = end
    while end > 0:
        char = text[end - 1]
        footnote = _FOOTNOTE.match(text, 0, end) if char == "]" else None
        if footnote is not None:
            end = footnote.start()
        elif char == "]":
            break  # of a tag, which belongs to what follows
        elif kind_of(char) & Kind.CLOSE and char != "%" or char in QUOTES or char in MARKUP:
            end -= 1
        elif kind_of(char) & Kind.SPACE and end < start and text[end] in '»”")':
            end -= 1
        else:
            break
    return (end, end < start) if end > 0 else (start, False)


def is_end(text: str, index: int) -> bool:
    char = text[index]
    if kind_of(char) & Kind.END:
        return True
    # Greek writes its question mark as a semicolon.
    return char in ";\u037e" and index > 0 and "\u0370" <= text[index - 1] <= "\u03ff"


def word_before(text: str, end: int) -> str:
    match = _WORD_BEFORE.match(text, max(0, end - MAX_WORD), end)
    return match[0].lstrip(".'’-") if match else ""


def end_mark(text: str, end: int) -> int:
    """Where the run of end marks that ends at `end` starts; `end` itself if there is none."""
    while end > 0 and is_end(text, end - 1):
        end -= 1
    return end


def skip_space_back(text: str, end: int) -> int:
    """Where the white space that ends at `end` starts."""
    while end > 0 and kind_of(text[end - 1]) & Kind.SPACE:
        end -= 1
    return end
