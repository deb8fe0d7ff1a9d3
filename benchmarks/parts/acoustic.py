"""An acoustic aligner: PocketSphinx finds known words in a recording. Extra `train`.

It needs the whole recording and speaks English only, so the gateway cannot use it; it tells how
well the gateway does without.
"""

from __future__ import annotations

import re

import numpy as np
import soxr
from numpy.typing import NDArray

RATE_HZ = 16_000
_FRAME_MS = 10.0


class AcousticAligner:
    """Forced alignment with PocketSphinx's English model."""

    def __init__(self) -> None:
        from pocketsphinx import Decoder

        self._decoder = Decoder(samprate=RATE_HZ, loglevel="FATAL")

    def align(
        self, samples: NDArray[np.float32], rate_hz: int, text: str
    ) -> list[tuple[float, float]] | None:
        """Start and end of each word of `text` in ms.

        None when the dictionary lacks one of the words, or the recording does not fit the text.
        """
        words = [re.sub(r"[^a-z']", "", word) for word in text.lower().split()]
        if not all(word and self._decoder.lookup_word(word) for word in words):
            return None
        sound = np.clip(soxr.resample(samples, rate_hz, RATE_HZ), -1.0, 1.0)
        self._decoder.set_align_text(" ".join(words))
        self._decoder.start_utt()
        self._decoder.process_raw((32767 * sound).astype("<i2").tobytes(), full_utt=True)
        self._decoder.end_utt()
        found = [
            (_FRAME_MS * piece.start_frame, _FRAME_MS * (piece.end_frame + 1))
            for piece in self._decoder.seg() or ()
            if not piece.word.startswith(("<", "["))
        ]
        return found if len(found) == len(words) else None
