"""The codec's causal layers, on [rows, steps, channels], with explicit history (s2pro layout 9.2).

    causal convolution, kernel k, dilation d, stride s:

        history: (k-1) d + 1 - s steps      new: L steps, a multiple of s
        |h h h h h h|x x x x x x x x|  ->  |y y y y y y y y|     last steps become the history

Snake, x + sin^2(a x) / a, is split so that most of it vanishes into neighbouring weights: with
u = a x it is (u + sin^2 u) / a, so `u` comes out of the convolution before (its rows times a) and
1/a goes into the convolution after (its columns divided by a). What is left is two passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.codec.kernels import dense, fused
from engine.codec.kernels.dense import Conv, Linear
from engine.codec.state import Batch, StateLayout
from engine.codec.weights import CodecWeights


def snake_alpha(weights: CodecWeights, name: str) -> Tensor:
    """alpha [C], kept away from zero: there, as in the limit, snake(x) is x + alpha x^2."""
    alpha = weights.tensor(name).flatten()
    tiny = torch.full_like(alpha, 1e-8)
    return torch.where(alpha.abs() < 1e-8, tiny, alpha)


def scaled_snake(u: Tensor) -> Tensor:
    """alpha * snake(x) in place, given u = alpha x."""
    if dense.can_fuse(u.device):
        fused.snake(u.view(-1).numpy())
        return u
    sine = torch.sin(u)
    return u.addcmul_(sine, sine)


class CausalInput:
    """The history in front of a causal layer: joins old steps and new ones."""

    def __init__(self, layout: StateLayout, steps: int, channels: int) -> None:
        self.steps = steps
        self.channels = channels
        self.span = layout.history(steps, channels) if steps else None

    def join(self, x: Tensor, batch: Batch) -> Tensor:
        """[B, L, C] -> [B, history + L, C]; the last steps become the history."""
        if self.span is None:
            return x
        history = batch.histories[self.span.index]
        joined = torch.cat((history, x), dim=1)
        history.copy_(joined[:, joined.shape[1] - self.steps :])
        return joined

    def join_snake(self, x: Tensor, alpha: Tensor, batch: Batch) -> Tensor:
        """The same for alpha * snake(x). alpha [m]: repeated for long loops. x is contiguous."""
        rows, steps, channels = x.shape
        if not dense.can_fuse(x.device):
            return self.join(scaled_snake(x * alpha[:channels]), batch)
        joined = x.new_empty(rows, self.steps + steps, channels)
        fused.snake_join(
            x.view(rows, -1).numpy(),
            alpha.numpy(),
            batch.gathered.numpy(),
            0 if self.span is None else self.span.offset,
            joined.view(rows, -1).numpy(),
        )
        return joined


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
        self.alpha = alpha.repeat(max(1, fused.LANES // alpha.numel()))
        self.causal = CausalConv(layout, weight / alpha[:, None], bias, stride, dilation)

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        return self.causal.conv(self.causal.input.join_snake(x, self.alpha, batch))


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


@dataclass(frozen=True, slots=True)
class UnitWeights:
    """A residual unit's tensors, the second snake's alpha folded into the convolutions around it.

    `alpha` [C] of the first snake; wide [C, C, taps] and narrow [C, C, 1] with their biases [C].
    """

    alpha: Tensor
    wide: Tensor
    wide_bias: Tensor
    narrow: Tensor
    narrow_bias: Tensor

    @classmethod
    def of(cls, weights: CodecWeights, prefix: str) -> UnitWeights:
        """The unit under this name in the file."""
        second = snake_alpha(weights, f"{prefix}.block.2.alpha")
        wide, narrow = f"{prefix}.block.1.conv", f"{prefix}.block.3.conv"
        return cls(
            snake_alpha(weights, f"{prefix}.block.0.alpha"),
            weights.weight(wide) * second[:, None, None],
            weights.bias(wide) * second,
            weights.weight(narrow) / second[:, None],
            weights.bias(narrow),
        )


class ResidualUnit:
    """x + conv1(snake(conv7(snake(x)))). x is overwritten."""

    def __init__(
        self, layout: StateLayout, weights: CodecWeights, prefix: str, dilation: int
    ) -> None:
        unit = UnitWeights.of(weights, prefix)
        self.wide = SnakeConv(layout, unit.alpha, unit.wide, unit.wide_bias, dilation=dilation)
        self.narrow = Conv(unit.narrow, unit.narrow_bias)

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        u = self.wide(x, batch)
        return self.narrow.add_to(x, scaled_snake(u))


class ConvNeXt:
    """x + gamma pw2(gelu(pw1(norm(depthwise(x))))); gamma and the norm's affine part are folded."""

    def __init__(self, layout: StateLayout, weights: CodecWeights, prefix: str) -> None:
        config = weights.config
        self.width, self.eps = config.latent_dim, config.layer_norm_eps
        depthwise = weights.weight(f"{prefix}.dwconv.conv")
        self.bias = weights.bias(f"{prefix}.dwconv.conv")
        self.depthwise = CausalConv(layout, depthwise, self.bias, groups=self.width)
        self.taps = depthwise.squeeze(1).T.contiguous()  # [kernel, C]
        first, gamma = weights.weight(f"{prefix}.pwconv1"), weights.tensor(f"{prefix}.gamma")
        norm = weights.weight(f"{prefix}.norm"), weights.bias(f"{prefix}.norm")
        self.expand = Linear(first * norm[0], weights.bias(f"{prefix}.pwconv1") + first @ norm[1])
        self.reduce = Linear(
            weights.weight(f"{prefix}.pwconv2") * gamma[:, None],
            weights.bias(f"{prefix}.pwconv2") * gamma,
        )

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        return x + self.reduce(F.gelu(self.expand(self._depthwise_norm(x, batch))))

    def _depthwise_norm(self, x: Tensor, batch: Batch) -> Tensor:
        span = self.depthwise.input.span
        if not dense.can_fuse(x.device) or span is None:
            return F.layer_norm(self.depthwise(x, batch), (self.width,), eps=self.eps)
        y = torch.empty_like(x)
        fused.depthwise_norm(
            x.numpy(),
            self.taps.numpy(),
            self.bias.numpy(),
            batch.gathered.numpy(),
            span.offset,
            self.eps,
            y.numpy(),
        )
        return y


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
    layout: StateLayout,
    weights: CodecWeights,
    prefix: str,
    dilations: Sequence[int],
    first: int,
) -> list[ResidualUnit]:
    """A block's residual units, stored under prefix.first, prefix.(first + 1) ..."""
    return [
        ResidualUnit(layout, weights, f"{prefix}.{first + i}", dilation)
        for i, dilation in enumerate(dilations)
    ]
