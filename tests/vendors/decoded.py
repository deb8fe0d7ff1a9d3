"""What a client saved, as samples: any file that PyAV opens, or raw sound of a known kind."""

from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

Sound = tuple[NDArray[np.float32], int]  # mono samples, and their rate in Hz


def file_sound(path: Path) -> Sound:
    """A file with a header."""
    return _decode(path, None, {})


def raw_sound(path: Path, rate_hz: int, kind: str = "s16le") -> Sound:
    """Samples without a header; `kind` as PyAV names it (s16le, mulaw, alaw)."""
    return _decode(path, kind, {"sample_rate": str(rate_hz), "channels": "1"})


def seconds_of(sound: Sound) -> float:
    return len(sound[0]) / sound[1]


def _decode(path: Path, kind: str | None, options: dict[str, str]) -> Sound:
    with av.open(io.BytesIO(path.read_bytes()), format=kind, options=options) as file:
        frames = [*file.decode(audio=0)]
    rate_hz = frames[0].sample_rate
    resampler = av.AudioResampler("flt", "mono", rate_hz)
    planes = [out.to_ndarray()[0] for frame in [*frames, None] for out in resampler.resample(frame)]
    return np.concatenate(planes).astype(np.float32), rate_hz
