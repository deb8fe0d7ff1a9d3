"""Drawing tokens as the references do, for a batch, repeatably.

Two styles, the two columns of the S2-Pro specification, section 8; a batch may mix them row by row.

"fish", the authors': ranks below top_k whose cumulative probability, of the *untempered* softmax
over all candidates, does not exceed top_p; the token that crosses the threshold goes too, rank 0
always stays; then the temperature. A semantic token among the last ten is drawn again, hotter.
Residual codebooks are drawn in the same way.

"omni", SGLang-Omni's: logits are rounded through bf16; what is among the last 16 tokens is made
less likely; the cumulative probability is that of the softmax over the best top_k only; two equal
tokens among the last four make this one draw hotter. Residual codebooks take the best.

A draw is argmax(p / Exp(1)), here in its logarithmic form. The noise is a hash of (seed, step,
lane, rank), so a seed gives the same codes alone, in any batch, and after a retraction.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

Style = Literal["fish", "omni"]
STYLES: tuple[Style, ...] = get_args(Style)

MAX_TOP_K = 64
SEMANTIC_LANE = 0  # residual codebook k uses lane k; the resample of RAS comes after them all

# repetition-aware sampling: a repetitious draw uses these instead of the request's own
RAS_TEMPERATURE = 1.0
RAS_TOP_P = 0.9
FISH_RAS_WINDOW = 10
OMNI_RAS_WINDOW = 4

OMNI_TOP_K = 30  # the most it knows
OMNI_PENALTY = 1.1
OMNI_PENALTY_WINDOW = 16
HISTORY = max(FISH_RAS_WINDOW, OMNI_RAS_WINDOW, OMNI_PENALTY_WINDOW)

_M1, _M2, _GOLDEN = 0x2545F4914F6CDD1D, 0x27D4EB2F165667C5, 0x1E3779B97F4A7C15
_UNIT = 2.0**-24
_NEVER = float("-inf")


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


def ranked_among_best(logits: Tensor, top_k: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Like `ranked`, the softmax being over each row's best top_k [B] only."""
    values, indices = logits.float().topk(min(MAX_TOP_K, logits.shape[-1]), dim=-1)
    rank = torch.arange(values.shape[-1], device=logits.device)
    best = torch.where(rank < top_k.unsqueeze(-1), values, _NEVER)
    return values, indices, best.softmax(dim=-1).cumsum(dim=-1)


def keep(cumulative: Tensor, top_p: Tensor, top_k: Tensor) -> Tensor:
    """The ranks that the filter leaves: bool [B, ranks]."""
    rank = torch.arange(cumulative.shape[-1], device=cumulative.device)
    top_p = top_p.unsqueeze(-1)
    # a sum that rounds to more than 1 must not drop anything where all was asked for
    kept = ((cumulative <= top_p) | (top_p >= 1)) & (rank < top_k.unsqueeze(-1))
    kept[:, 0] = True
    return kept


def pick(
    values: Tensor, indices: Tensor, kept: Tensor, temperature: Tensor, noise: Tensor
) -> Tensor:
    """Draw one column per row of `ranked`, among those `kept`, given noise [B, ranks]. [B]."""
    tempered = values / temperature.clamp(min=1e-5).unsqueeze(-1)
    score = torch.where(kept, tempered + noise[:, : values.shape[-1]], _NEVER)
    return indices.gather(-1, score.argmax(dim=-1, keepdim=True)).squeeze(-1)


def draw(
    logits: Tensor, temperature: Tensor, top_p: Tensor, top_k: Tensor, noise: Tensor
) -> Tensor:
    """Filter and draw: logits [B, C], per-row settings [B], noise [B, ranks] -> columns [B]."""
    values, indices, cumulative = ranked(logits)
    return pick(values, indices, keep(cumulative, top_p, top_k), temperature, noise)


def draw_fish(
    logits: Tensor,
    history: Tensor,
    step: Tensor,
    settings: tuple[Tensor, Tensor, Tensor],
    noise: tuple[Tensor, Tensor],
) -> Tensor:
    """The authors' semantic draw: a token of the last ten is replaced by a second, hotter draw.

    logits [B, S + 1], the last column being the end; `history` [B, HISTORY]: the columns of
    earlier steps, newest last, of which `step` [B] are real; `settings`: temperature, top_p, top_k;
    `noise` of both draws, each [B, ranks]. -> columns [B].
    """
    temperature, top_p, top_k = settings
    values, indices, cumulative = ranked(logits)
    first = pick(values, indices, keep(cumulative, top_p, top_k), temperature, noise[0])
    hot = keep(cumulative, torch.full_like(top_p, RAS_TOP_P), top_k)
    hot_temperature = torch.full_like(temperature, RAS_TEMPERATURE)
    second = pick(values, indices, hot, hot_temperature, noise[1])
    # the token of the prefill step, the oldest, never enters the reference's window
    age = torch.arange(HISTORY - 1, -1, -1, device=history.device)
    window = age < (step - 1).clamp(max=FISH_RAS_WINDOW).unsqueeze(-1)
    seen = ((history == first.unsqueeze(-1)) & window).any(dim=-1)
    return torch.where(seen & (first < logits.shape[-1] - 1), second, first)


def draw_omni(
    logits: Tensor,
    history: Tensor,
    step: Tensor,
    settings: tuple[Tensor, Tensor, Tensor],
    noise: Tensor,
) -> Tensor:
    """SGLang-Omni's semantic draw; as `draw_fish`, but with one draw's `noise` [B, ranks]."""
    temperature, top_p, top_k = settings
    # the reference rounds what its bf16 head made; here the head may be wider
    penalised = penalise(logits.bfloat16().float(), history, step)
    values, indices, cumulative = ranked_among_best(penalised, top_k)
    last = history[:, -OMNI_RAS_WINDOW:]
    pairs = (last.unsqueeze(1) == last.unsqueeze(2)).sum(dim=(1, 2))
    hot = (pairs > OMNI_RAS_WINDOW) & (step >= OMNI_RAS_WINDOW)
    top_p = torch.where(hot, RAS_TOP_P, top_p)
    temperature = torch.where(hot, RAS_TEMPERATURE, temperature)
    return pick(values, indices, keep(cumulative, top_p, top_k), temperature, noise)


def penalise(logits: Tensor, history: Tensor, step: Tensor) -> Tensor:
    """Make the distinct columns of the last 16 steps less likely, each once. [B, C] -> [B, C]."""
    age = torch.arange(HISTORY - 1, -1, -1, device=history.device)
    real = age < step.clamp(max=OMNI_PENALTY_WINDOW).unsqueeze(-1)
    columns = logits.shape[-1]
    # what is not real marks a column that is cut off again
    marks = torch.zeros(logits.shape[0], columns + 1, dtype=torch.bool, device=logits.device)
    marks.scatter_(1, torch.where(real, history, columns), True)
    lowered = torch.where(logits > 0, logits / OMNI_PENALTY, logits * OMNI_PENALTY)
    return torch.where(marks[:, :columns], lowered, logits)
