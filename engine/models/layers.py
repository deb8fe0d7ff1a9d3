"""The transformer block that the slow and the fast AR share. Pure torch; nothing of SGLang.

Source of the arithmetic: the S2-Pro specification, slow AR and fast AR. Tokens come flattened
[T, dim]; the caller supplies attention as a function, so the same block runs over SGLang's paged
cache, over the plain loop's contiguous one, and over the fast AR's nine-step one.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.checkpoint.config_json import TransformerConfig
from engine.models.linear import Scheme, load_rows, make_linear

# (layer index, q [T, H, d], k [T, K, d], v [T, K, d]) -> [T, H * d]
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
# The same from what the projection made, heads neither normed nor rotated yet:
# (layer index, [T, H + 2 K, d]) -> [T, H * d]
AttendProjected = Callable[[int, Tensor], Tensor]


def rope_table(positions: int, head_dim: int, base: float) -> Tensor:
    """Complex rotation per position and pair: [positions, head_dim / 2], complex64.

    Cosine and sine are rounded to bf16, as the model was trained; unrounded tables garble speech.
    """
    inverse = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    # fp32 as in the reference: the rounding to bf16 that follows sees the same values
    angle = torch.outer(torch.arange(positions, dtype=torch.float32), inverse.float())
    return torch.complex(
        angle.cos().bfloat16().float().contiguous(), angle.sin().bfloat16().float().contiguous()
    )


def rotate(x: Tensor, turn: Tensor) -> Tensor:
    """Rotate adjacent pairs of x [T, heads, d] by turn [T, d / 2]; in fp32, cast back."""
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turn.unsqueeze(-2)).flatten(-2).to(x.dtype)


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight; the normalised value is rounded to x's dtype first."""

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim), requires_grad=False)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """[..., dim] -> [..., dim]."""
        if x.dtype == torch.float32:
            return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)
        return F.rms_norm(x.float(), (x.shape[-1],), None, self.eps).to(x.dtype) * self.weight


class Attention(nn.Module):
    """Grouped-query attention: one fused projection, optional per-head norm, RoPE."""

    def __init__(self, config: TransformerConfig, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self.heads, self.kv_heads = config.n_head, config.n_local_heads
        self.head_dim, self.eps = config.head_dim, config.norm_eps
        rows = (self.heads + 2 * self.kv_heads) * self.head_dim
        scheme = config.attention_scheme(layer)
        self.wqkv = make_linear(config.dim, rows, scheme)
        self.wo = make_linear(self.heads * self.head_dim, config.dim, scheme)
        self.qk_norm: nn.Parameter | None = None
        if config.attention_qk_norm:
            # one row per head, so that q and k are normalised in one call
            self.qk_norm = nn.Parameter(
                torch.empty(self.heads + self.kv_heads, self.head_dim), requires_grad=False
            )

    def forward(self, x: Tensor, turn: Tensor, attend: Attend) -> Tensor:
        """x [T, dim], turn [T, d / 2] -> [T, dim]."""
        q, k, v = self.project(x, turn)
        out: Tensor = self.wo(attend(self.layer, q, k, v))
        return out

    def compiled(self, x: Tensor, attend: AttendProjected) -> Tensor:
        """The same by a compiled loop that rotates, stores and attends in one."""
        out: Tensor = self.wo(attend(self.layer, self.wqkv(x).unflatten(-1, (-1, self.head_dim))))
        return out

    def project(self, x: Tensor, turn: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x [T, dim] -> rotated q [T, H, d], rotated k [T, K, d], v [T, K, d]."""
        qkv = self.wqkv(x).unflatten(-1, (-1, self.head_dim))
        qk, v = qkv.split((self.heads + self.kv_heads, self.kv_heads), dim=-2)
        if self.qk_norm is not None:
            qk = self._normed(qk, self.qk_norm)
        q, k = rotate(qk, turn).split((self.heads, self.kv_heads), dim=-2)
        return q, k, v

    def _normed(self, qk: Tensor, weight: Tensor) -> Tensor:
        """Unlike the block's norms, rounded once, behind the weight (specification, slow AR)."""
        if qk.dtype == torch.float32:
            return F.rms_norm(qk, (self.head_dim,), None, self.eps) * weight
        normed = F.rms_norm(qk.float(), (self.head_dim,), None, self.eps)
        return (normed * weight.float()).to(qk.dtype)


class FeedForward(nn.Module):
    """SwiGLU; w1 (gate) and w3 (up) are one matrix, gate rows first."""

    def __init__(self, dim: int, hidden: int, scheme: Scheme | None = None) -> None:
        super().__init__()
        self.hidden = hidden
        self.w13 = make_linear(dim, 2 * hidden, scheme)
        self.w2 = make_linear(hidden, dim, scheme)

    def forward(self, x: Tensor) -> Tensor:
        """[T, dim] -> [T, dim]."""
        gate, up = self.w13(x).chunk(2, dim=-1)
        out: Tensor = self.w2(F.silu(gate) * up)
        return out


class Block(nn.Module):
    """Pre-norm transformer block."""

    def __init__(self, config: TransformerConfig, layer: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.dim, config.norm_eps)
        self.attention = Attention(config, layer)
        self.ffn_norm = RMSNorm(config.dim, config.norm_eps)
        self.feed_forward = FeedForward(
            config.dim, config.intermediate_size, config.feed_forward_scheme(layer)
        )

    def forward(self, x: Tensor, turn: Tensor, attend: Attend) -> Tensor:
        """x [T, dim], turn [T, d / 2] -> [T, dim]."""
        x = x + self.attention(self.attention_norm(x), turn, attend)
        out: Tensor = x + self.feed_forward(self.ffn_norm(x))
        return out

    def compiled(self, x: Tensor, attend: AttendProjected) -> Tensor:
        """The same with a compiled attention."""
        x = x + self.attention.compiled(self.attention_norm(x), attend)
        out: Tensor = x + self.feed_forward(self.ffn_norm(x))
        return out


@torch.no_grad()
def load_block_weight(block: Block, name: str, value: Tensor, scale: Tensor | None = None) -> None:
    """Copy a checkpoint tensor, named inside its layer, into the fused parameters of `block`.

    `scale`: of a quantised matrix. Raises KeyError on a name that a block does not have.
    """
    hidden = block.feed_forward.hidden
    matrices = {
        "attention.wqkv.weight": (block.attention.wqkv, slice(None)),
        "attention.wo.weight": (block.attention.wo, slice(None)),
        "feed_forward.w1.weight": (block.feed_forward.w13, slice(0, hidden)),
        "feed_forward.w3.weight": (block.feed_forward.w13, slice(hidden, None)),
        "feed_forward.w2.weight": (block.feed_forward.w2, slice(None)),
    }
    if name in matrices:
        module, rows = matrices[name]
        load_rows(module, rows, value, scale)
        return
    heads = block.attention.heads
    norm = block.attention.qk_norm
    targets: dict[str, Tensor | None] = {
        "attention.q_norm.weight": None if norm is None else norm[:heads],
        "attention.k_norm.weight": None if norm is None else norm[heads:],
        "attention_norm.weight": block.attention_norm.weight,
        "ffn_norm.weight": block.ffn_norm.weight,
    }
    target = targets[name]
    if target is None:
        raise KeyError(f"{name}: the configuration says attention_qk_norm is false")
    target.copy_(value)  # a head norm's one row goes to every head's
