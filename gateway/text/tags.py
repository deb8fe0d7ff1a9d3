"""The marks in text that are instructions rather than words."""

from __future__ import annotations

import regex

SPEAKER_TAG = regex.compile(r"<\|speaker:\d+\|>")
"""Changes the speaker (engine prompt format)."""

BREAK_TAG = regex.compile(r"<break(?=[\s/>])[^<>]*>", regex.IGNORECASE)
"""Exact silence, as in SSML: `<break time="300ms"/>`."""

PAUSE_TAG = regex.compile(
    r"\[pause[\s:=]\s*(?P<value>\d{1,6}(?:\.\d{1,6})?)\s*(?P<unit>ms|s)\]", regex.IGNORECASE
)
"""Exact silence in brackets: `[pause:1s]`, `[pause 300ms]`."""

THOUGHT_OPEN = regex.compile(r"<(?:think|thinking|thoughts?|reason|reasoning)>", regex.IGNORECASE)
THOUGHT_CLOSE = regex.compile(r"</(?:think|thinking|thoughts?|reason|reasoning)>", regex.IGNORECASE)
"""What a model writes around what it thinks."""
THOUGHT_END = regex.compile(f"(?r){THOUGHT_CLOSE.pattern}", regex.IGNORECASE)
"""The close, looked for from the end backwards."""

FREE_TAG = regex.compile(
    r"(?<![!\]])\[(?=[^\[\]\n]*\p{L})(?![xX]\]\s)(?!\^)[^\[\]\n]{1,200}\](?![(:\[])"
)
"""A free-form tag, `[whispering]`: holds a letter, and is no link, check box or footnote."""

KEPT_TAGS = regex.compile(f"{SPEAKER_TAG.pattern}|{FREE_TAG.pattern}")

_BREAK_TIME = regex.compile(
    r"time\s*=\s*[\"']?\s*\+?(\d{1,6}(?:\.\d{1,6})?)\s*(ms|s)\b", regex.IGNORECASE
)
_BREAK_STRENGTH = regex.compile(r"strength\s*=\s*[\"']?\s*([a-z-]+)", regex.IGNORECASE)
# SSML names the strengths and leaves their length to the speaker.
_STRENGTH_MS = {
    "none": 0,
    "x-weak": 100,
    "weak": 200,
    "medium": 400,
    "strong": 700,
    "x-strong": 1000,
}
MAX_PAUSE_MS = 10_000


def pause_ms(break_tag: str) -> int:
    """Length of a `<break .../>` or `[pause:1s]`, at most MAX_PAUSE_MS; 0 if its time cannot be
    read.
    """
    bracketed = PAUSE_TAG.fullmatch(break_tag)
    if bracketed is not None:
        return _limited(bracketed["value"], bracketed["unit"])
    timed = _BREAK_TIME.search(break_tag)
    if timed is not None:
        return _limited(timed[1], timed[2])
    if "time" in break_tag.lower():
        return 0
    strength = _BREAK_STRENGTH.search(break_tag)
    return _STRENGTH_MS.get(strength[1].lower() if strength else "medium", 0)


def _limited(value: str, unit: str) -> int:
    return min(round(float(value) * (1 if unit.lower() == "ms" else 1000)), MAX_PAUSE_MS)
