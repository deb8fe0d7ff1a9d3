"""float32 <-> 16-bit samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gateway.audio.constants import Samples

FULL_SCALE = 32_768.0


def to_int16(samples: Samples) -> NDArray[np.int16]:
    """Rounded to nearest and clipped; never wraps. Little-endian."""
    scaled = np.rint(samples * np.float32(FULL_SCALE))
    clipped: NDArray[np.float32] = np.clip(scaled, -FULL_SCALE, FULL_SCALE - 1.0, out=scaled)
    return clipped.astype("<i2")


def from_int16(samples: NDArray[np.int16]) -> Samples:
    """Full scale becomes 1.0."""
    return samples.astype(np.float32) / np.float32(FULL_SCALE)


def from_bytes(pcm: bytes) -> Samples:
    """float32 little-endian bytes as samples; what is not a number becomes silence.

    Raises:
        ValueError: not a whole number of samples.
    """
    if len(pcm) % 4:
        raise ValueError(f"pcm: expected whole float32 samples of 4 bytes, got {len(pcm)} bytes")
    samples = np.frombuffer(pcm, "<f4")
    if len(samples) and not np.isfinite(np.dot(samples, samples)):
        # a filter with state would never recover from one such sample
        samples = np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0)
    return samples
