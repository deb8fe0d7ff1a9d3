"""What a context tells beside its sound: where its lines begin, and when their words are spoken."""

from __future__ import annotations

import math
from collections import deque

from gateway.types import Event, SegmentStarted, Words
from gateway.utterance.lines import Line, Lines


class Announcements:
    """Each line is announced once, in order, with the first packet that holds sound of it."""

    def __init__(self, context_id: str, lines: Lines) -> None:
        self.count = 0  # lines whose first packet has left
        self._id = context_id
        self._lines = lines
        self._timed: deque[Line] = deque()  # with word times, not yet told

    def next_start_samples(self) -> float:
        """Where the next line begins; infinity while none does."""
        lines = self._lines
        if lines.chain is None or self.count >= len(lines.all):
            return math.inf
        line = lines.all[self.count]
        start = lines.chain.segment_start_samples(line.index) if line.frames else None
        return math.inf if start is None else start

    def beginnings(self, until_samples: float) -> list[Event]:
        """Announce the lines that begin before `until_samples`."""
        events: list[Event] = []
        while (start := self.next_start_samples()) < until_samples:
            line = self._lines.all[self.count]
            self.count += 1
            segment, start_ms = line.segment, self._lines.to_ms(int(start))
            events.append(
                SegmentStarted(
                    self._id, line.index, segment.start, segment.end, segment.text, start_ms
                )
            )
        return events

    def words(self, wanted: bool) -> list[Event]:
        """Word times that became certain, of announced lines."""
        events: list[Event] = []
        while (line := self._lines.take_timed()) is not None:
            self._timed.append(line)
        while self._timed and self._timed[0].index < self.count:
            line = self._timed.popleft()
            if wanted and line.words:
                events.append(Words(self._id, line.words, line.source))
        return events
