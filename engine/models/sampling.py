"""Drawing tokens as the reference does, for a batch, repeatably.

The reference's filter (the S2-Pro specification, section 8): ranks below top_k whose cumulative
probability, of the *untempered* softmax over all candidates, does not exceed top_p; the token that
crosses the threshold goes too, rank 0 always stays; then the temperature. A draw is
argmax(p / Exp(1)), here in its logarithmic form. The noise is a hash of (seed, step, lane, rank),
so a seed gives the same codes alone, in any batch, and after a retraction.
"""

from __future__ import annotations

import torch
from torch import Tensor

MAX_TOP_K = 64
SEMANTIC_LANE = 0  # residual codebook k uses lane k; the resample of RAS comes after them all

# RAS: the resample of a repeated semantic token is drawn with these
RAS_WINDOW = 10
RAS_TEMPERATURE = 1.0
RAS_TOP_P = 0.9

_M1, _M2, _GOLDEN = 0x2545F4914F6CDD1D, 0x27D4EB2F165667C5, 0x1E3779B97F4A7C15
_UNIT = 2.0**-24


def _mix(x: Tensor) -> Tensor:
    """Avalanche an int64 tensor (xorshift-multiply; the shifts are made logical by a mask)."""
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * _M1
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * _M2
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


def gumbel_noise(seeds: Tensor, steps: Tensor, lanes: int, ranks: int = MAX_TOP_K) -> Tensor:
    """Gumbel noise [B, lanes, ranks], fp32, a pure function of seeds [B] and steps [B] (int64)."""
    row = _mix(_mix(seeds * _GOLDEN + 1) + steps)
    cell = torch.arange(lanes * ranks, device=seeds.device, dtype=torch.int64) * _GOLDEN
    bits = (_mix(row.unsqueeze(1) + cell) >> 24) & 0xFFFFFF
    uniform = (bits.to(torch.float32) + 0.5) * _UNIT
    return -torch.log(-torch.log(uniform)).unflatten(1, (lanes, ranks))


def ranked(logits: Tensor, ranks: int = MAX_TOP_K) -> tuple[Tensor, Tensor, Tensor]:
    """The best columns of logits [B, C], best first: values, column indices and the cumulative
    probability under the softmax over all C; each [B, min(ranks, C)]."""
    logits = logits.float()
    values, indices = logits.topk(min(ranks, logits.shape[-1]), dim=-1)
    total = torch.logsumexp(logits, dim=-1, keepdim=True)
    return values, indices, (values - total).exp().cumsum(dim=-1)


def keep(cumulative: Tensor, top_p: Tensor, top_k: Tensor) -> Tensor:
    """The ranks that the filter leaves: bool [B, ranks]."""
    rank = torch.arange(cumulative.shape[-1], device=cumulative.device)
    kept = (cumulative <= top_p.unsqueeze(-1)) & (rank < top_k.unsqueeze(-1))
    kept[:, 0] = True
    return kept


def pick(
    values: Tensor, indices: Tensor, kept: Tensor, temperature: Tensor, noise: Tensor
) -> Tensor:
    """Draw one column per row of `ranked`, among those `kept`, given noise [B, ranks]. [B]."""
    tempered = values / temperature.clamp(min=1e-5).unsqueeze(-1)
    score = torch.where(kept, tempered + noise[:, : values.shape[-1]], float("-inf"))
    return indices.gather(-1, score.argmax(dim=-1, keepdim=True)).squeeze(-1)


def draw(
    logits: Tensor, temperature: Tensor, top_p: Tensor, top_k: Tensor, noise: Tensor
) -> Tensor:
    """Filter and draw: logits [B, C], per-row settings [B], noise [B, ranks] -> columns [B]."""
    values, indices, cumulative = ranked(logits)
    return pick(values, indices, keep(cumulative, top_p, top_k), temperature, noise)
