"""Two light critics of waveforms: one folds time by prime periods, one looks at spectrograms.

Small versions of the ideas of HiFi-GAN (periods; Kong et al. 2020) and UnivNet (resolutions; Jang
et al. 2021), with least-squares losses, sized so that a CPU can afford them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

Features = list[Tensor]
_SLOPE = 0.1


class Critic(nn.Module):
    """A stack of 2-d convolutions; returns every layer's output, the verdicts last."""

    def __init__(
        self, into: int, widths: Sequence[int], kernel: tuple[int, int], stride: tuple[int, int]
    ) -> None:
        super().__init__()
        padding = (kernel[0] // 2, kernel[1] // 2)
        sizes = [into, *widths]
        self.layers = nn.ModuleList(
            weight_norm(nn.Conv2d(a, b, kernel, stride, padding))
            for a, b in zip(sizes[:-1], sizes[1:], strict=True)
        )
        last = (3 if kernel[0] > 1 else 1, 3 if kernel[1] > 1 else 1)
        self.verdict = weight_norm(
            nn.Conv2d(widths[-1], 1, last, padding=(last[0] // 2, last[1] // 2))
        )

    def forward(self, x: Tensor) -> Features:
        """[B, into, ...] -> features."""
        seen: Features = []
        for layer in self.layers:
            x = F.leaky_relu(layer(x), _SLOPE)
            seen.append(x)
        return [*seen, self.verdict(x)]


class Critics(nn.Module):
    """All critics together: waveform [B, samples] -> each one's features."""

    def __init__(
        self,
        periods: Sequence[int] = (2, 3, 5, 7),
        resolutions: Sequence[int] = (256, 512, 1024),
        period_widths: Sequence[int] = (16, 48, 96, 128),
        resolution_widths: Sequence[int] = (16, 24, 32, 32),
    ) -> None:
        super().__init__()
        self.periods, self.resolutions = tuple(periods), tuple(resolutions)
        self.by_period = nn.ModuleList(Critic(1, period_widths, (5, 1), (3, 1)) for _ in periods)
        self.by_resolution = nn.ModuleList(
            Critic(1, resolution_widths, (5, 3), (2, 1)) for _ in resolutions
        )

    def forward(self, wave: Tensor) -> list[Features]:
        """See the class."""
        results = []
        for period, critic in zip(self.periods, self.by_period, strict=True):
            whole = wave.shape[1] // period * period
            results.append(critic(wave[:, :whole].unflatten(1, (-1, period))[:, None]))
        for size, critic in zip(self.resolutions, self.by_resolution, strict=True):
            window = torch.hann_window(size, device=wave.device)
            spectrum = torch.stft(wave.float(), size, size // 4, window=window, return_complex=True)
            results.append(critic((spectrum.abs() + 1e-5).log()[:, None]))
        return results


def critics_loss(real: list[Features], fake: list[Features]) -> Tensor:
    """Real verdicts towards 1, fake ones towards 0."""
    terms = [
        (1 - r[-1].float()).square().mean() + f[-1].float().square().mean()
        for r, f in zip(real, fake, strict=True)
    ]
    return torch.stack(terms).mean()


def generator_losses(real: list[Features], fake: list[Features]) -> tuple[Tensor, Tensor]:
    """Fake verdicts towards 1; and the distance of all inner features, relative to their size."""
    adversarial = torch.stack([(1 - f[-1].float()).square().mean() for f in fake]).mean()
    distances = [
        (a.detach().float() - b.float()).abs().mean()
        / a.detach().float().abs().mean().clamp(min=1e-3)
        for r, f in zip(real, fake, strict=True)
        for a, b in zip(r[:-1], f[:-1], strict=True)
    ]
    return adversarial, torch.stack(distances).mean()
