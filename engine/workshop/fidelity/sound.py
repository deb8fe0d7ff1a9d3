"""The codec's part of the gate: streamed frame by frame against decoded in one piece."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.codec.decoder import StreamingDecoder
from engine.codec.weights import load_codec

_SILENCE_DB = 300.0  # what stands for infinity, so that a report is plain JSON


def snr_db(reference: NDArray[np.float32], candidate: NDArray[np.float32]) -> float:
    """Signal to noise of `candidate`, samples of any shape; 300 at most.

    NaN if either is not finite. Raises ValueError when the shapes differ.
    """
    if reference.shape != candidate.shape:
        raise ValueError(f"expected samples {reference.shape}, got {candidate.shape}")
    signal = float(np.square(reference, dtype=np.float64).sum())
    noise = float(np.square(reference.astype(np.float64) - candidate).sum())
    if not math.isfinite(signal) or not math.isfinite(noise):
        return math.nan
    if noise == 0:
        return _SILENCE_DB
    return min(_SILENCE_DB, 10 * math.log10(signal / noise)) if signal else -_SILENCE_DB


def stream(decoder: StreamingDecoder, codes: NDArray[np.int64]) -> NDArray[np.float32]:
    """Codes [T, N] -> samples, one frame a call, as a listener gets them."""
    slot = decoder.allocate()
    try:
        pieces = [decoder.decode([slot], frame[None, None])[0] for frame in codes]
    finally:
        decoder.free(slot)
    return np.concatenate(pieces)


def stream_snr_db(
    candidate: Path, reference: Path, sayings: list[NDArray[np.int64]], device: str
) -> float:
    """The worst saying: the candidate's codec in a stream on `device`, the reference's in one piece
    on the CPU. Each saying is codes [T, N]. Raises CheckpointError if a codec cannot be used.
    """
    streaming = StreamingDecoder(load_codec(candidate, device), max_slots=1)
    whole = StreamingDecoder(load_codec(reference), max_slots=1)
    if streaming.config.frame_samples != whole.config.frame_samples:
        return -_SILENCE_DB  # another codec altogether
    return min(snr_db(whole.decode_whole(codes), stream(streaming, codes)) for codes in sayings)
