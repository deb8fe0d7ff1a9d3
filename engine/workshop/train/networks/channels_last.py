"""The codec's layers on [B, T, C], for training: the tensors and names of codec.pth as in
networks.wave_decoder, without a transposition between any two of them.

Transposing and copying is a third of a small network's step on a CPU; without it, and with the
passes between products fused (`module.compile()`), a step takes 0.4 s of processor time instead of
0.9 (six blocks of 256 channels, 8 x 112 steps, forth and back).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.codec.sizes import CONVNEXT_EXPANSION, KERNEL_STEPS


class Depthwise(nn.Module):
    """One kernel a channel, as a sum of shifted products; its weights lie under `.conv`."""

    def __init__(self, channels: int, causal: bool) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, KERNEL_STEPS, groups=channels)
        before = KERNEL_STEPS - 1 if causal else KERNEL_STEPS // 2
        self.padding = (0, 0, before, KERNEL_STEPS - 1 - before)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        steps = x.shape[1]
        padded = F.pad(x, self.padding)
        taps = self.conv.weight[:, 0].T
        y = padded[:, :steps] * taps[0]
        for k in range(1, KERNEL_STEPS):
            y = y + padded[:, k : k + steps] * taps[k]
        return y if self.conv.bias is None else y + self.conv.bias


class ConvNeXt(nn.Module):
    """x + gamma * pwconv2(gelu(pwconv1(norm(dwconv(x)))))."""

    def __init__(
        self,
        channels: int,
        eps: float = 1e-6,
        causal: bool = True,
        expansion: int = CONVNEXT_EXPANSION,
    ) -> None:
        super().__init__()
        self.dwconv = Depthwise(channels, causal)
        self.norm = nn.LayerNorm(channels, eps=eps)
        self.pwconv1 = nn.Linear(channels, expansion * channels)
        self.pwconv2 = nn.Linear(expansion * channels, channels)
        self.gamma = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        y: Tensor = self.pwconv2(F.gelu(self.pwconv1(self.norm(self.dwconv(x)))))
        return x + self.gamma * y


class Upsample(nn.Module):
    """A transposed convolution whose kernel is its stride: each step becomes `stride` steps."""

    def __init__(self, into: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(into, out, stride, stride)
        self.stride, self.out = stride, out

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, into] -> [B, T * stride, out]."""
        weight = self.conv.weight.permute(2, 1, 0).flatten(0, 1)  # [stride * out, into]
        bias = None if self.conv.bias is None else self.conv.bias.repeat(self.stride)
        return F.linear(x, weight, bias).view(x.shape[0], -1, self.out)


class Downsample(nn.Module):
    """A convolution whose kernel is its stride: `stride` steps become one."""

    def __init__(self, into: int, out: int, stride: int) -> None:
        super().__init__()
        self.linear = nn.Linear(into * stride, out)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T * stride, into] -> [B, T, out]."""
        y: Tensor = self.linear(x.reshape(x.shape[0], -1, self.linear.in_features))
        return y
