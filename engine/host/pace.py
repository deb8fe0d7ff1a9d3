"""Whether one more stream may start without a running one running dry. Pure; time is passed in.

A batch makes one frame for every stream in a step, and a listener needs one every `frame_ms`. Two
things can starve who runs already, and each is held back by what is measured, not configured:

- More streams make every step longer. The step's time is fitted as a line over the number of
  streams, times what the last few steps took beyond it, which is other load on the machine; a
  stream is let in only while the step with it would stay below `HEADROOM` of a frame. Past this
  limit streams wait, whatever slots are free.
- A start costs everybody else its prefill. Streams run ahead of their listeners as far as the
  engine is faster than real time, so as many may start at once as the shortest lead can pay for,
  at what a start has lately cost; one frame and `SLACK_MS` where nothing plays yet.

Nobody waits when nothing runs. A stream's lead is what it has made less the time since its first
frame came, which is when its listener began, or later.
"""

from __future__ import annotations

from dataclasses import dataclass

HEADROOM = 0.85
NEGLIGIBLE = 0.01
SLACK_MS = 40.0  # half of the longest gap, 100 ms, that listeners are to meet

_STEPS_REMEMBERED = 4096  # by the line; few would leave its slope to chance
_STEPS_AVERAGED = 8  # by the load
_STARTS_REMEMBERED = 4
_S_TO_MS = 1000.0


@dataclass(slots=True)
class _Stream:
    started_s: float
    starters: int  # streams that were starting then, itself included
    first_s: float | None = None
    last_s: float = 0.0
    frames: int = 0


class Line:
    """y = a + b x by least squares over recent points; b is never negative."""

    def __init__(self, remembered: float) -> None:
        self._fade = 1.0 - 1.0 / remembered
        self._weight = self._x = self._y = self._xx = self._xy = 0.0

    def add(self, x: float, y: float, weight: float) -> None:
        """Take a point, letting older ones fade by as much as this one weighs."""
        fade = self._fade**weight
        self._weight = self._weight * fade + weight
        self._x = self._x * fade + weight * x
        self._y = self._y * fade + weight * y
        self._xx = self._xx * fade + weight * x * x
        self._xy = self._xy * fade + weight * x * y

    @property
    def slope(self) -> float:
        """b; where all points had one x, the most it can be: y / x."""
        if not self._weight:
            return 0.0
        x, y = self._x / self._weight, self._y / self._weight
        variance = self._xx / self._weight - x * x
        if variance < 1e-6:
            return y / x
        return max(0.0, (self._xy / self._weight - x * y) / variance)

    def at(self, x: float) -> float:
        """The line's y there; 0 before any point."""
        if not self._weight:
            return 0.0
        return self._y / self._weight + self.slope * (x - self._x / self._weight)


class Pace:
    """The streams of one worker. All times are seconds of one monotonic clock."""

    def __init__(self, frame_ms: float) -> None:
        self._frame_ms = frame_ms
        self._streams: dict[str, _Stream] = {}
        self._step_ms = Line(_STEPS_REMEMBERED)
        self._load = 1.0  # the last steps' time over the line's
        self._start_ms = 0.0

    def step_ms(self, streams: int) -> float:
        """What a step for so many takes now; 0 before any was seen."""
        return self._load * self._step_ms.at(streams)

    def start(self, stream: str, now_s: float) -> None:
        """A stream was let in."""
        starters = 1 + sum(other.first_s is None for other in self._streams.values())
        self._streams[stream] = _Stream(now_s, starters)

    def frames(self, stream: str, count: int, now_s: float) -> None:
        """A stream has made frames; unknown streams are ignored."""
        found = self._streams.get(stream)
        if found is None:
            return
        if found.first_s is None:
            found.first_s = now_s
            cost_ms = (now_s - found.started_s) * _S_TO_MS / found.starters
            weight = 1.0 / _STARTS_REMEMBERED if self._start_ms else 1.0
            self._start_ms += (cost_ms - self._start_ms) * weight
        else:
            self._stepped((now_s - found.last_s) * _S_TO_MS / count)
        found.last_s = now_s
        found.frames += count

    def end(self, stream: str) -> None:
        """A stream is over. Idempotent."""
        self._streams.pop(stream, None)

    def lead_ms(self, stream: str, now_s: float) -> float | None:
        """Sound that its listener has and has not heard yet; None before the first frame."""
        found = self._streams[stream]
        if found.first_s is None:
            return None
        return found.frames * self._frame_ms - (now_s - found.first_s) * _S_TO_MS

    def may_start(self, now_s: float) -> bool:
        """Whether one more stream may start now."""
        if not self._streams:
            return True
        return self._step_has_room() and self._leads_pay(now_s)

    def _stepped(self, step_ms: float) -> None:
        running = self._playing()  # each step is seen once by every stream
        expected_ms = self._step_ms.at(running)
        if expected_ms > 0:
            weight = 1.0 / (_STEPS_AVERAGED * running)
            self._load += (step_ms / expected_ms - self._load) * weight
        self._step_ms.add(running, step_ms, 1.0 / running)

    def _playing(self) -> int:
        return sum(stream.first_s is not None for stream in self._streams.values())

    def _step_has_room(self) -> bool:
        streams = len(self._streams)
        added = streams + 1 - self._playing()
        if added * self._load * self._step_ms.slope <= NEGLIGIBLE * self._frame_ms:
            return True  # holding anybody back would help nobody
        return self.step_ms(streams + 1) <= HEADROOM * self._frame_ms

    def _leads_pay(self, now_s: float) -> bool:
        leads = [self.lead_ms(stream, now_s) for stream in self._streams]
        known = [lead for lead in leads if lead is not None]
        shortest = min(known, default=self._frame_ms)
        starting = len(leads) - len(known)
        return (starting + 1) * self._start_ms <= shortest + SLACK_MS
