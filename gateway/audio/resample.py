"""One rate to another, streaming, by soxr: one filter per context, with state.

soxr filters in blocks, so its sound comes in lumps: at 44.1 -> 8 kHz nothing for the first 80 ms.
A little silence ahead of the stream shifts the blocks, so that the first one is complete when the
first engine frame is in; its outcome is dropped again.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import soxr

from gateway.audio.constants import (
    STARTUP_MS,
    STARTUP_PACKET_MS,
    Samples,
    samples_of,
    scale_position,
)
from gateway.audio.fifo import EMPTY

_QUALITY = "HQ"  # 20 bit; flat to 91 % of the lower band
_PRIMING_LIMIT_MS = 250.0


def _stream(in_hz: int, out_hz: int) -> soxr.ResampleStream:
    return soxr.ResampleStream(in_hz, out_hz, 1, dtype="float32", quality=_QUALITY)


@functools.cache
def priming_samples(in_hz: int, out_hz: int) -> int:
    """Samples of silence to send ahead, found by trying.

    The smallest number that lets a packet of `STARTUP_PACKET_MS` out `STARTUP_MS` into the stream,
    among those that are whole samples at both rates; 0 if none does.
    """
    step = in_hz // math.gcd(in_hz, out_hz)
    step *= max(1, in_hz // 1000 // step)  # about 1 ms: fewer tries
    enough, given = samples_of(STARTUP_PACKET_MS, out_hz), samples_of(STARTUP_MS, in_hz)
    for priming in range(0, samples_of(_PRIMING_LIMIT_MS, in_hz) + 1, step):
        got = len(_stream(in_hz, out_hz).resample_chunk(np.zeros(priming + given, np.float32)))
        if got - priming * out_hz // in_hz >= enough:
            return priming
    return 0


class Resampler:
    """Mono float32 at `in_hz` to the same at `out_hz`; equal rates pass through untouched.

    Sample k of the output is the sound at k / out_hz: the filter's delay is compensated. After
    `finish` exactly `scale_position(samples pushed)` samples have come out.
    """

    def __init__(self, in_hz: int, out_hz: int) -> None:
        if in_hz <= 0 or out_hz <= 0:
            raise ValueError(f"sample rates: expected positive, got {in_hz} and {out_hz}")
        self._in_hz, self._out_hz = in_hz, out_hz
        self._pushed = self._given = 0
        self._stream: soxr.ResampleStream | None = None
        self._drop = 0  # outcome of the priming still to come
        if in_hz != out_hz:
            self._stream = _stream(in_hz, out_hz)
            priming = priming_samples(in_hz, out_hz)
            self._drop = priming * out_hz // in_hz
            if priming:
                self._trim(self._stream.resample_chunk(np.zeros(priming, np.float32)))

    def push(self, samples: Samples) -> Samples:
        """Take samples, return those that are ready."""
        self._pushed += len(samples)
        if self._stream is None or not len(samples):
            return samples
        return self._trim(self._stream.resample_chunk(samples))

    def finish(self) -> Samples:
        """Return the rest."""
        if self._stream is None:
            return EMPTY
        total = scale_position(self._pushed, self._in_hz, self._out_hz)
        missing = total - self._given
        rest = self._trim(self._stream.resample_chunk(EMPTY, last=True))[:missing]
        return np.concatenate((rest, np.zeros(missing - len(rest), np.float32)))

    def _trim(self, samples: Samples) -> Samples:
        if self._drop:
            dropped = min(self._drop, len(samples))
            self._drop -= dropped
            samples = samples[dropped:]
        self._given += len(samples)
        return samples
