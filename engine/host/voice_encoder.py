"""A recording's bytes -> reference codes. The first recording loads the encoder's weights."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from engine.codec.encoder import Encoder

MIN_SECONDS, MAX_SECONDS = 0.5, 90.0


class VoiceEncoder:
    """Callable as `engine.host.voices.Encode`, from any thread.

    Raises ValueError on audio that is no reference.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._encoder: Encoder | None = None
        self._loading = threading.Lock()

    def __call__(self, audio: bytes) -> NDArray[np.uint16]:
        """The bytes of an audio file -> codes [frames, num_codebooks]."""
        from engine.codec.audio import load_reference

        samples, rate_hz = load_reference(audio, MIN_SECONDS, MAX_SECONDS)
        return self._loaded().encode(samples, rate_hz)

    def _loaded(self) -> Encoder:
        from engine.codec.encoder import Encoder

        with self._loading:
            if self._encoder is None:
                self._encoder = Encoder.from_checkpoint(self._checkpoint)
            return self._encoder
