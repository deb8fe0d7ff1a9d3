"""Times and levels of the audio chain. Lengths in samples follow from them and a rate."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Samples: TypeAlias = NDArray[np.float32]
"""Mono float32 samples, shape [n], full scale 1.0."""

# Held back while a segment is open, so that the next one can be crossfaded in. One engine frame
# (46 ms) minus this must still fill the resampler's first block and a 20 ms packet.
CROSSFADE_MS = 5.0

# A stream that starts or stops on a sample other than zero would click.
FADE_IN_MS = 2.0
FADE_TAIL_MS = CROSSFADE_MS

# Barge-in and duck. With Opus' 6.5 ms of look-ahead the fade still fits into one 20 ms packet.
FADE_OUT_MS = 10.0
GAIN_RAMP_MS = 13.0

# Longer runs under the threshold are silence, not zero crossings of speech.
SILENCE_DBFS = -50.0
SILENCE_PEAK = 10.0 ** (SILENCE_DBFS / 20.0)

# Silence between two segments' sound, and before the first. The latter is longer than an engine
# frame: a first frame of silence is passed on at once, and only what follows it is trimmed.
PAUSE_MS = 300.0
FIRST_PAUSE_MS = 60.0
# Kept before the sound that ends a trimmed silence: soft onsets lie under the threshold.
ONSET_MS = 20.0

# Where a stretched or resampled stream must have let a 20 ms packet out.
STARTUP_MS = 40.0
STARTUP_PACKET_MS = 20.0


def samples_of(duration_ms: float, rate_hz: int) -> int:
    """`duration_ms` in whole samples at `rate_hz`, rounded to nearest."""
    return round(duration_ms * rate_hz / 1000.0)


def scale_position(position: int, from_hz: int, to_hz: int) -> int:
    """A sample position at another rate: nearest, halves up, in whole numbers (no drift)."""
    return (2 * position * to_hz + from_hz) // (2 * from_hz)
