"""Spectral features: what the code maker sees and what reconstructions are compared by.

A code frame covers `frame_samples` samples; features come FEATURES_PER_FRAME times a frame, each
window centred on the stretch of samples that it describes.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEATURES_PER_FRAME = 4
LOG_FLOOR = 1e-3  # about -60 dB of full scale: what is quieter is silence to the codes


def mel_filters(bands: int, n_fft: int, rate_hz: int, low_hz: float, high_hz: float) -> Tensor:
    """Triangular filters on the mel scale (2595 log10(1 + f / 700)), area-normalised; [bands,
    bins].
    """

    def mel(hz: float) -> float:
        return 2595.0 * math.log10(1.0 + hz / 700.0)

    points = torch.linspace(mel(low_hz), mel(high_hz), bands + 2, dtype=torch.float64)
    edges = 700.0 * (10.0 ** (points / 2595.0) - 1.0)
    bins = torch.linspace(0, rate_hz / 2, n_fft // 2 + 1, dtype=torch.float64)
    rising = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    filters = torch.minimum(rising, falling).clamp(min=0)
    return (filters / filters.sum(1, keepdim=True).clamp(min=1e-9)).float()


class LogMel(nn.Module):
    """Natural log of mel-band magnitudes; waveform [B, samples] -> [B, bands, samples / hop]."""

    def __init__(self, rate_hz: int, n_fft: int, hop: int, bands: int) -> None:
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft), False)
        self.register_buffer(
            "filters", mel_filters(bands, n_fft, rate_hz, 30.0, rate_hz / 2), False
        )
        self.window: Tensor
        self.filters: Tensor

    def magnitude(self, wave: Tensor) -> Tensor:
        """[B, samples] -> [B, n_fft / 2 + 1, samples / hop]; a full-scale sine has magnitude 1."""
        left = (self.n_fft - self.hop) // 2
        padded = F.pad(wave, (left, self.n_fft - self.hop - left))
        spectrum = torch.stft(
            padded, self.n_fft, self.hop, window=self.window, center=False, return_complex=True
        )
        power = spectrum.real.square() + spectrum.imag.square()
        return (power + 1e-9).sqrt() * (2.0 / self.window.sum())

    def forward(self, wave: Tensor) -> Tensor:
        """[B, samples] -> [B, bands, samples / hop]."""
        return (self.filters @ self.magnitude(wave) * 8.0).clamp(min=LOG_FLOOR).log()


class CodeFeatures(nn.Module):
    """Mel bands for the envelope and single low bins for the harmonics, both logarithmic.

    [B, samples] -> [B, size, FEATURES_PER_FRAME * frames], roughly zero mean and unit variance.
    """

    def __init__(
        self, rate_hz: int, frame_samples: int, bands: int = 80, low_bins: int = 56
    ) -> None:
        super().__init__()
        hop = frame_samples // FEATURES_PER_FRAME
        self.mel = LogMel(rate_hz, 4 * hop, hop, bands)
        self.low_bins = low_bins
        self.size = bands + low_bins

    def forward(self, wave: Tensor) -> Tensor:
        """See the class."""
        magnitude = self.mel.magnitude(wave)
        envelope = (self.mel.filters @ magnitude * 8.0).clamp(min=LOG_FLOOR).log()
        harmonics = magnitude[:, 1 : 1 + self.low_bins].clamp(min=LOG_FLOOR).log()
        return torch.cat([envelope, harmonics], dim=1) / 2.0 + 2.0
