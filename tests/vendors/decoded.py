"""What a client saved, as samples: any file that PyAV opens, or raw sound of a known kind."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from tests.vendors.conftest import Listener

WORST_WER = 0.1  # over all that a client got
WORST_SENTENCE_WER = 0.34  # one word of a short sentence may be heard as another

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


@dataclass(slots=True)
class Heard:
    """Counts what was heard wrong of all that one client got."""

    listener: Listener
    wrong: float = 0.0
    words: int = 0

    def check(self, sound: Sound, text: str) -> None:
        """The sound says the text, in a plausible time."""
        words = len(text.split())
        assert 0.15 * words < seconds_of(sound) < 0.7 * words, text
        rate = self.listener.word_error_rate(*sound, text)
        assert rate <= WORST_SENTENCE_WER, text
        self.wrong += rate * words
        self.words += words

    def check_all(self) -> None:
        """Over everything: nearly every word is right."""
        assert self.words and self.wrong / self.words <= WORST_WER
