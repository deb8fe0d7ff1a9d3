"""One frame of a model that has no checkpoint: a random prompt through both transformers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.checkpoint.config_json import LanguageModelConfig
from engine.models.fast_ar import FastAR
from engine.models.slow_ar import SlowAR

PROMPT_TOKENS = 16


@dataclass(frozen=True, slots=True)
class SpokenFrame:
    """`codes`: [num_codebooks]. `finite`: whether hidden states and scores all were."""

    token_id: int
    codes: list[int]
    finite: bool


@torch.inference_mode()
def speak_frame(slow: SlowAR, fast: FastAR, config: LanguageModelConfig) -> SpokenFrame:
    """Prefill of PROMPT_TOKENS tokens, half of them frames, and one greedy frame."""
    noise = torch.Generator().manual_seed(0)
    half = PROMPT_TOKENS // 2
    text = torch.randint(0, config.semantic_start_token_id, (half,), generator=noise)
    codes = torch.randint(
        0, config.codebook_size, (PROMPT_TOKENS, config.num_codebooks), generator=noise
    )
    codes[:, 0] %= config.num_semantic
    ids = torch.cat((text, config.semantic_start_token_id + codes[half:, 0]))

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return out.transpose(0, 1).flatten(1)

    hidden = slow(slow.embed(ids, codes), torch.arange(PROMPT_TOKENS), attend)
    normed = slow.norm(hidden[-1:])
    logits = slow.logits(normed)
    column = logits.argmax(dim=-1).clamp(max=config.num_semantic - 1)
    finite = [torch.isfinite(hidden).all(), torch.isfinite(logits).all()]

    def best(codebook: int, scores: Tensor) -> Tensor:
        finite.append(torch.isfinite(scores).all())
        return scores.argmax(dim=-1)

    frame = fast(normed, column, best)
    return SpokenFrame(
        int(slow.token_ids(column)), frame[0].tolist(), all(bool(seen) for seen in finite)
    )
