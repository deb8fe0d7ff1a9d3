"""Word times as Cartesia tells them: words as they stand in the transcript, with their marks.

Clients put the text together again from these, joined by blanks or found in what they sent; so what
stands between two spoken words belongs to one of them, and nothing of the transcript is lost.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from gateway.types import SegmentStarted, Word, Words

_FIRST_UNSPACED = "\u2e80"  # scripts from here on are written without blanks, and told by the word


class WordTimes:
    """One context's."""

    def __init__(self) -> None:
        self._segments: deque[SegmentStarted] = deque()  # announced, and their words not yet told

    def begin(self, event: SegmentStarted) -> None:
        """A segment is announced; its word times follow, if it has any."""
        self._segments.append(event)

    def tell(self, event: Words) -> dict[str, list[Any]]:
        """`word_timestamps` of a segment, in seconds on the context's time line."""
        segment = self._segment_of(event)
        groups = _grouped(event.words, segment)
        starts = [segment.start, *(_begin_of(group, segment) for group in groups[1:]), segment.end]
        pieces = [
            _between(segment, start, end) for start, end in zip(starts, starts[1:], strict=False)
        ]
        return {
            "words": [piece.strip() for piece in pieces],
            "start": [_seconds(group[0].start_ms) for group in groups],
            "end": [_seconds(group[-1].end_ms) for group in groups],
        }

    def _segment_of(self, event: Words) -> SegmentStarted:
        first, last = event.words[0], event.words[-1]
        while self._segments:
            if (segment := self._segments.popleft()).end >= last.end:
                return segment
        text = " ".join(word.text for word in event.words)
        return SegmentStarted(event.context, 0, first.start, first.start + len(text), text, 0.0)


def _between(segment: SegmentStarted, start: int, end: int) -> str:
    return segment.text[max(start - segment.start, 0) : max(end - segment.start, 0)]


def _grouped(words: tuple[Word, ...], segment: SegmentStarted) -> list[list[Word]]:
    """Words with no blank between them are one."""
    groups: list[list[Word]] = []
    for word in words:
        if groups and _joined(_between(segment, groups[-1][-1].start, word.start)):
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups


def _joined(text: str) -> bool:
    """`text`: from the start of a word to the start of the next one."""
    return bool(text) and text[-1] < _FIRST_UNSPACED and not any(map(str.isspace, text))


def _begin_of(group: list[Word], segment: SegmentStarted) -> int:
    """Where a word begins, with the marks before it, such as a bracket."""
    text, at = segment.text, group[0].start - segment.start
    start = at
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    unspaced = any(char >= _FIRST_UNSPACED for char in text[start:at])
    return segment.start + (at if unspaced else start)


def _seconds(ms: float) -> float:
    return round(ms / 1000, 3) if math.isfinite(ms) else 0.0
