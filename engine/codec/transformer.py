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

Ring = tuple[Tensor, Tensor]


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
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
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

    def unfilled(self) -> Tensor:
        """[T, B, 1, W]: -inf for ring entries that hold no step yet when the new step is stored."""
        empty = self.ring > self.positions.T[:, :, None, None]
        return torch.zeros(empty.shape, device=empty.device).masked_fill_(empty, -torch.inf)

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
        qkv = self.qkv(x).view(x.shape[0], x.shape[1], 3, self.heads, -1)  # [B, T, 3, H, D]
        rotated = rotate(qkv[:, :, :2].flatten(2, 3), steps.factors)
        queries, keys = rotated.transpose(1, 2).chunk(2, dim=1)  # [B, H, T, D]
        values = qkv[:, :, 2].transpose(1, 2)
        ring = batch.state.rings[self.ring.index]
        attend = self._each if self.step_by_step else self._all
        return attend(queries, keys, values, ring, batch, steps).transpose(1, 2).flatten(2)

    def _all(
        self, queries: Tensor, keys: Tensor, values: Tensor, ring: Ring, batch: Batch, steps: Steps
    ) -> Tensor:
        """All new steps at once, on the ring as it was and on each other."""
        old_keys, old_values = ring[0][batch.where], ring[1][batch.where]
        y = F.scaled_dot_product_attention(
            queries,
            torch.cat((old_keys, keys), dim=2),
            torch.cat((old_values, values), dim=2),
            steps.seen(),
        )
        rows = batch.index[:, None]
        ring[0][rows, :, steps.entries] = keys.transpose(1, 2)
        ring[1][rows, :, steps.entries] = values.transpose(1, 2)
        return y

    def _each(
        self, queries: Tensor, keys: Tensor, values: Tensor, ring: Ring, batch: Batch, steps: Steps
    ) -> Tensor:
        """Step after step on the ring alone.

        The sums are the same whatever the length of the call and the other rows in it, to the bit:
        the library's fused attention on a CPU splits its work by the number of rows and threads.
        """
        masks = steps.unfilled()
        outputs = []
        for t in range(steps.count):
            entry = steps.entries[:, t]
            ring[0][batch.index, :, entry] = keys[:, :, t]
            ring[1][batch.index, :, entry] = values[:, :, t]
            outputs.append(
                _attend_one(queries[:, :, t], ring[0][batch.where], ring[1][batch.where], masks[t])
            )
        return torch.stack(outputs, dim=2)


def _attend_one(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """query [B, H, D], keys and values [B, H, W, D], mask [B, 1, W] -> [B, H, D]."""
    heads = query.shape[1]
    flat = query.flatten(0, 1).unsqueeze(1)  # [B H, 1, D]
    bias = mask.expand(-1, heads, -1).reshape(flat.shape[0], 1, -1)
    scale = query.shape[-1] ** -0.5
    scores = torch.baddbmm(bias, flat, keys.flatten(0, 1).transpose(1, 2), alpha=scale)
    return torch.bmm(scores.softmax(dim=-1), values.flatten(0, 1)).view(query.shape)


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
        for piece in torch.split(x, self.window, dim=1):
            count = piece.shape[1]
            steps = Steps(first, count, self.window, self.rotary, batch)
            for layer in self.layers:
                piece = layer(piece, batch, steps)
            pieces.append(piece)
            first = [position + count for position in first]
        y = pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=1)
        return F.rms_norm(y, (y.shape[-1],), self.norm, self.eps)
