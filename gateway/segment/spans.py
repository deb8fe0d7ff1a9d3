"""Stretches that are never cut: tags, links, inline code, fenced code."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from gateway.segment.chars import NEWLINE

MAX_SPAN = 200
"""An opening bracket that is not closed within so many characters is ordinary text."""

SPEAKER_TAG = regex.compile(r"<\|speaker:\d+\|>")
BREAK_TAG = regex.compile(r"<break(?=[\s/>])[^<>]*>", regex.IGNORECASE)
FENCE_LINE = regex.compile(r"[ \t>*+\-]*(?:`{3,}|~{3,})")
FENCE_OPEN = regex.compile(r"[ \t>*+\-]*(?:`{3,}[^`\n]*|~{3,}[^\n]*)")
FENCE_CLOSE = regex.compile(r"[ \t>]*(?:`{3,}|~{3,})\s*")
FENCE_LATE = regex.compile(r"[^`]*(?:`{1,2}[^`]+`{1,2}[^`]*)*`{3,}[^`\s]*\s*")

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
    """Length of a `<break .../>`, at most MAX_PAUSE_MS; 0 if its time cannot be read."""
    timed = _BREAK_TIME.search(break_tag)
    if timed is not None:
        value = float(timed[1]) * (1 if timed[2].lower() == "ms" else 1000)
        return min(round(value), MAX_PAUSE_MS)
    if "time" in break_tag.lower():
        return 0
    strength = _BREAK_STRENGTH.search(break_tag)
    return _STRENGTH_MS.get(strength[1].lower() if strength else "medium", 0)


@dataclass(frozen=True, slots=True)
class Span:
    """An open stretch: where it started in the segment's text, and what ends it."""

    start: int
    close: str

    def shifted(self, by: int) -> Span:
        return Span(self.start - by, self.close)


def open_span(text: str, index: int) -> Span | None:
    """The stretch that text[index] opens, judged by the character before it."""
    char = text[index]
    if char == "[":
        return Span(index, "]")
    if char == "`":
        return Span(index, "`")
    if char == "(" and index > 0 and text[index - 1] == "]":
        return Span(index, ")")
    if char in "|/!" or char.isascii() and char.isalpha():
        if index > 0 and text[index - 1] == "<":
            return Span(index - 1, ">")
    return None


def gives_up(span: Span, text: str, index: int) -> bool:
    """Whether text[index] shows that the stretch will not be closed."""
    return index - span.start >= MAX_SPAN or NEWLINE.match(text, index) is not None
