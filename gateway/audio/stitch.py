"""Segments -> one line of samples: over-long silence trimmed, seams crossfaded, positions kept.

Streaming: a run of silence is let through up to the natural pause. What exceeds it waits: if sound
follows inside the segment it was the speaker's pause and goes out whole, otherwise it is dropped.
Before a segment's first sound all but the last few milliseconds are dropped at once.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from gateway.audio.constants import (
    FIRST_PAUSE_MS,
    ONSET_MS,
    PAUSE_MS,
    SILENCE_PEAK,
    Samples,
    samples_of,
)
from gateway.audio.fifo import EMPTY
from gateway.audio.splice import Splicer


@dataclass(slots=True)
class _Segment:
    """Where one segment's samples lie on the line."""

    start: int  # where the segment before ends: behind their crossfade
    sources: list[int] = field(default_factory=list)  # first sample of each placed run,
    places: list[int] = field(default_factory=list)  # its position on the line,
    ends: list[int] = field(default_factory=list)  # and the position behind its last sample
    pushed: int = 0
    decided: int = 0  # samples before this one are placed or dropped
    sounding: bool = False
    ended: bool = False


class Stitcher:
    """All segments of one context, at the engine's rate."""

    def __init__(self, rate_hz: int) -> None:
        self._splicer = Splicer(rate_hz)
        self._pause = samples_of(PAUSE_MS, rate_hz)
        self._onset = samples_of(ONSET_MS, rate_hz)
        # silence on the line since the last sound; before the first, only so much is allowed
        self._quiet = self._pause - samples_of(FIRST_PAUSE_MS, rate_hz)
        self._held = EMPTY
        self._trimmed = False
        self._segments: list[_Segment] = []
        self._ready: list[Samples] = []

    @property
    def length(self) -> int:
        """Samples on the line, those held back included."""
        return self._splicer.end

    @property
    def in_segment(self) -> bool:
        """Whether a segment is open."""
        return bool(self._segments) and not self._segments[-1].ended

    def begin(self) -> Samples:
        """Open the next segment."""
        if self.in_segment:
            raise ValueError("expected end_segment() before begin_segment(), got an open segment")
        self._segments.append(_Segment(start=self.length))
        return self._splicer.cut()

    def push(self, samples: Samples) -> Samples:
        """Add samples to the open segment; returns what is ready."""
        if not self.in_segment:
            raise ValueError("expected begin_segment() before push(), got samples of no segment")
        self._segments[-1].pushed += len(samples)
        loud = np.abs(samples) > SILENCE_PEAK
        first = int(loud.argmax()) if len(loud) else 0
        if not len(loud) or not loud[first]:
            self._silence(samples)
        else:
            behind = len(loud) - int(loud[::-1].argmax())
            self._silence(samples[:first])
            self._sound(samples[first:behind])
            self._silence(samples[behind:])
        return self._take_ready()

    def end(self) -> Samples:
        """Close the segment; silence beyond the natural pause is dropped."""
        if not self.in_segment:
            raise ValueError("expected begin_segment() before end_segment(), got no open segment")
        segment = self._segments[-1]
        segment.ended = True
        segment.decided = segment.pushed
        self._held = EMPTY
        self._trimmed = False
        return self._take_ready()

    def silence(self, count: int) -> Samples:
        """Place `count` zero samples between segments."""
        if self.in_segment:
            raise ValueError("expected end_segment() before add_silence(), got an open segment")
        tail = self.close()
        return np.concatenate((tail, self._splicer.silence(count)))

    def close(self) -> Samples:
        """Let go of what is held, faded; the next segment starts without a further pause."""
        self._quiet = self._pause
        return self._splicer.close()

    def segment_start(self, index: int) -> int | None:
        """Line position where segment `index` begins."""
        return self._segments[index].start if 0 <= index < len(self._segments) else None

    def position(self, index: int, sample: int) -> int | None:
        """Line position of a segment's sample, None while it is not decided.

        Trimmed samples are where the line went on without them, and what is crossfaded belongs to
        the older sound. So positions never run backwards, and an answer once given stays true.
        """
        if not 0 <= index < len(self._segments) or sample < 0:
            return None
        segment = self._segments[index]
        if sample > segment.decided and not segment.ended:
            return None
        run = bisect_right(segment.sources, sample) - 1
        if run < 0:
            return segment.start
        place = min(segment.places[run] + sample - segment.sources[run], segment.ends[run])
        return max(place, segment.ends[run - 1] if run else segment.start)

    def _silence(self, samples: Samples) -> None:
        allowed = min(max(0, self._pause - self._quiet), len(samples))
        if len(self._held):
            allowed = 0
        if allowed:
            self._place(samples[:allowed])
            self._quiet += allowed
        if allowed == len(samples):
            return
        held = np.concatenate((self._held, samples[allowed:]))
        segment = self._segments[-1]
        if not segment.sounding and len(held) > self._onset:
            segment.decided += len(held) - self._onset
            held = held[len(held) - self._onset :]
            self._trimmed = True
        self._held = held

    def _sound(self, samples: Samples) -> None:
        if self._trimmed:
            self._ready.append(self._splicer.cut())
            self._trimmed = False
        if len(self._held):
            held, self._held = self._held, EMPTY
            self._place(held)
        self._place(samples)
        self._segments[-1].sounding = True
        self._quiet = 0

    def _place(self, samples: Samples) -> None:
        segment, place = self._segments[-1], self._splicer.length
        drift = place - segment.decided
        if not segment.sources or segment.places[-1] - segment.sources[-1] != drift:
            segment.sources.append(segment.decided)
            segment.places.append(place)
            segment.ends.append(place)
        self._ready.append(self._splicer.append(samples))
        segment.decided += len(samples)
        segment.ends[-1] = place + len(samples)

    def _take_ready(self) -> Samples:
        ready, self._ready = self._ready, []
        if len(ready) == 1:
            return ready[0]
        return np.concatenate(ready) if ready else EMPTY
