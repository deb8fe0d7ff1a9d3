"""Stretches that are never cut: tags, links, titles, inline code, fenced code."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from gateway.text.segment.chars import NEWLINES

MAX_SPAN = 200
"""An opening bracket that is not closed within so many characters is ordinary text."""

FENCE_LINE = regex.compile(r"[ \t>*+\-]*(?:`{3,}|~{3,})")
FENCE_OPEN = regex.compile(r"[ \t>*+\-]*(?:`{3,}[^`\n]*|~{3,}[^\n]*)")
FENCE_CLOSE = regex.compile(r"[ \t>]*(?:`{3,}|~{3,})\s*")
FENCE_LATE = regex.compile(r"[^`]*(?:`{1,2}[^`]+`{1,2}[^`]*)*`{3,}[^`\s]*\s*")


_CLOSERS = {"[": "]", "`": "`", "《": "》", "〈": "〉"}  # tags, code, titles of works


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
    if char in _CLOSERS:
        return Span(index, _CLOSERS[char])
    if char == "(" and index > 0 and text[index - 1] == "]":
        return Span(index, ")")
    if text[index - 1 : index] == "<" and (char in "|/!" or char.isascii() and char.isalpha()):
        return Span(index - 1, ">")
    return None


def is_abandoned(span: Span, text: str, index: int) -> bool:
    """Whether text[index] shows that the stretch will not be closed."""
    return index - span.start >= MAX_SPAN or text[index] in NEWLINES
