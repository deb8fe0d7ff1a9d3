"""How much of a text that has come to rest can be spoken, though more may follow.

A word without a space behind it may be half a word, and figures, dates, amounts, titles and
addresses belong together, so they wait until they are whole: "$1,|299.50", "July 4,|2024",
"Dr.|Smith". What stands before them is settled.
"""

from __future__ import annotations

import regex

from gateway.text.segment.chars import DASHES, Kind, kind_of
from gateway.text.segment.lexicon import BEFORE_NUMBER, DATE_WORDS, NEVER_FINAL

MAX_TOKENS = 6
"""So many words at most are held back together: figures without end are a list."""

_LAST_TOKEN = regex.compile(r"(?r)[^\s\u00a0]+")
_ENDED = regex.compile(r"(?r)[.!?…:;。！？][\"'”’)\]*_]*")
_BARE = regex.compile(r"^[\"'“‘(\[*_]+|[\"'”’)\]*_.,;:!?]+$")
_PLACE = frozenset(("in", "of", "to", "from", "near", "at"))
_FIGURE = regex.compile(r"[\p{N}\p{Sc}%#°]")


def settled(text: str) -> int:
    """The index up to which the text can be spoken as it stands; 0: nothing of it can."""
    end = len(text)
    if end and _is_growing(text):
        token = _LAST_TOKEN.match(text, 0, end)
        end = token.start() if token is not None else 0
    for _ in range(MAX_TOKENS):
        stop = len(text[:end].rstrip())
        token = _LAST_TOKEN.match(text, 0, stop)
        if token is None:
            return 0
        if not is_open(token[0], _word_before(text, token.start())):
            return end
        end = token.start()
    return end


def is_open(token: str, before: str = "") -> bool:
    """Whether the next word may belong to this one. `before`: the word in front of it."""
    bare = _BARE.sub("", token)
    lower = bare.lower()
    if _FIGURE.search(token):
        return _ENDED.match(token) is None
    if token.endswith(".") and (lower in NEVER_FINAL or lower in BEFORE_NUMBER or len(bare) == 1):
        return True
    if lower in DATE_WORDS and bare[:1].isupper():
        return _ENDED.match(token) is None or len(bare) < 5
    if not bare[:1].isupper() or _ENDED.match(token) is not None:
        return False
    if before.endswith(",") and len(bare) == 2 and bare.isupper():
        return True  # Austin, TX and its ZIP code
    if token.endswith(","):
        return not before or before in _PLACE  # in Austin, and its state
    return bare[1:].islower() and before[:1].isdecimal()  # 123 Main and its St


def _is_growing(text: str) -> bool:
    """Whether the last word may be half a word: nothing stands behind it."""
    last = text[-1]
    kind = kind_of(last)
    if kind & (Kind.SPACE | Kind.CJK | Kind.SA):
        return False
    token = _LAST_TOKEN.match(text)
    if token is None:
        return False
    if last in DASHES or not kind & (Kind.END | Kind.PAUSE | Kind.CLOSE):
        return True
    return kind & Kind.BARE_END == 0 and _FIGURE.search(_BARE.sub("", token[0])[-1:]) is not None


def _word_before(text: str, start: int) -> str:
    token = _LAST_TOKEN.match(text, 0, len(text[:start].rstrip()))
    return "" if token is None else token[0]
