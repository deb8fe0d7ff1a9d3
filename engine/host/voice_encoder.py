"""A recording's bytes -> reference codes. The first recording loads the encoder's weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from engine.codec.encoder import Encoder

MIN_SECONDS, MAX_SECONDS = 0.5, 90.0


class VoiceEncoder:
    """Callable as `engine.host.voices.Encode`. Raises ValueError on audio that is no reference."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._encoder: Encoder | None = None

    def __call__(self, audio: bytes) -> NDArray[np.uint16]:
        """The bytes of an audio file -> codes [frames, num_codebooks]."""
        from engine.codec.audio import load_reference
        from engine.codec.encoder import Encoder

        samples, rate_hz = load_reference(audio, MIN_SECONDS, MAX_SECONDS)
        if self._encoder is None:
            self._encoder = Encoder.from_checkpoint(self._checkpoint)
        return self._encoder.encode(samples, rate_hz)
