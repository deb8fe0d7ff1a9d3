"""One constant gain per voice, so that voices sound equally loud.

Constant, because a gain that follows the speech pumps, colours what the model means to whisper, and
makes the same codes sound different twice. So it is measured once per voice, on any few seconds of
its speech: the active speech level (ITU-T P.56 in spirit: pauses do not count), not weighted by
frequency, as all of it is speech.
"""

from __future__ import annotations

import numpy as np

from gateway.audio.constants import Samples, samples_of

TARGET_DBFS = -23.0  # active speech level; peaks of speech lie 15 to 18 dB above
LIMIT_DB = 9.0  # a voice further off than that is meant to be
PEAK = 0.89  # -1 dBFS: the gain never lifts a peak above it
_BLOCK_MS = 50.0
_ABSOLUTE_GATE = 10.0 ** (-60.0 / 10.0)
_RELATIVE_GATE = 10.0 ** (-16.0 / 10.0)  # P.56 counts what is at most 15.9 dB below the level


def speech_level_dbfs(samples: Samples, rate_hz: int) -> float | None:
    """Mean level of the blocks in which someone speaks; None if there is none."""
    size = samples_of(_BLOCK_MS, rate_hz)
    blocks = samples[: len(samples) // size * size].reshape(-1, size)
    power = np.square(blocks, dtype=np.float64).mean(axis=1)
    power = power[power > _ABSOLUTE_GATE]
    if not len(power):
        return None
    active = power[power > power.mean() * _RELATIVE_GATE]
    return float(10.0 * np.log10(active.mean()))


def voice_gain(samples: Samples, rate_hz: int) -> float:
    """The factor that brings a voice to `TARGET_DBFS`, given some of its speech; 1.0 for silence.

    At most `LIMIT_DB` up or down, and never so much that the given speech would clip.
    """
    level = speech_level_dbfs(samples, rate_hz)
    if level is None:
        return 1.0
    change_db = max(-LIMIT_DB, min(LIMIT_DB, TARGET_DBFS - level))
    headroom = max(1.0, PEAK / float(np.abs(samples).max()))
    return min(float(10.0 ** (change_db / 20.0)), headroom)
