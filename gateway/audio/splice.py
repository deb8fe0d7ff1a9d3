"""Join runs of samples into one line without a click.

    ...AAAAAAAAA\\
               /\\            the last samples of A are held back until it is known
              /  BBBBBBB...   whether B follows; then both are crossfaded

Every join overlaps by exactly what is held: the line's length is known when the cut is made.
"""

from __future__ import annotations

import numpy as np

from gateway.audio.constants import CROSSFADE_MS, FADE_IN_MS, FADE_TAIL_MS, Samples, samples_of
from gateway.audio.fifo import EMPTY


def rising(count: int) -> Samples:
    """Raised cosine from 0 to 1 over `count` samples, both ends excluded."""
    phase = (np.arange(count) + 0.5) * (np.pi / count) if count else np.zeros(0)
    return (0.5 - 0.5 * np.cos(phase)).astype(np.float32)


def complement(gains: Samples) -> Samples:
    """Gains that keep the power constant beside these, for sounds that are unrelated."""
    gains_beside: Samples = np.sqrt(1.0 - gains * gains)
    return gains_beside


def crossfade(tail: Samples, head: Samples) -> Samples:
    """Blend two runs of the same length, from `tail` to `head`, at constant power.

    Gains a = cos, b = sin keep the power of unrelated signals; two alike ones would swell by 3 dB.
    So the pair is divided by the norm it has at the measured correlation r of the two runs,
    sqrt(a^2 + b^2 + 2 r a b): equal power at r = 0, and a seamless line where both are the same.
    """
    quarter = (np.arange(len(tail)) + 0.5) * (np.pi / 2 / max(1, len(tail)))
    out_gain, in_gain = np.cos(quarter), np.sin(quarter)
    energy = float(np.dot(tail, tail)) * float(np.dot(head, head))
    correlation = float(np.dot(tail, head)) / energy**0.5 if energy > 0.0 else 0.0
    norm = np.sqrt(1.0 + 2.0 * min(1.0, max(0.0, correlation)) * out_gain * in_gain)
    return np.asarray((out_gain * tail + in_gain * head) / norm, np.float32)


class Splicer:
    """One line of samples at one rate. `length` is where on it the next sample will be placed."""

    def __init__(self, rate_hz: int) -> None:
        self._hold = samples_of(CROSSFADE_MS, rate_hz)
        self._fade_in = rising(samples_of(FADE_IN_MS, rate_hz))
        self._fade_tail = rising(samples_of(FADE_TAIL_MS, rate_hz))[::-1]
        self._tail = EMPTY
        self._head: Samples | None = None  # what came since a cut, until it covers the tail
        self._since_start = 0
        self.length = 0

    def cut(self) -> Samples:
        """What is appended next replaces the held tail in a crossfade; returns what is ready."""
        if self._head is not None and not len(self._head):
            return EMPTY
        ready = self._resolve()
        if len(self._tail):
            self._head = EMPTY
            self.length -= len(self._tail)
        return ready

    def silence(self, count: int) -> Samples:
        """Place `count` exact zeros. Only after `close`."""
        self.length += count
        return np.zeros(count, np.float32)

    @property
    def end(self) -> int:
        """Position behind the last sample of the line, held ones included."""
        if self._head is None:
            return self.length
        return self.length + max(0, len(self._tail) - len(self._head))

    def append(self, samples: Samples) -> Samples:
        """Place samples at the end of the line; returns those that are ready."""
        if self._since_start < len(self._fade_in):
            ramp = self._fade_in[self._since_start : self._since_start + len(samples)]
            samples = samples.copy()
            samples[: len(ramp)] *= ramp
            self._since_start += len(samples)
        self.length += len(samples)
        if self._head is None:
            return self._hold_back(np.concatenate((self._tail, samples)))
        self._head = np.concatenate((self._head, samples))
        return self._resolve() if len(self._head) >= len(self._tail) else EMPTY

    def close(self) -> Samples:
        """Nothing follows: everything held, its end faded. What comes next starts from silence."""
        ready = self._resolve()
        tail = self._tail.copy()
        ramp = self._fade_tail[max(0, len(self._fade_tail) - len(tail)) :]
        if len(tail) < len(self._fade_tail):  # a very short run: a ramp of its own
            ramp = rising(len(tail))[::-1]
        tail[len(tail) - len(ramp) :] *= ramp
        self._tail = EMPTY
        self._since_start = 0
        return np.concatenate((ready, tail))

    def _resolve(self) -> Samples:
        """Blend what came since the last cut into the tail."""
        if self._head is None:
            return EMPTY
        tail, head, self._head = self._tail, self._head, None
        self._tail = EMPTY
        if (missing := len(tail) - len(head)) > 0:  # less came than is held: it fades by itself
            head = np.concatenate((head * rising(len(head))[::-1], np.zeros(missing, np.float32)))
            self.length += missing
        overlap = len(tail)
        return self._hold_back(np.concatenate((crossfade(tail, head[:overlap]), head[overlap:])))

    def _hold_back(self, samples: Samples) -> Samples:
        split = max(0, len(samples) - self._hold)
        self._tail = samples[split:]
        return samples[:split]
