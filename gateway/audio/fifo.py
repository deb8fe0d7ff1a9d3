"""A queue of samples that never copies what it holds more than once."""

from __future__ import annotations

from collections import deque

import numpy as np

from gateway.audio.constants import Samples

EMPTY: Samples = np.zeros(0, np.float32)


class SampleFifo:
    """Chunks in, runs of any length out. `len()` is the number of samples inside."""

    def __init__(self) -> None:
        self._chunks: deque[Samples] = deque()
        self._offset = 0  # samples of the first chunk that are gone
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def push(self, samples: Samples) -> None:
        """Append; the array must not be changed afterwards."""
        if len(samples):
            self._chunks.append(samples)
            self._length += len(samples)

    def take(self, count: int) -> Samples:
        """Remove and return the first `count` samples, or all if there are fewer."""
        count = min(count, self._length)
        parts: list[Samples] = []
        missing = count
        while missing:
            first = self._chunks[0]
            part = first[self._offset : self._offset + missing]
            parts.append(part)
            missing -= len(part)
            self._offset += len(part)
            if self._offset == len(first):
                self._chunks.popleft()
                self._offset = 0
        self._length -= count
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else EMPTY

    def clear(self) -> None:
        """Drop everything."""
        self._chunks.clear()
        self._offset = 0
        self._length = 0
