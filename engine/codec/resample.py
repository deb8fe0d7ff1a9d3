"""Sinc resampling with a Hann window, as the codec's encoder expects it.

The same arithmetic as torchaudio's default (`sinc_interp_hann`, low-pass filter width 6, roll-off
0.99; https://pytorch.org/audio/stable/generated/torchaudio.functional.resample.html), so that
recordings give the codes that the reference gives. The filter is evaluated where output samples
fall, not tabled by phase, so odd pairs of rates need no more memory than usual ones.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

ZERO_CROSSINGS = 6
ROLL_OFF = 0.99
BLOCK_SAMPLES = 1 << 15  # output samples at a time: bounds memory


def resample(samples: NDArray[np.float32], from_hz: int, to_hz: int) -> NDArray[np.float32]:
    """samples [n] -> [ceil(n * to_hz / from_hz)]; the input itself where the rates are equal.

    Raises ValueError for a rate below 1.
    """
    if from_hz < 1 or to_hz < 1:
        raise ValueError(f"expected rates of at least 1 Hz, got {from_hz} and {to_hz}")
    if from_hz == to_hz:
        return samples
    divisor = math.gcd(from_hz, to_hz)
    old, new = from_hz // divisor, to_hz // divisor
    cutoff = min(old, new) * ROLL_OFF  # of the low-pass, in cycles per `old` input samples
    reach = math.ceil(ZERO_CROSSINGS * old / cutoff)  # input samples on each side
    taps = np.arange(-reach, reach + 1)
    padded = np.pad(samples, (reach, reach + 1))
    out = np.empty(-(-samples.size * new // old), dtype=np.float32)
    for start in range(0, out.size, BLOCK_SAMPLES):
        # output n lies at n * old / new input samples: a whole part and a fraction in 1/new
        at = np.arange(start, min(start + BLOCK_SAMPLES, out.size), dtype=np.int64) * old
        whole, fraction = at // new, (at % new) / new
        x = np.clip((taps - fraction[:, None]) / old * cutoff, -ZERO_CROSSINGS, ZERO_CROSSINGS)
        window = np.cos(x * (np.pi / 2 / ZERO_CROSSINGS)) ** 2
        weights = (np.sinc(x) * window * (cutoff / old)).astype(np.float32)
        windows = padded[whole[:, None] + (taps + reach)]
        out[start : start + at.size] = np.einsum("nt,nt->n", windows, weights)
    return out
