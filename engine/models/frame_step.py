"""The step's second half: draw the semantic token, run the fast AR, remember the frame. Pure torch.

Works on whole batches and on static tables only; SGLang's sampler and the plain loop both call it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.models import sampling
from engine.models.fast_ar import FastAR
from engine.models.request_table import RequestTable
from engine.models.slow_ar import SlowAR


class FrameStep:
    """Hidden state and logits of a batch -> token ids and codes, advancing the request table."""

    def __init__(self, slow: SlowAR, fast: FastAR, table: RequestTable) -> None:
        self.slow, self.fast, self.table = slow, fast, table

    def __call__(
        self, logits: Tensor, hidden: Tensor, rows: Tensor, greedy: bool
    ) -> tuple[Tensor, Tensor]:
        """logits [B, S + 1], normed hidden [B, dim], slots [B] -> token ids [B], codes [B, N].

        `greedy`: every row has top_k 1, so nothing needs noise or a filter.
        """
        table, slow = self.table, self.slow
        step = table.step[rows]
        end = logits.shape[-1] - 1
        too_early = step < table.min_frames[rows]
        logits[:, end].masked_fill_(too_early, float("-inf"))
        if greedy:
            columns = logits.argmax(dim=-1)
            codes = self.fast(hidden, columns.clamp(max=end - 1), lambda k, x: x.argmax(dim=-1))
        else:
            columns, codes = self._draw(logits, hidden, rows, step)
        ids = slow.token_ids(columns)
        # the token of the prefill step never enters the window
        entry = torch.where(step > 0, ids, -1)
        table.window[rows, step % sampling.RAS_WINDOW] = entry
        table.step[rows] = step + 1
        table.codes[rows] = codes
        return ids, codes

    def _draw(
        self, logits: Tensor, hidden: Tensor, rows: Tensor, step: Tensor
    ) -> tuple[Tensor, Tensor]:
        table = self.table
        lanes = self.fast.num_codebooks + 1
        temperature = table.residual_temperature[rows]
        top_p, top_k = table.top_p[rows], table.top_k[rows]
        noise = sampling.gumbel_noise(table.seed[rows], step, lanes)
        columns = self._semantic(logits, rows, step, noise)
        codes = self.fast(
            hidden,
            columns.clamp(max=logits.shape[-1] - 2),
            lambda k, x: sampling.draw(x, temperature, top_p, top_k, noise[:, k]),
        )
        return columns, codes

    def _semantic(self, logits: Tensor, rows: Tensor, step: Tensor, noise: Tensor) -> Tensor:
        """Repetition-aware: a token of the last ten is replaced by a second, hotter draw."""
        table, slow = self.table, self.slow
        top_k, top_p = table.top_k[rows], table.top_p[rows]
        values, indices, cumulative = sampling.ranked(logits)
        kept = sampling.keep(cumulative, top_p, top_k)
        first = sampling.pick(
            values, indices, kept, table.temperature[rows], noise[:, sampling.SEMANTIC_LANE]
        )
        hot = sampling.keep(cumulative, torch.full_like(top_p, sampling.RAS_TOP_P), top_k)
        hot_t = torch.full_like(top_p, sampling.RAS_TEMPERATURE)
        second = sampling.pick(values, indices, hot, hot_t, noise[:, -1])
        seen = (table.window[rows] == slow.token_ids(first).unsqueeze(-1)).any(dim=-1)
        spoken = first < logits.shape[-1] - 1
        return torch.where(seen & spoken & (step > 0), second, first)
