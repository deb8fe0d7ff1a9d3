"""Sound from a voice's parameters: pulses and noise, each through a filter that changes with time.

    log F0, voicing -> pulses --(x harmonic filter)--+
                                                     +--> overlap-add -> samples
    noise (a fixed table) -----(x noise filter)------+

How speech comes about: the glottis pulses or the breath hisses, the mouth filters. A step of `hop`
samples has one set of parameters; source samples of a step pass through the filter of the step
before, fading out, and its own, fading in. Both filters are minimum phase, which is a linear
function of the logarithm of their magnitude, so one matrix leads from bands to a complex spectrum.

Measured on the teacher's own parameters (F0 of the network, envelope and aperiodicity by WORLD's
analysis, 80 and 20 bands, 172 steps a second): Distill-MOS 4.26 where the recordings have 4.52.

Strictly causal and exact in pieces: a step's phase increment is rounded to 2^-20 of a cycle, so
that phases are sums without rounding, and sums over overlapping steps always start with the oldest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from engine.codec.kernels.dense import Linear
from engine.codec.sizes import RESPONSE_SAMPLES

N_FFT = RESPONSE_SAMPLES  # 46 ms at 22 kHz: a formant of 50 Hz has died down by 60 dB
NOISE_SAMPLES = 1 << 17  # 6 s at 22 kHz before it repeats
_NOISE_SEED = 20
_LOWEST_HZ, _HIGHEST_HZ = 40.0, 800.0
_GUARD_HZ = 50.0  # the highest harmonic stays so far below half the rate
_PHASE_STEPS = float(1 << 20)
_UNVOICED = 20.0  # log of noise to harmonics where nothing is voiced


def mel(hz: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """The mel scale, 2595 log10(1 + f / 700)."""
    return np.asarray(2595.0 * np.log10(1.0 + np.asarray(hz) / 700.0))


def bands_to_bins(bands: int, bins: int, rate_hz: int) -> NDArray[np.float64]:
    """Linear interpolation between bands, evenly spaced in mel from 0 to half the rate.

    [bands, bins]; values at bands @ this = values at bins.
    """
    at = mel(np.linspace(0.0, rate_hz / 2, bins))
    knots = np.linspace(0.0, float(mel(rate_hz / 2)), bands)
    return np.stack([np.interp(at, knots, row) for row in np.eye(bands)])


def minimum_phase(bands: int, rate_hz: int) -> Tensor:
    """Log magnitudes at bands @ this = complex logarithm of a minimum-phase spectrum.

    complex64 [bands, N_FFT / 2 + 1]. The phase of a minimum-phase filter is the Hilbert transform
    of its log magnitude: in the cepstrum, everything before time 0 is folded onto what is after.
    """
    fine = 8 * N_FFT  # a cepstrum is longer than a response: no wrap-around
    cepstra = np.fft.irfft(bands_to_bins(bands, fine // 2 + 1, rate_hz), axis=1)
    cepstra[:, 1 : fine // 2] *= 2.0
    cepstra[:, fine // 2 + 1 :] = 0.0
    spectra = np.fft.rfft(cepstra, axis=1)[:, :: fine // N_FFT]
    return torch.from_numpy(spectra).to(torch.complex64)


def noise_table() -> Tensor:
    """The noise that every stream reads from its beginning; float32 [NOISE_SAMPLES]."""
    rng = np.random.Generator(np.random.PCG64(_NOISE_SEED))
    return torch.from_numpy(rng.standard_normal(NOISE_SAMPLES, dtype=np.float32))


@dataclass(frozen=True, slots=True)
class VoiceParameters:
    """Where each parameter of a step lies: log power of `bands`, then for `noise_bands` the
    logarithm of noise power to harmonic power, log F0 in Hz, voicing (voiced: above 0).
    """

    bands: int
    noise_bands: int

    @property
    def size(self) -> int:
        """Parameters of a step."""
        return self.bands + self.noise_bands + 2

    def envelope(self, parameters: Tensor) -> Tensor:
        """[..., bands]."""
        return parameters[..., : self.bands]

    def noise(self, parameters: Tensor) -> Tensor:
        """[..., noise_bands]."""
        return parameters[..., self.bands : self.bands + self.noise_bands].contiguous()


Product = Callable[[Tensor], Tensor]


def learned_from(weight: Tensor) -> Product:
    """y = x w^T, with gradients for x; weight [out, in]."""
    return partial(F.linear, weight=weight)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a * b, complex. torch's own rounds differently at the end of a row than inside it."""
    return torch.complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


class Rendered(NamedTuple):
    """segments [B, K, N_FFT], to be added `hop` samples apart; phase [B] behind the last step."""

    segments: Tensor
    phase: Tensor


