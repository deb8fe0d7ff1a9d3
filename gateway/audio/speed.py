"""Faster or slower without a change of pitch, streaming.

By FFmpeg's `atempo` (WSOLA) in PyAV, which is here anyway: speech keeps its transients, chunks give
exactly the whole, and it lags one window (46 ms). Below half the tempo it has no setting, and above
twice it drops samples instead of blending them; there two of them share the work. Signalsmith's
stretch lags 120 ms and depends on the chunks; the rest of PyPI is files only, GPL, or no longer
kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import av
import av.filter
import numpy as np

from gateway.audio.constants import Samples, samples_of
from gateway.audio.fifo import EMPTY

SPEED_MIN, SPEED_MAX = 0.25, 4.0
_ONE_FILTER = (0.5, 2.0)  # what one filter does well
# FFmpeg's result depends on how its input is cut, by up to 6e-4. An engine's frame is whole blocks.
_BLOCK_SAMPLES = 512
_FLUSH_MS = 100.0  # silence that pushes the last window out of each filter


@contextmanager
def _one_cpu() -> Iterator[None]:
    """Keep libavfilter from starting a thread per CPU for each graph.

    It counts the CPUs that this thread may use, and PyAV has no setting for it.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def check_speed(speed: float) -> None:
    """Raise ValueError unless `speed` can be had."""
    if not SPEED_MIN <= speed <= SPEED_MAX:
        raise ValueError(f"speed: expected {SPEED_MIN} to {SPEED_MAX}, got {speed}")


def stretched_position(sample: int, speed: float) -> int:
    """Where a sample of the input lies in the output, within a window of its true place."""
    return sample if speed == 1.0 else round(sample / speed)


class Stretcher:
    """One segment's tempo: 1.0 passes through untouched.

    After `finish` exactly `stretched_position(samples pushed)` samples have come out.
    """

    def __init__(self, rate_hz: int, speed: float) -> None:
        check_speed(speed)
        self._speed = speed
        self._rate_hz = rate_hz
        self._pushed = self._given = 0
        self._held = EMPTY  # too little for a block
        self._source: av.filter.context.FilterContext | None = None
        low, high = _ONE_FILTER
        self._tempos = (speed,) if low <= speed <= high else (speed**0.5,) * 2
        if speed != 1.0:
            self._build()

    def _build(self) -> None:
        with _one_cpu():
            self._graph = av.filter.Graph()  # it owns the filters
            source = self._graph.add_abuffer(
                sample_rate=self._rate_hz,
                format="flt",
                layout="mono",
                time_base=Fraction(1, self._rate_hz),
            )
            end: av.filter.context.FilterContext = source
            for tempo in self._tempos:
                filtered = self._graph.add("atempo", f"{tempo:.6f}")
                end.link_to(filtered)
                end = filtered
            self._sink = self._graph.add("abuffersink")
            end.link_to(self._sink)
            self._graph.configure()
        self._source = source

    def push(self, samples: Samples) -> Samples:
        """Take samples, return those that are ready."""
        self._pushed += len(samples)
        if self._source is None or not len(samples):
            return samples
        held = np.concatenate((self._held, samples))
        whole = len(held) // _BLOCK_SAMPLES * _BLOCK_SAMPLES
        self._held = held[whole:]
        parts = []
        for start in range(0, whole, _BLOCK_SAMPLES):
            self._send(held[start : start + _BLOCK_SAMPLES])
            parts.append(self._receive())
        return np.concatenate(parts) if parts else EMPTY

    def finish(self) -> Samples:
        """Return the rest; nothing may be pushed afterwards."""
        if self._source is None:
            return EMPTY
        flush_ms = _FLUSH_MS * (1 + sum(self._tempos[1:]))  # what the second one is given
        silence = np.zeros(samples_of(flush_ms, self._rate_hz), np.float32)
        self._send(np.concatenate((self._held, silence)))
        self._held = EMPTY
        self._source.push(None)
        missing = stretched_position(self._pushed, self._speed) - self._given
        rest = self._receive()[: max(0, missing)]
        return np.concatenate((rest, np.zeros(max(0, missing - len(rest)), np.float32)))

    def _send(self, samples: Samples) -> None:
        assert self._source is not None
        frame = av.AudioFrame.from_ndarray(samples[None, :], format="flt", layout="mono")
        frame.sample_rate = self._rate_hz
        self._source.push(frame)

    def _receive(self) -> Samples:
        parts = []
        while True:
            try:
                parts.append(self._sink.pull().to_ndarray()[0])
            except (av.error.BlockingIOError, av.error.EOFError):
                break
        ready = np.concatenate(parts) if parts else EMPTY
        self._given += len(ready)
        return ready
