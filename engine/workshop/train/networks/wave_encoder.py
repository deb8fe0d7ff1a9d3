"""The codec's encode path in a form that learns: waveform -> latent, causal, names of codec.pth."""

from __future__ import annotations

from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn

from engine.codec.sizes import KERNEL_STEPS, CodecConfig
from engine.workshop.train.networks.wave_decoder import (
    CausalConv,
    ConvNeXt,
    LatentTransformer,
    ResidualUnit,
    Snake,
)


class StridedConv(nn.Module):
    """Causal convolution that takes one step in `stride`; its weights lie under `.conv`."""

    def __init__(self, into: int, out: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.left = kernel - stride
        self.conv = nn.Conv1d(into, out, kernel, stride)

    def forward(self, x: Tensor) -> Tensor:
        """[B, into, T] -> [B, out, T / stride]."""
        y: Tensor = self.conv(F.pad(x, (self.left, 0)))
        return y


class EncoderBlock(nn.Module):
    """Residual units, then Snake and a strided convolution."""

    def __init__(self, into: int, out: int, stride: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        units = [ResidualUnit(into, dilation) for dilation in dilations]
        self.block = nn.Sequential(*units, Snake(into), StridedConv(into, out, 2 * stride, stride))

    def forward(self, x: Tensor) -> Tensor:
        """[B, into, T] -> [B, out, T / stride]."""
        y: Tensor = self.block(x)
        return y


class WaveEncoder(nn.Module):
    """Waveform [B, T * frame_samples] -> latents [B, T, latent_dim], before the quantisers.

    `encoder.` as in codec.pth; `downsample` and `pre_module` are under `quantizer.` there. Sizes
    without transformers inside the encoder only.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        if not config.has_encoder or any(config.encoder_transformer_layers):
            raise ValueError(
                "expected a codec with an encoder and no transformers in it, got encoder_dim "
                f"{config.encoder_dim}, layers {list(config.encoder_transformer_layers)}"
            )
        self.config = config
        widths, dim = config.encoder_widths, config.latent_dim
        blocks = [
            EncoderBlock(widths[i], widths[i + 1], rate, config.residual_dilations)
            for i, rate in enumerate(config.encoder_rates)
        ]
        self.encoder = nn.ModuleDict()
        self.encoder["block"] = nn.Sequential(
            CausalConv(1, widths[0], KERNEL_STEPS),
            *blocks,
            Snake(widths[-1]),
            CausalConv(widths[-1], dim, 3),
        )
        self.downsample = nn.ModuleList(
            nn.Sequential(
                StridedConv(dim, dim, factor, factor), ConvNeXt(dim, config.layer_norm_eps)
            )
            for factor in config.resample_factors
        )
        self.pre_module = (
            LatentTransformer(config, config.pre_layers) if config.pre_layers else None
        )

    def forward(self, wave: Tensor) -> Tensor:
        """See the class."""
        x = cast(Tensor, self.encoder["block"](wave[:, None]))
        for stage in self.downsample:
            x = stage(x)
        x = x.transpose(1, 2)
        return x if self.pre_module is None else cast(Tensor, self.pre_module(x))
