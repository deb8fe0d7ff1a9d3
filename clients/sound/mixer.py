"""One session's contexts as one line of samples: for an audio device's callback, or a phone line.

    tail of c1   AAAAAAAA\\
                      \\  A\\ A         contexts lie one behind the other; one that was interrupted
    head of c2          /BBBBBBB...   is faded, and the next begins over its last milliseconds

Push decoded sound as it comes, take it at the pace of the loudspeaker. What has been heard of a
context is counted here, because nobody else knows.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]

FADE_MS = 10.0  # of what `stop` cuts off
KEPT_CONTEXTS = 16


@dataclass(slots=True)
class _Placed:
    """One context on the line. `end`: position where its next sample goes; `count`: so far."""

    end: int
    count: int = 0
    open: bool = True


class Mixer:
    """Mono float32 samples at `rate_hz`. Contexts are named by the `number` of their `started`."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._playhead = 0
        self._ahead: Samples = np.zeros(0, np.float32)  # from the playhead on
        self._placed: OrderedDict[int, _Placed] = OrderedDict()

    @property
    def queued_ms(self) -> float:
        """How much there is to play."""
        return 1000.0 * len(self._ahead) / self._rate_hz

    def begin(self, number: int, crossfade_ms: float = 0.0) -> None:
        """A context has started; `crossfade_ms` as in its event."""
        overlap = round(crossfade_ms * self._rate_hz / 1000.0)
        self._placed[number] = _Placed(self._playhead + max(len(self._ahead) - overlap, 0))
        while len(self._placed) > KEPT_CONTEXTS:
            self._placed.popitem(last=False)

    def push(self, number: int, samples: Samples) -> None:
        """Sound of a context, pre-skip dropped. Ignored when it is unknown, finished or stopped."""
        placed = self._placed.get(number)
        if placed is None or not placed.open:
            return
        start = max(placed.end - self._playhead, 0)
        if (missing := start + len(samples) - len(self._ahead)) > 0:
            self._ahead = np.concatenate((self._ahead, np.zeros(missing, np.float32)))
        self._ahead[start : start + len(samples)] += samples
        placed.end = self._playhead + start + len(samples)
        placed.count += len(samples)

    def finish(self, number: int, total_ms: float) -> None:
        """Nothing of the context follows: `audio_ms` of `done`, or `sent_ms` of `interrupted`.

        What lies behind that is the padding of the last packet, and is dropped.
        """
        placed = self._placed.get(number)
        if placed is None or not placed.open:
            return
        placed.open = False
        padding = max(placed.count - round(total_ms * self._rate_hz / 1000.0), 0)
        placed.count -= padding
        placed.end -= padding
        newest = next(reversed(self._placed.values()))
        if placed is newest:  # otherwise there is sound of the next one over it
            self._ahead = self._ahead[: max(placed.end - self._playhead, 0)]

    def stop(self) -> None:
        """Barge-in: silence after a short fade. What still comes of these contexts is dropped."""
        for number, placed in self._placed.items():
            placed.count = self._played(number)
            placed.end = min(placed.end, self._playhead)
            placed.open = False
        tail = self._ahead[: round(FADE_MS * self._rate_hz / 1000.0)]
        phase = (np.arange(len(tail)) + 0.5) * (np.pi / max(len(tail), 1))
        self._ahead = (tail * (0.5 + 0.5 * np.cos(phase))).astype(np.float32)

    def take(self, count: int) -> Samples:
        """The next `count` samples to be played, silence where there are none."""
        taken, self._ahead = self._ahead[:count], self._ahead[count:]
        self._playhead += count
        return np.concatenate((taken, np.zeros(count - len(taken), np.float32)))

    def played_ms(self, number: int) -> float:
        """How much of a context has been taken: for `playback` and `interrupt`."""
        return 1000.0 * self._played(number) / self._rate_hz

    def _played(self, number: int) -> int:
        placed = self._placed.get(number)
        if placed is None:
            return 0
        ahead = min(max(placed.end - self._playhead, 0), placed.count)
        return placed.count - ahead
