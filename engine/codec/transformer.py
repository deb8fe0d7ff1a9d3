"""The codec's window-limited causal transformer, with its keys and values in rings.

A ring holds the last W steps: step p lies at p mod W, its key already rotated for its absolute
position p. Positions are absolute because the rotation tables are rounded to bf16, as the model was
trained, and so are not shift invariant: restarting them costs 57 dB of SNR (s2pro layout 9.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.codec.config import CodecConfig
from engine.codec.kernels import Linear
from engine.codec.state import Batch, Span, StateLayout
from engine.codec.weights import CodecWeights


class Rotary:
    """Rotation of adjacent pairs, as complex factors."""

    def __init__(self, config: CodecConfig, device: torch.device) -> None:
        exponents = torch.arange(0, config.head_dim, 2, device=device).float() / config.head_dim
        self.frequencies = 1.0 / (config.rope_base**exponents)

    def factors(self, positions: Tensor) -> Tensor:
        """positions [B, T] -> complex [B, T, 1, head_dim / 2], rounded through bf16."""
        angles = positions[:, :, None, None].float() * self.frequencies
        cosine, sine = angles.cos().bfloat16().float(), angles.sin().bfloat16().float()
        return torch.complex(cosine, sine)


def rotate(x: Tensor, factors: Tensor) -> Tensor:
    """x [B, T, H, D] rotated."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * factors).flatten(-2)


class Steps:
    """Positions of the steps of one call, shared by all layers.

    first [B]: position of each row's first new step. Every row has `count` of them.
    """

    def __init__(
        self, first: Sequence[int], count: int, window: int, rotary: Rotary, batch: Batch
    ) -> None:
        self.count = count
        self.first = torch.tensor(first, device=batch.index.device)[:, None]
        self.positions = self.first + torch.arange(count, device=self.first.device)  # [B, T]
        self.factors = rotary.factors(self.positions)
        self.entries = self.positions % window
        self.ring = torch.arange(window, device=self.first.device)
        self.window = window

    def filled(self) -> Tensor:
        """[B, 1, T, W]: ring entries that hold a step once the new step itself is stored."""
        return (self.ring <= self.positions[:, :, None])[:, None]

    def seen(self) -> Tensor:
        """[B, 1, T, W + T]: entries stored before the call, and new steps, that each may see."""
        before = self.first - 1  # the latest stored position
        stored = before - (before - self.ring) % self.window  # negative: not filled yet
        keys = torch.cat((stored, self.positions), dim=1)[:, None, :]
        queries = self.positions[:, :, None]
        return ((keys >= 0) & (keys <= queries) & (keys > queries - self.window))[:, None]


class Layer:
    """Pre-norm attention and SwiGLU. Norm weights and layer scales are folded into the products."""

    def __init__(
        self,
        layout: StateLayout,
        weights: CodecWeights,
        prefix: str,
        heads: int,
        window: int,
        step_by_step: bool,
    ) -> None:
        config = weights.config
        self.heads, self.eps, self.step_by_step = heads, config.rms_norm_eps, step_by_step
        self.ring: Span = layout.ring(window, heads, config.head_dim)
        norms = [weights.weight(f"{prefix}.{name}") for name in ("attention_norm", "ffn_norm")]
        scales = [
            weights.tensor(f"{prefix}.{name}.gamma")[:, None]
            for name in ("attention_layer_scale", "ffn_layer_scale")
        ]
        feed = f"{prefix}.feed_forward"
        self.qkv = Linear(weights.weight(f"{prefix}.attention.wqkv") * norms[0])
        self.out = Linear(weights.weight(f"{prefix}.attention.wo") * scales[0])
        gate, up = weights.weight(f"{feed}.w1"), weights.weight(f"{feed}.w3")
        self.gate_up = Linear(torch.cat((gate, up)) * norms[1])
        self.down = Linear(weights.weight(f"{feed}.w2") * scales[1])

    def __call__(self, x: Tensor, batch: Batch, steps: Steps) -> Tensor:
        x = x + self.out(self._attend(self._norm(x), batch, steps))
        gate, up = self.gate_up(self._norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)

    def _norm(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), eps=self.eps)

    def _attend(self, x: Tensor, batch: Batch, steps: Steps) -> Tensor:
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, -1))  # [B, T, 3, H, D]
        rotated = rotate(qkv[:, :, :2].flatten(2, 3), steps.factors)
        queries, keys = rotated.split(self.heads, dim=2)
        new = torch.stack((keys, qkv[:, :, 2]), dim=2)  # [B, T, 2, H, D]
        queries = queries.transpose(1, 2)  # [B, H, T, D]
        ring = batch.state.rings[self.ring.index]
        if self.step_by_step:
            y = self._each(queries, new, ring, batch, steps)
        else:
            seen = torch.cat((ring[batch.where], new), dim=1)
            y = _attention(queries, seen, steps.seen())
            ring[batch.index[:, None], steps.entries] = new
        return y.transpose(1, 2).flatten(2)

    def _each(
        self, queries: Tensor, new: Tensor, ring: Tensor, batch: Batch, steps: Steps
    ) -> Tensor:
        """Step after step on the ring alone: the same sums whatever the length of the call."""
        masks = steps.filled()
        outputs = []
        for t in range(steps.count):
            ring[batch.index, steps.entries[:, t]] = new[:, t]
            one = slice(t, t + 1)
            outputs.append(_attention(queries[:, :, one], ring[batch.where], masks[:, :, one]))
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=2)


def _attention(queries: Tensor, seen: Tensor, mask: Tensor) -> Tensor:
    """queries [B, H, T, D], seen [B, S, 2, H, D] (keys and values), mask [B, 1, T, S]."""
    keys, values = seen.transpose(1, 3).unbind(2)
    return F.scaled_dot_product_attention(queries, keys, values, mask)


class WindowTransformer:
    """Layers and a final norm.

    rate: this module's steps per frame. step_by_step: attend to one step at a time, so that chunks
    of any length give bit-equal results; else to a window of steps at once, which is faster.
    """

    def __init__(
        self,
        layout: StateLayout,
        weights: CodecWeights,
        prefix: str,
        *,
        layers: int,
        heads: int,
        window: int,
        rate: int,
        step_by_step: bool,
    ) -> None:
        self.window, self.rate, self.eps = window, rate, weights.config.rms_norm_eps
        self.rotary = Rotary(weights.config, weights.device)
        self.layers = [
            Layer(layout, weights, f"{prefix}.layers.{i}", heads, window, step_by_step)
            for i in range(layers)
        ]
        self.norm = weights.weight(f"{prefix}.norm")

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        """x [B, T, C] -> [B, T, C]. More steps than a window are taken in pieces."""
        first = [frame * self.rate for frame in batch.first_frame]
        pieces = []
        for piece in x.split(self.window, dim=1):
            count = piece.shape[1]
            steps = Steps(first, count, self.window, self.rotary, batch)
            for layer in self.layers:
                piece = layer(piece, batch, steps)
            pieces.append(piece)
            first = [position + count for position in first]
        y = pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=1)
        return F.rms_norm(y, (y.shape[-1],), self.norm, self.eps)
