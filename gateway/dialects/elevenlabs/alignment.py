"""When each character of a context is spoken.

The session tells times of words, segment by segment; the clients want one of every character, with
nothing left out between them, because they put the text together again from these. A word's time
is shared evenly by its characters; what stands between two words takes the pause between them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.types import SegmentStarted, Words


@dataclass(frozen=True, slots=True)
class TimedChars:
    """Characters, and where each begins and ends on the context's time line, in ms."""

    chars: str
    starts_ms: tuple[float, ...]
    ends_ms: tuple[float, ...]

    def __add__(self, other: TimedChars) -> TimedChars:
        return TimedChars(
            self.chars + other.chars,
            self.starts_ms + other.starts_ms,
            self.ends_ms + other.ends_ms,
        )


NO_CHARS = TimedChars("", (), ())


class Alignment:
    """One context's characters, told once each and in order."""

    def __init__(self) -> None:
        self._untold = ""  # text from position `_told` on
        self._told = 0
        self._end_ms = 0.0  # of what was told
        self._segment_ends: deque[int] = deque()  # announced, and their words not yet told

    def push(self, text: str) -> None:
        """The context's next text."""
        self._untold += text

    def begin(self, event: SegmentStarted) -> None:
        """A segment is announced; its word times follow, if it has any."""
        self._segment_ends.append(event.end)

    def tell(self, event: Words) -> TimedChars:
        """The characters up to the end of the segment whose word times have come."""
        spans = list(self._spans(event))
        chars, starts, ends = "", list[float](), list[float]()
        for end, start_ms, end_ms in spans:
            piece = self._take(end)
            step_ms = (end_ms - start_ms) / len(piece) if piece else 0.0
            chars += piece
            starts += [start_ms + i * step_ms for i in range(len(piece))]
            ends += [start_ms + (i + 1) * step_ms for i in range(len(piece))]
            self._end_ms = end_ms
        return TimedChars(chars, tuple(starts), tuple(ends))

    def rest(self) -> TimedChars:
        """What is left when all was spoken: it makes no sound, so it takes no time."""
        chars = self._take(self._told + len(self._untold))
        times = (self._end_ms,) * len(chars)
        return TimedChars(chars, times, times)

    def _spans(self, event: Words) -> Iterator[tuple[int, float, float]]:
        """(end of the characters, start and end of their time), without gaps and backward steps."""
        at_ms = self._end_ms
        for word in event.words:
            start_ms = max(word.start_ms, at_ms) if math.isfinite(word.start_ms) else at_ms
            end_ms = max(word.end_ms, start_ms) if math.isfinite(word.end_ms) else start_ms
            yield word.start, at_ms, start_ms
            yield word.end, start_ms, end_ms
            at_ms = end_ms
        yield self._end_of_segment(event.words[-1].end), at_ms, at_ms

    def _end_of_segment(self, position: int) -> int:
        while self._segment_ends:
            if (end := self._segment_ends.popleft()) >= position:
                return end
        return position

    def _take(self, end: int) -> str:
        count = max(end - self._told, 0)
        piece, self._untold = self._untold[:count], self._untold[count:]
        self._told += len(piece)
        return piece
