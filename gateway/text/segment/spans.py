"""Stretches that are never cut: tags, links, titles, inline code, fenced code."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from gateway.text.segment.chars import NEWLINES

MAX_SPAN = 200
"""A link or a tag with attributes that is not closed within so many characters is ordinary text."""
MAX_WORDS = 120
MAX_SENTENCE = 48
"""... and so is any other stretch after fewer, because speech waits for it; after a few, if a
sentence has ended inside."""
_SENTENCE_END = regex.compile(r"(?r)[.!?…][\"'”’)]*")
_NAME_ONLY = regex.compile(r"<[/!]?[A-Za-z][\w:.-]*(?:\s[\w:-]*)?\s*/?")

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
    """Whether text[index] shows that the stretch will not be closed.

    In `<` anything that is no attribute shows it at once.
    """
    length, char = index - span.start, text[index]
    if length >= MAX_SPAN or char in NEWLINES:
        return True
    if span.close == ">" and text[span.start + 1] not in "|!":
        if "=" not in text[span.start : index]:
            return length >= MAX_WORDS or _NAME_ONLY.fullmatch(text, span.start, index) is None
        return False
    if span.close in "》〉" or span.close == ")" and " " not in text[span.start : index]:
        return False
    if length < MAX_SENTENCE or char != " ":
        return length >= MAX_WORDS
    return _SENTENCE_END.match(text, span.start, index) is not None
