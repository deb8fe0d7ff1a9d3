"""The decoder's convolutions where all of them are small: engine.codec.layers' arithmetic in tiles.

Same weights, same folding of Snake, other loops (`kernels.tiles`) and another order in memory:
[streams, channels, steps], and so are the histories.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from engine.codec.kernels import dense, tiles
from engine.codec.kernels.dense import Linear
from engine.codec.layers import CausalInput, UnitWeights, snake_alpha
from engine.codec.sizes import KERNEL_STEPS, CodecConfig
from engine.codec.state import Batch, StateLayout
from engine.codec.weights import CodecWeights
from engine.compiled import Floats

# Multiply-adds of a residual unit, a frame and stream, up to which the tiles are quicker than
# oneDNN's convolutions: for 16 streams they are at 0.5 million (16 channels, 256 steps: 0.12 ms
# against 0.15), at 8 million they are not (32 channels, 1024 steps: 1.7 against 1.4).
SMALL_UNIT = 1 << 20


def is_small(config: CodecConfig, device: torch.device) -> bool:
    """Whether every block's residual units are small enough for tiles to pay."""
    steps, works = config.latent_steps, []
    for width, rate in zip(config.decoder_widths[1:], config.decoder_rates, strict=True):
        steps *= rate
        works.append((KERNEL_STEPS + 1) * width * width * steps)
    return dense.can_fuse(device) and max(works, default=0) <= SMALL_UNIT


class NarrowConv:
    """Snake where there is an alpha, then a causal convolution, [B, in, L] -> [B, out, L * rate].

    weight [out * rate, in, taps], bias [out * rate]: channel c * rate + r is step r of every
    `rate` steps of channel c.
    """

    def __init__(
        self,
        layout: StateLayout,
        weight: Tensor,
        bias: Tensor,
        alpha: Tensor | None = None,
        rate: int = 1,
    ) -> None:
        outputs, into, self.taps = weight.shape
        self.out, self.rate = outputs // rate, rate
        self.span = layout.history(self.taps - 1, into)
        self.alpha: Floats = np.empty(0, np.float32)
        if alpha is not None:
            weight, self.alpha = weight / alpha[:, None], alpha.contiguous().numpy()
        self.weight, self.bias = tiles.pack(weight.numpy(), bias.numpy())

    def __call__(self, x: Floats, histories: Floats) -> Floats:
        out = np.empty((x.shape[0], self.out, x.shape[2] * self.rate), np.float32)
        tiles.convolve(
            x, self.alpha, self.weight, self.bias, self.taps, histories, self.span.offset, out
        )
        return out


class NarrowUnit:
    """x + conv1(snake(conv7(snake(x)))) on [B, C, L], in place."""

    def __init__(
        self, layout: StateLayout, weights: CodecWeights, prefix: str, dilation: int
    ) -> None:
        unit = UnitWeights.of(weights, prefix)
        weight = unit.wide / unit.alpha[:, None]
        self.taps, self.dilation = weight.shape[2], dilation
        self.span = layout.history((self.taps - 1) * dilation, weight.shape[1])
        self.alpha: Floats = unit.alpha.contiguous().numpy()
        self.wide = tiles.pack(weight.numpy(), unit.wide_bias.numpy())
        self.narrow = tiles.pack(unit.narrow.numpy(), unit.narrow_bias.numpy())

    def __call__(self, x: Floats, histories: Floats) -> Floats:
        tiles.residual(
            x,
            self.alpha,
            *self.wide,
            self.taps,
            self.dilation,
            *self.narrow,
            histories,
            self.span.offset,
        )
        return x


class ShortConv:
    """Snake where there is an alpha, then a causal convolution, [B, L, in] -> [B, L, out].

    For few steps and few weights: one product, whose rows are overlapping runs of the joined steps.
    """

    def __init__(
        self, layout: StateLayout, weight: Tensor, bias: Tensor, alpha: Tensor | None = None
    ) -> None:
        self.out, into, self.taps = weight.shape
        self.alpha = alpha
        if alpha is not None:
            weight = weight / alpha[:, None]
        self.input = CausalInput(layout, self.taps - 1, into)
        self.linear = Linear(weight.permute(0, 2, 1).reshape(self.out, -1), bias)

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        joined = (
            self.input.join(x, batch)
            if self.alpha is None
            else self.input.join_snake(x, self.alpha, batch)
        )
        streams, steps, into = x.shape
        shape, strides = (streams, steps, self.taps * into), (joined.stride(0), into, 1)
        return self.linear(joined.as_strided(shape, strides).contiguous())


class NarrowWaves:
    """Latents to samples, [B, S, latent_dim] -> [B, S * hop], as engine.codec.decoder.Waves."""

    def __init__(self, layout: StateLayout, weights: CodecWeights) -> None:
        config = weights.config
        first, last = "decoder.model.0.conv", len(config.decoder_rates) + 1
        self.short = [ShortConv(layout, weights.weight(first), weights.bias(first))]
        self.layers: list[NarrowConv | NarrowUnit] = []
        for i, rate in enumerate(config.decoder_rates):
            prefix = f"decoder.model.{i + 1}.block"
            taps, bias, alpha = _upsampling(weights, prefix, rate)
            if i == 0 and config.latent_steps < tiles.VECTOR_STEPS:
                merged = taps.transpose(0, 1).flatten(0, 1)  # [rate * out, in, 2]
                self.short.append(ShortConv(layout, merged, bias.repeat(rate), alpha))
            else:
                merged, repeated = taps.flatten(0, 1), bias.repeat_interleave(rate)
                self.layers.append(NarrowConv(layout, merged, repeated, alpha, rate))
            self.layers += [
                NarrowUnit(layout, weights, f"{prefix}.{unit + 2}", dilation)
                for unit, dilation in enumerate(config.decoder_dilations)
            ]
        alpha = snake_alpha(weights, f"decoder.model.{last}.alpha")
        end = f"decoder.model.{last + 1}.conv"
        self.layers.append(NarrowConv(layout, weights.weight(end), weights.bias(end), alpha))
        self.width = config.decoder_widths[len(self.short) - 1]  # channels behind the short ones

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        for conv in self.short:
            x = conv(x, batch)
        histories = batch.gathered.numpy()
        # the last short one's channels may be steps of fewer channels: [B, L, rate * C]
        steps = x.view(x.shape[0], -1, self.width)
        y: Floats = np.ascontiguousarray(steps.numpy().transpose(0, 2, 1))
        for layer in self.layers:
            y = layer(y, histories)
        return torch.from_numpy(y[:, 0]).tanh_()


def _upsampling(weights: CodecWeights, prefix: str, rate: int) -> tuple[Tensor, Tensor, Tensor]:
    """A block's transposed convolution, kernel 2 rate, and the snake before it.

    Taps [out, rate, in, 2], as engine.codec.layers.SnakeUpsample explains; bias [out]; alpha [in].
    """
    weight, bias = weights.weight(f"{prefix}.1.conv"), weights.bias(f"{prefix}.1.conv")
    now, before = weight[:, :, :rate], weight[:, :, rate:]  # [in, out, rate]
    taps = torch.stack((before, now), dim=-1).permute(1, 2, 0, 3)
    return taps, bias, snake_alpha(weights, f"{prefix}.0.alpha")