class SourceFilter:
    """Renders steps of parameters; keeps no state.

    `learns`: gradients reach envelope and noise (never F0 and voicing), at the price of products
    whose last bits depend on how many steps are rendered at once.
    """

    def __init__(
        self,
        parameters: VoiceParameters,
        hop: int,
        rate_hz: int,
        device: torch.device,
        learns: bool = False,
    ) -> None:
        self.parameters, self.hop, self.rate_hz = parameters, hop, rate_hz
        # the two halves of the complex logarithm side by side: [2 (N_FFT / 2 + 1), bands]
        log_spectrum = minimum_phase(parameters.bands, rate_hz).T
        to_spectrum = torch.cat((log_spectrum.real, log_spectrum.imag)).to(device)
        knots = np.linspace(0.0, 1.0, parameters.noise_bands)
        at = np.linspace(0.0, 1.0, parameters.bands)
        widen = np.stack([np.interp(at, knots, row) for row in np.eye(parameters.noise_bands)])
        wider = torch.from_numpy(widen.T).float().to(device)  # [bands, noise_bands]
        self.to_spectrum: Product = learned_from(to_spectrum) if learns else Linear(to_spectrum)
        self.widen: Product = learned_from(wider) if learns else Linear(wider)
        self.rise = ((torch.arange(hop) + 0.5) / hop).to(device)

    def render(self, steps: Tensor, phase: Tensor, noise: Tensor) -> Rendered:
        """steps [B, 1 + K, size], the first being the one before; phase [B] in cycles there;
        noise [B, K, hop].
        """
        harmonic, breath = self._filters(steps)
        pulses, after = self.pulses(steps, phase)
        segments = self._pass(pulses, harmonic) + self._pass(noise, breath)
        return Rendered(torch.fft.irfft(segments, N_FFT), after)

    def _filters(self, steps: Tensor) -> tuple[Tensor, Tensor]:
        """Spectra of the harmonics' and the noise's filters, complex [B, 1 + K, bins] each."""
        envelope, ratio = self.parameters.envelope(steps), self.parameters.noise(steps)
        ratio = torch.where(steps[..., -1:] > 0, self.widen(ratio), _UNVOICED)
        # of the shares of power; this function is one of those that do not depend on their place
        logs = torch.stack((F.logsigmoid(-ratio), F.logsigmoid(ratio)))
        real, imaginary = self.to_spectrum(0.5 * (envelope + logs)).chunk(2, dim=-1)
        spectra = torch.polar(real.exp(), imaginary)
        return spectra[0], spectra[1]

    def _pass(self, source: Tensor, spectra: Tensor) -> Tensor:
        """source [B, K, hop] through the filters of the steps before and of its own."""
        whole = torch.fft.rfft(source, N_FFT)
        rising = torch.fft.rfft(source * self.rise, N_FFT)
        return _product(whole - rising, spectra[:, :-1]) + _product(rising, spectra[:, 1:])

    @torch.no_grad()
    def pulses(self, steps: Tensor, phase: Tensor) -> tuple[Tensor, Tensor]:
        """All harmonics below half the rate at one amplitude, in the power density of unit noise.

        [B, K, hop] and the phase [B] behind them. Closed form of a sum of cosines:
        sum_{h <= H} cos h t = sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2.
        """
        hz = steps[..., -2].double().exp().clamp(_LOWEST_HZ, _HIGHEST_HZ)
        voiced = (steps[..., -1] > 0).double()
        rise = self.rise.double()
        f0_hz = hz[:, :-1, None] + hz.diff(dim=1)[..., None] * rise  # [B, K, hop]
        gain = voiced[:, :-1, None] + voiced.diff(dim=1)[..., None] * rise
        cycles = (f0_hz / self.rate_hz).cumsum(-1)
        each = (cycles[..., -1] * _PHASE_STEPS).round() / _PHASE_STEPS  # [B, K]
        ends = phase.double()[:, None] + each.cumsum(1)
        angle = ((ends - each).frac()[..., None] + cycles).frac() * (2.0 * math.pi)
        highest = ((self.rate_hz / 2 - _GUARD_HZ) / f0_hz).floor() + 0.5
        below = 2.0 * (angle / 2).sin()
        limit = below.abs() < 1e-6  # at the pulse itself: H + 1/2
        ratio = torch.where(limit, highest, (highest * angle).sin() / below.where(~limit, 1.0))
        pulses = (ratio - 0.5) * gain * (4.0 * f0_hz / self.rate_hz).sqrt()
        return pulses.float(), ends[:, -1].frac().float()


def overlap_add(segments: Tensor, tail: Tensor, hop: int) -> tuple[Tensor, Tensor]:
    """segments [B, K, N_FFT], tail [B, N_FFT - hop] of the steps before -> samples [B, K * hop] and
    the new tail. Oldest first, so that pieces sum as the whole does.
    """
    batch, count, _ = segments.shape
    parts = segments.view(batch, count, -1, hop)
    overlap = parts.shape[2]
    total = F.pad(tail.view(batch, overlap - 1, hop), (0, 0, 0, count))
    for part in reversed(range(overlap)):
        total[:, part : part + count] += parts[:, :, part]
    return total[:, :count].flatten(1), total[:, count:].flatten(1)
