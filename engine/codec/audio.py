"""Reads an uploaded recording, of any container and codec that PyAV knows, into mono samples."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from engine.errors import AudioError


def load_reference(
    source: bytes | str | Path, min_seconds: float, max_seconds: float
) -> tuple[NDArray[np.float32], int]:
    """A recording's bytes, or its path -> (samples [n] at the file's own rate, rate in Hz).

    Integer samples are scaled to [-1, 1); channels are averaged; loudness, silence and clipping
    stay as they are. Reading stops once the recording is known to be too long. Raises AudioError
    for bytes that hold no readable sound, and for less than min_seconds or more than max_seconds.
    """
    file = io.BytesIO(source) if isinstance(source, bytes) else str(source)
    pieces: list[NDArray[np.float32]] = []
    samples, rate_hz = 0, 0
    try:
        with av.open(file, metadata_errors="ignore") as container:
            if not container.streams.audio:
                raise AudioError("expected a recording, got a file without an audio stream")
            for mono, rate in _decode(container):
                if rate_hz not in (0, rate):
                    raise AudioError(
                        f"expected one sampling rate, got {rate_hz} Hz, then {rate} Hz"
                    )
                rate_hz = rate
                pieces.append(mono)
                samples += mono.size
                if samples > max_seconds * rate_hz:
                    raise AudioError(
                        f"expected at most {max_seconds:g} s of sound, got more than that"
                    )
    except AudioError:
        raise
    except (av.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AudioError(f"expected a readable recording, got: {reason}") from error
    if not samples or samples < min_seconds * rate_hz:
        got = samples / rate_hz if rate_hz else 0.0
        raise AudioError(f"expected at least {min_seconds:g} s of sound, got {got:.2f} s")
    return np.concatenate(pieces), rate_hz


def _decode(container: av.container.InputContainer) -> Iterator[tuple[NDArray[np.float32], int]]:
    """Blocks of mono samples and their rate, as the file has them."""
    to_float = av.AudioResampler(format="fltp")  # channels and rate stay
    for frame in container.decode(audio=0):
        if not frame.sample_rate:
            raise AudioError("expected a sampling rate in the recording, got none")
        for block in to_float.resample(frame):
            channels: NDArray[np.float32] = block.to_ndarray()  # [channels, n]
            yield channels.mean(axis=0), block.sample_rate
