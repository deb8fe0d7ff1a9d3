"""The codec's causal layers, on [rows, steps, channels], with explicit history (s2pro layout 9.2).

    causal convolution, kernel k, dilation d, stride s:

        history: (k-1) d + 1 - s steps      new: L steps, a multiple of s
        |h h h h h h|x x x x x x x x|  ->  |y y y y y y y y|     last steps become the history

Snake, x + sin^2(a x) / a, is split so that most of it vanishes into neighbouring weights: with
u = a x it is (u + sin^2 u) / a, so `u` comes out of the convolution before (its rows times a) and
1/a goes into the convolution after (its columns divided by a). What is left is two passes.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.codec.config import CodecConfig
from engine.codec.kernels import Conv, Linear
from engine.codec.state import Batch, StateLayout
from engine.codec.weights import CodecWeights

SNAKE_EPSILON = 1e-9
LANES = 64  # an elementwise operation's inner loop should be at least this long


def snake_alpha(weights: CodecWeights, name: str) -> Tensor:
    """alpha [C], kept away from zero: there, as in the limit, snake(x) is x + alpha x^2."""
    alpha = weights.tensor(name).flatten()
    tiny = torch.full_like(alpha, 1e-8)
    return torch.where(alpha.abs() < 1e-8, tiny, alpha)


def snake_scaled(u: Tensor, out: Tensor | None = None) -> Tensor:
    """alpha * snake(x), given u = alpha x."""
    sine = torch.sin(u)
    return torch.addcmul(u, sine, sine, out=out)


class Scale:
    """x * alpha per channel; narrow channels are tiled so that the inner loop stays long."""

    def __init__(self, alpha: Tensor) -> None:
        self.channels = alpha.numel()
        self.tiles = max(1, LANES // self.channels)
        self.alpha = alpha
        self.tiled = alpha.repeat(self.tiles)

    def __call__(self, x: Tensor) -> Tensor:
        if x.shape[1] % self.tiles:
            return x * self.alpha
        return (x.view(x.shape[0], -1, self.tiled.numel()) * self.tiled).view(x.shape)


class CausalInput:
    """The history in front of a causal layer: joins old steps and new ones."""

    def __init__(self, layout: StateLayout, steps: int, channels: int) -> None:
        self.steps = steps
        self.channels = channels
        self.span = layout.history(steps, channels) if steps else None

    def buffer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """An unfilled [B, history + L, C] for new steps like x, and its part for the new steps."""
        joined = x.new_empty(x.shape[0], self.steps + x.shape[1], self.channels)
        return joined, joined[:, self.steps :]

    def exchange(self, joined: Tensor, batch: Batch) -> Tensor:
        """Put the history before the new steps, and remember the last steps for the next call."""
        if self.span is not None:
            history = batch.histories[self.span.index]
            joined[:, : self.steps] = history
            history.copy_(joined[:, joined.shape[1] - self.steps :])
        return joined

    def join(self, x: Tensor, batch: Batch) -> Tensor:
        """[B, L, C] -> [B, history + L, C]."""
        if self.span is None:
            return x
        joined, new = self.buffer(x)
        new.copy_(x)
        return self.exchange(joined, batch)


class CausalConv:
    """[B, L, in] -> [B, L / stride, out]. L is a multiple of stride."""

    def __init__(
        self,
        layout: StateLayout,
        weight: Tensor,
        bias: Tensor,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
    ) -> None:
        _, into, kernel = weight.shape
        self.conv = Conv(weight, bias, stride, dilation, groups)
        self.input = CausalInput(layout, (kernel - 1) * dilation + 1 - stride, into * groups)

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        return self.conv(self.input.join(x, batch))


class SnakeConv:
    """Snake, then a causal convolution; the snake is written straight behind the history."""

    def __init__(
        self,
        layout: StateLayout,
        alpha: Tensor,
        weight: Tensor,
        bias: Tensor,
        stride: int = 1,
        dilation: int = 1,
    ) -> None:
        self.scale = Scale(alpha)
        self.causal = CausalConv(layout, weight / alpha[:, None], bias, stride, dilation)

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        joined, new = self.causal.input.buffer(x)
        snake_scaled(self.scale(x), out=new)
        return self.causal.conv(self.causal.input.exchange(joined, batch))


class SnakeUpsample:
    """Snake, then a causal transposed convolution with kernel 2s and stride s.

    Output step t s + r is w[r] x[t] + w[s + r] x[t-1]: an ordinary convolution with two taps and
    s * out channels, whose channels-last output already is the longer sequence.
    """

    def __init__(
        self, layout: StateLayout, alpha: Tensor, weight: Tensor, bias: Tensor, stride: int
    ) -> None:
        self.out = weight.shape[1]
        now, before = weight[:, :, :stride], weight[:, :, stride:]  # [in, out, s]
        taps = torch.stack((before, now), dim=-1)  # [in, out, s, 2]
        merged = taps.permute(2, 1, 0, 3).reshape(stride * self.out, -1, 2)
        self.conv = SnakeConv(layout, alpha, merged, bias.repeat(stride))

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        y = self.conv(x, batch)  # [B, L, s * out]
        return y.reshape(y.shape[0], -1, self.out)


class ResidualUnit:
    """x + conv1(snake(conv7(snake(x)))). x is given up."""

    def __init__(
        self, layout: StateLayout, weights: CodecWeights, prefix: str, dilation: int
    ) -> None:
        first = snake_alpha(weights, f"{prefix}.block.0.alpha")
        second = snake_alpha(weights, f"{prefix}.block.2.alpha")
        wide, narrow = f"{prefix}.block.1.conv", f"{prefix}.block.3.conv"
        self.wide = SnakeConv(
            layout,
            first,
            weights.weight(wide) * second[:, None, None],
            weights.bias(wide) * second,
            dilation=dilation,
        )
        self.narrow = Conv(weights.weight(narrow) / second[:, None], weights.bias(narrow))

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        u = self.wide(x, batch)
        return self.narrow.add_to(x, snake_scaled(u, out=u))


class ConvNeXt:
    """x + gamma pw2(gelu(pw1(norm(depthwise(x))))); gamma and the norm's affine part are folded."""

    def __init__(self, layout: StateLayout, weights: CodecWeights, prefix: str) -> None:
        config = weights.config
        self.width, self.eps = config.latent_dim, config.layer_norm_eps
        self.depthwise = CausalConv(
            layout,
            weights.weight(f"{prefix}.dwconv.conv"),
            weights.bias(f"{prefix}.dwconv.conv"),
            groups=self.width,
        )
        first, gamma = weights.weight(f"{prefix}.pwconv1"), weights.tensor(f"{prefix}.gamma")
        norm = weights.weight(f"{prefix}.norm"), weights.bias(f"{prefix}.norm")
        self.expand = Linear(first * norm[0], weights.bias(f"{prefix}.pwconv1") + first @ norm[1])
        self.reduce = Linear(
            weights.weight(f"{prefix}.pwconv2") * gamma[:, None],
            weights.bias(f"{prefix}.pwconv2") * gamma,
        )

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        y = F.layer_norm(self.depthwise(x, batch), (self.width,), eps=self.eps)
        return x + self.reduce(F.gelu(self.expand(y)))


class Upsample:
    """A transposed convolution with kernel and stride s: each step becomes s steps, on its own."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        into, self.out, stride = weight.shape
        self.linear = Linear(weight.permute(2, 1, 0).reshape(-1, into), bias.repeat(stride))

    def __call__(self, x: Tensor) -> Tensor:
        return self.linear(x).reshape(x.shape[0], -1, self.out)


def causal_conv(
    layout: StateLayout, weights: CodecWeights, name: str, stride: int = 1
) -> CausalConv:
    """The causal convolution stored under this name."""
    return CausalConv(layout, weights.weight(name), weights.bias(name), stride)


def residual_units(
    layout: StateLayout, weights: CodecWeights, prefix: str, first: int
) -> list[ResidualUnit]:
    """A block's residual units, stored under prefix.first, prefix.(first + 1) ..."""
    config: CodecConfig = weights.config
    return [
        ResidualUnit(layout, weights, f"{prefix}.{first + i}", dilation)
        for i, dilation in enumerate(config.residual_dilations)
    ]
