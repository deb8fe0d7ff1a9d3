"""How far two waveforms are apart, whatever the exact moment of each pitch period.

Codes do not say where in its period a voice stands, so samples cannot be compared one by one; and
spectral magnitudes say nothing of phase, without which a voice sounds hoarse. (A decoder trained on
magnitudes and an hour of light critics: DNSMOS 2.7 for true codes; with the true phase in place of
its own, 3.2; with the true magnitudes, 2.6.) Here each short stretch may be shifted a little before
the two are correlated: what then counts is the shape of the pitch periods and how steadily they
follow each other. Stretches of some eight and some twenty periods ask for an ever steadier pitch.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WINDOWS = (704, 1728)  # samples, 32 and 78 ms at 22.05 kHz; with both shifts, powers of two
SHIFT = 160  # samples either way: two periods of the highest voices, all of the lowest
_EMPHASIS = 0.85  # flattens speech, or its lowest harmonics would be all that counts
_LOUD = 0.02  # effective amplitude from which on a stretch has full weight
_FLOOR = 1e-2


class WaveformDistance(nn.Module):
    """1 - the greatest correlation over all shifts, averaged over stretches by loudness; 0 to 1."""

    def __init__(self) -> None:
        super().__init__()
        for window in WINDOWS:
            self.register_buffer(f"window_{window}", torch.hann_window(window), False)

    def forward(self, made: Tensor, true: Tensor) -> Tensor:
        """Waveforms [B, samples], at least the longest window and two shifts -> scalar."""
        made, true = _emphasised(made), _emphasised(true)
        each = [_distance(made, true, self.get_buffer(f"window_{w}")) for w in WINDOWS]
        return torch.stack(each).mean()


def _emphasised(wave: Tensor) -> Tensor:
    return wave - _EMPHASIS * F.pad(wave, (1, 0))[:, :-1]


def _distance(made: Tensor, true: Tensor, window: Tensor) -> Tensor:
    size = len(window)
    span, hop = size + 2 * SHIFT, size // 2
    places = true.unfold(1, span, hop)  # [B, stretches, span]: where each stretch may lie
    weighted = made[:, SHIFT:-SHIFT].unfold(1, size, hop) * window

    def correlated(short: Tensor, long: Tensor) -> Tensor:
        """sum_k short[k] * long[k + shift], for all shifts that keep `short` inside `long`."""
        product = torch.fft.rfft(short, span).conj() * torch.fft.rfft(long, span)
        return torch.fft.irfft(product, span)[..., : 2 * SHIFT + 1]

    with torch.no_grad():
        energy = correlated(window.square(), places.square()).clamp(min=0.0)
        rms = places[..., SHIFT:-SHIFT].square().mean(-1).sqrt()
        weight = (rms / _LOUD).clamp(max=1.0)
    norm = (weighted.square().sum(-1, keepdim=True) + _FLOOR**2).sqrt() * (energy.sqrt() + _FLOOR)
    best = (correlated(weighted * window, places) / norm).amax(-1)
    return ((1.0 - best) * weight).sum() / (weight.sum() + 1e-3)
