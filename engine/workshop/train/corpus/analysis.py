"""What a recording's vocoder parameters are: envelope and noise by WORLD's analysis, F0 given.

CheapTrick (envelope) and D4C (aperiodicity) by M. Morise, from `pyworld` (MIT, WORLD itself BSD), a
training-time dependency. F0 is the teacher's own: speech copied with it is as good as with the slow
estimate of Harvest, and better than with DIO's (Distill-MOS 4.26, 4.27, 4.06; eight sentences).
"""

from __future__ import annotations

import sys
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.codec.kernels.source_filter import VoiceParameters, bands_to_bins
from engine.codec.sizes import RESPONSE_SAMPLES

_FLOOR = 1e-10  # power: 20 dB below 16-bit rounding
_DEFAULT_F0_HZ = 150.0  # of a recording without voice
_LOWEST_RATE_HZ = 16000


@cache
def _world() -> Any:
    """pyworld, which asks setuptools' pkg_resources for its own version and for nothing else."""
    if "pkg_resources" not in sys.modules:
        stand_in = ModuleType("pkg_resources")
        stand_in.get_distribution = lambda name: SimpleNamespace(version="")  # type: ignore[attr-defined]
        sys.modules["pkg_resources"] = stand_in
        try:
            import pyworld
        finally:
            del sys.modules["pkg_resources"]
    else:
        import pyworld
    return pyworld


@cache
def _from_bins(bands: int, rate_hz: int) -> NDArray[np.float64]:
    """Values at bins @ this = the values at bands that come closest; [bins, bands]."""
    return np.asarray(np.linalg.pinv(bands_to_bins(bands, RESPONSE_SAMPLES // 2 + 1, rate_hz)))


def continued(f0_hz: NDArray[np.floating]) -> NDArray[np.float64]:
    """F0 with what is unvoiced (0) bridged in a straight line."""
    voiced = f0_hz > 0
    if not voiced.any():
        return np.full(len(f0_hz), _DEFAULT_F0_HZ)
    return np.interp(np.arange(len(f0_hz)), np.flatnonzero(voiced), f0_hz[voiced])


def analyse(
    samples: NDArray[np.floating],
    f0_hz: NDArray[np.floating],
    parameters: VoiceParameters,
    hop: int,
    rate_hz: int,
) -> NDArray[np.float32]:
    """Mono samples and F0 [K] (0: unvoiced) at the end of each step of `hop` samples -> [K, size].

    As engine.codec.kernels.source_filter renders them; voicing is 1 or -1. Raises ValueError below
    the rate from which D4C has a band to measure (it would read beyond its memory).
    """
    if rate_hz < _LOWEST_RATE_HZ:
        raise ValueError(f"expected a rate of at least {_LOWEST_RATE_HZ} Hz, got {rate_hz}")
    world = _world()
    # exact silence has no spectrum; noise far below the floor has
    hiss = 1e-7 * np.random.default_rng(0).standard_normal(len(samples))
    wave = samples.astype(np.float64) + hiss
    f0 = f0_hz.astype(np.float64)
    times_s = (np.arange(len(f0)) + 1.0) * hop / rate_hz
    power = world.cheaptrick(wave, f0, times_s, rate_hz, fft_size=RESPONSE_SAMPLES)
    share = np.square(world.d4c(wave, f0, times_s, rate_hz, fft_size=RESPONSE_SAMPLES))
    ratio = np.log(share / (1.0 - share + 1e-6) + 1e-6)
    return np.concatenate(
        [
            np.log(power + _FLOOR) @ _from_bins(parameters.bands, rate_hz),
            ratio @ _from_bins(parameters.noise_bands, rate_hz),
            np.log(continued(f0))[:, None],
            np.where(f0 > 0, 1.0, -1.0)[:, None],
        ],
        axis=1,
    ).astype(np.float32)
