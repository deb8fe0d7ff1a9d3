"""The codec's window-limited causal transformer, with its keys and values in rings.

A ring holds the last W steps: step p lies at p mod W, its key already rotated for its absolute
position p. Positions are absolute because the rotation tables are rounded to bf16, as the model was
trained, and so are not shift invariant: restarting them costs 57 dB of SNR (s2pro layout 9.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.codec.kernels import dense, fused
from engine.codec.kernels.dense import Linear
from engine.codec.sizes import CodecConfig
from engine.codec.state import Batch, Span, StateLayout
from engine.codec.weights import CodecWeights

TURNS_AT_FIRST = 2048


class Rotary:
    """Rotation of adjacent pairs: a table of turns that grows with the longest stream."""

    def __init__(self, config: CodecConfig, device: torch.device) -> None:
        exponents = torch.arange(0, config.head_dim, 2, device=device).float() / config.head_dim
        self.frequencies = 1.0 / (config.rope_base**exponents)
        self.turns = self._table(TURNS_AT_FIRST)

    def up_to(self, positions: int) -> Tensor:
        """Cosine and sine [>= positions, head_dim / 2, 2], rounded through bf16."""
        if positions > self.turns.shape[0]:
            self.turns = self._table(2 * positions)
        return self.turns

    def _table(self, positions: int) -> Tensor:
        steps = torch.arange(positions, device=self.frequencies.device).float()
        angles = torch.outer(steps, self.frequencies)
        return torch.stack((angles.cos(), angles.sin()), dim=-1).bfloat16().float()


class Steps:
    """Positions of the steps of one call, shared by all layers.

    first [B]: position of each row's first new step. Every row has `count` of them.
    """

    def __init__(
        self, first: Sequence[int], count: int, window: int, rotary: Rotary, batch: Batch
    ) -> None:
        self.first = np.array(first, dtype=np.int64)
        self.rows = np.array(batch.rows, dtype=np.int64)
        self.turns = rotary.up_to(max(first) + count)
        self.count, self.window = count, window

    def positions(self, device: torch.device) -> Tensor:
        """[B, T]."""
        first = torch.from_numpy(self.first).to(device)
        return first[:, None] + torch.arange(self.count, device=device)

    def seen(self, positions: Tensor) -> Tensor:
        """[B, 1, T, W + T]: entries stored before the call, and new steps, that each may see."""
        before = positions[:, :1] - 1  # the latest stored position
        ring = torch.arange(self.window, device=positions.device)
        stored = before - (before - ring) % self.window  # negative: not filled yet
        keys = torch.cat((stored, positions), dim=1)[:, None, :]
        queries = positions[:, :, None]
        return ((keys >= 0) & (keys <= queries) & (keys > queries - self.window))[:, None]


class Layer:
    """Pre-norm attention and SwiGLU. Norm weights and layer scales are folded into the products."""

    def __init__(
        self, layout: StateLayout, weights: CodecWeights, prefix: str, heads: int, window: int
    ) -> None:
        config = weights.config
        self.heads = heads
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

    def attend(self, normed: Tensor, batch: Batch, steps: Steps) -> Tensor:
        """Attention's branch, [B, T, C] -> [B, T, C]; the new steps are stored."""
        # [B, T, 3, H, D]
        qkv = self.qkv(normed).view(*normed.shape[:2], 3, self.heads, -1)
        ring = batch.state.rings[self.ring.index]
        run = _attend_each if dense.can_fuse(normed.device) else _attend_all
        return self.out(run(qkv, ring, batch, steps).flatten(2))

    def feed(self, normed: Tensor) -> Tensor:
        """SwiGLU's branch, [B, T, C] -> [B, T, C]."""
        gate, up = self.gate_up(normed).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


def _attend_each(qkv: Tensor, ring: tuple[Tensor, Tensor], batch: Batch, steps: Steps) -> Tensor:
    """Step after step on the rings alone, so the same whatever the length of the call."""
    out = qkv.new_empty(qkv.shape[0], qkv.shape[1], *qkv.shape[3:])
    keys, values = ring[0].numpy(), ring[1].numpy()
    turns = steps.turns.numpy()
    fused.attend(qkv.numpy(), turns, keys, values, steps.rows, steps.first, out.numpy())
    return out


def _attend_all(qkv: Tensor, ring: tuple[Tensor, Tensor], batch: Batch, steps: Steps) -> Tensor:
    """All new steps at once, on the rings as they were and on each other."""
    positions = steps.positions(qkv.device)
    turns = torch.view_as_complex(steps.turns)[positions][:, :, None, None]  # [B, T, 1, 1, D / 2]
    pairs = torch.view_as_complex(qkv[:, :, :2].unflatten(-1, (-1, 2)))
    queries, keys = torch.view_as_real(pairs * turns).flatten(-2).unbind(2)
    values = qkv[:, :, 2]  # [B, T, H, D]
    y = F.scaled_dot_product_attention(
        queries.transpose(1, 2),
        torch.cat((ring[0][batch.index], keys.transpose(1, 2)), dim=2),
        torch.cat((ring[1][batch.index], values.transpose(1, 2)), dim=2),
        steps.seen(positions),
    )
    entries = positions % steps.window
    ring[0][batch.index[:, None], :, entries] = keys
    ring[1][batch.index[:, None], :, entries] = values
    return y.transpose(1, 2)


class WindowTransformer:
    """Layers and a final norm. `rate`: this module's steps per frame."""

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
    ) -> None:
        self.window, self.rate, self.eps = window, rate, weights.config.rms_norm_eps
        self.rotary = Rotary(weights.config, weights.device)
        self.layers = [
            Layer(layout, weights, f"{prefix}.layers.{i}", heads, window) for i in range(layers)
        ]
        self.norm = weights.weight(f"{prefix}.norm")

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        """x [B, T, C] -> [B, T, C]. More steps than a window are taken in pieces."""
        first = [frame * self.rate for frame in batch.first_frame]
        pieces = []
        for piece in torch.split(x, self.window, dim=1):
            steps = Steps(first, piece.shape[1], self.window, self.rotary, batch)
            pieces.append(self._run(piece.contiguous(), batch, steps) * self.norm)
            first = [position + steps.count for position in first]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=1)

    def _run(self, x: Tensor, batch: Batch, steps: Steps) -> Tensor:
        """All layers and the final norm, without its weight."""
        total, normed = self._add_norm(x.clone(), torch.zeros_like(x))
        for layer in self.layers:
            total, normed = self._add_norm(total, layer.attend(normed, batch, steps))
            total, normed = self._add_norm(total, layer.feed(normed))
        return normed

    def _add_norm(self, total: Tensor, branch: Tensor) -> tuple[Tensor, Tensor]:
        """(total + branch, the same normalised). total is overwritten."""
        if not dense.can_fuse(total.device):
            total = total + branch
            return total, F.rms_norm(total, (total.shape[-1],), eps=self.eps)
        normed = torch.empty_like(total)
        flat = [t.view(-1, t.shape[-1]).numpy() for t in (total, branch, normed)]
        fused.add_norm(flat[0], flat[1], self.eps, flat[2])
        return total, normed
