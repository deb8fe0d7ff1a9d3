"""Five judges of sound: two that were trained on listeners, three that compare with a recording.

Distill-MOS (naturalness, trained on listeners' opinions) and DNSMOS (how clean) hear one recording;
PESQ, STOI and the log-spectral distance compare it with the one it should equal. The comparing ones
mean something only where both say the same words at the same times. Extra `train`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any

import numpy as np
import soxr
import torch
from numpy.typing import NDArray

from engine.workshop.train.judging.judge import JUDGE_RATE_HZ

Samples = NDArray[np.floating[Any]]

_N_FFT, _HOP = 512, 128  # 32 and 8 ms at the judges' rate
_FLOOR = 1e-4  # of a full-scale sine: what is 80 dB below it is silence to the distance


def _distill_mos() -> Any:
    """The network of `distillmos`, which imports torchaudio and uses it only to read files.

    An empty module of that name is all it needs; a real one, where installed, is left alone.
    """
    try:
        import torchaudio  # noqa: F401
    except ImportError:
        sys.modules["torchaudio"] = ModuleType("torchaudio")
    import distillmos

    return distillmos.ConvTransformerSQAModel().eval()


@dataclass(frozen=True, slots=True)
class Quality:
    """Distill-MOS and DNSMOS overall, 1 to 5; and against a recording, where there is one: PESQ
    wide band, up to 4.64; STOI, up to 1; log-spectral distance in dB.
    """

    distill_mos: float
    dnsmos: float
    pesq: float | None = None
    stoi: float | None = None
    lsd_db: float | None = None


def at_judges_rate(samples: Samples, rate_hz: int) -> NDArray[np.float32]:
    """Mono samples at any rate -> float32 at the judges' rate, within full scale."""
    mono = soxr.resample(samples.astype(np.float64), rate_hz, JUDGE_RATE_HZ)
    return np.clip(mono, -1.0, 1.0).astype(np.float32)


def log_spectral_distance_db(made: Samples, true: Samples) -> float:
    """Root mean square over frequencies of the level's difference in dB, mean over time.

    Both at the judges' rate, of one length; frames that are silent in both are left out.
    """
    window = np.hanning(_N_FFT)

    def levels(samples: Samples) -> NDArray[np.float64]:
        padded = np.pad(samples.astype(np.float64), _N_FFT // 2)
        frames = np.lib.stride_tricks.sliding_window_view(padded, _N_FFT)[::_HOP]
        magnitude = np.abs(np.fft.rfft(frames * window, axis=1)) * 2.0 / window.sum()
        return 20.0 * np.log10(np.maximum(magnitude, _FLOOR))

    a, b = levels(made), levels(true)
    silence = 20.0 * np.log10(_FLOOR)
    heard = (np.maximum(a, b) > silence + 20.0).any(1)
    if not heard.any():
        return 0.0
    return float(np.sqrt(np.square(a - b)[heard].mean(1)).mean())


class Ears:
    """Holds the judges' networks; one thread."""

    def __init__(self) -> None:
        from speechmos import dnsmos

        self._dnsmos = dnsmos.run
        self._distill_mos = _distill_mos()

    def alone(self, samples: Samples, rate_hz: int) -> Quality:
        """Judge a recording by itself. Raises ValueError for one without samples."""
        if not len(samples):
            raise ValueError("expected a recording, got no samples")
        mono = at_judges_rate(samples, rate_hz)
        with torch.inference_mode():
            natural = float(self._distill_mos(torch.from_numpy(mono)[None]))
        return Quality(natural, float(self._dnsmos(mono, sr=JUDGE_RATE_HZ)["ovrl_mos"]))

    def against(self, samples: Samples, true: Samples, rate_hz: int) -> Quality:
        """Judge a recording by itself and against the true one of the same words and times.

        The longer one is cut at the other's end.
        """
        from pesq import pesq
        from pystoi import stoi

        alone = self.alone(samples, rate_hz)
        made, goal = at_judges_rate(samples, rate_hz), at_judges_rate(true, rate_hz)
        length = min(len(made), len(goal))
        made, goal = made[:length], goal[:length]
        return Quality(
            alone.distill_mos,
            alone.dnsmos,
            float(pesq(JUDGE_RATE_HZ, goal, made, "wb")),
            float(stoi(goal, made, JUDGE_RATE_HZ)),
            log_spectral_distance_db(made, goal),
        )


def mean(qualities: Sequence[Quality]) -> dict[str, float]:
    """Means of what all of them have."""
    result = {}
    for field in fields(Quality):
        values = [getattr(quality, field.name) for quality in qualities]
        if values and None not in values:
            result[field.name] = round(float(np.mean(values)), 3)
    return result
