"""The step's second half: draw the semantic token, run the fast AR, remember the frame. Pure torch.

Works on whole batches and on static tables only, never asks the device for a value, and branches on
nothing but shapes and the batch's `DrawMode`: so it can be recorded as a CUDA graph
(`engine.models.graphs`). SGLang's sampler and the plain loop both call it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.models import sampling
from engine.models.fast_ar import FastAR
from engine.models.request_table import DrawMode, RequestTable, Rows
from engine.models.slow_ar import SlowAR


class FrameStep:
    """Hidden state and logits of a batch -> token ids and codes, advancing the request table."""

    def __init__(self, slow: SlowAR, fast: FastAR, table: RequestTable) -> None:
        self.slow, self.fast, self.table = slow, fast, table

    def __call__(
        self, logits: Tensor, hidden: Tensor, slots: Tensor, mode: DrawMode
    ) -> tuple[Tensor, Tensor]:
        """logits [B, S + 1], normed hidden [B, dim], slots [B] -> token ids [B], codes [B, N].

        `mode` must serve every row (`draw_mode`).
        """
        rows = self.table.rows(slots)
        end = logits.shape[-1] - 1
        logits[:, end].masked_fill_(rows.step < rows.min_frames, float("-inf"))
        if mode is DrawMode.GREEDY:
            columns = logits.argmax(dim=-1)
            codes = self.fast(hidden, columns.clamp(max=end - 1), lambda k, x: x.argmax(dim=-1))
        else:
            columns, codes = self._draw(logits, hidden, rows, mode)
        self.table.advance(slots, rows, columns, codes)
        return self.slow.token_ids(columns), codes

    def _draw(
        self, logits: Tensor, hidden: Tensor, rows: Rows, mode: DrawMode
    ) -> tuple[Tensor, Tensor]:
        noise = sampling.gumbel_noise(rows.seed, rows.step, self.fast.num_codebooks + 1)
        first, second = noise[:, sampling.SEMANTIC_LANE], noise[:, -1]
        past = (rows.history, rows.step)
        columns = sampling.draw_fish(logits, *past, rows.semantic, (first, second))
        if mode is DrawMode.ANY:
            omni = sampling.draw_omni(logits, *past, rows.semantic, first)
            columns = torch.where(rows.omni, omni, columns)
        codes = self.fast(
            hidden,
            columns.clamp(max=logits.shape[-1] - 2),
            lambda k, x: sampling.draw(
                x, rows.residual_temperature, rows.top_p, rows.residual_top_k, noise[:, k]
            ),
        )
        return columns, codes
