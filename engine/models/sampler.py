"""The step's second half: draw the semantic token, run the fast AR, remember the frame.

Registered with SGLang as a sampling backend. Works on whole batches and on static tables only.
"""

from __future__ import annotations

from typing import Any

import torch
from sglang.srt.layers.logits_processor import LogitsProcessorOutput
from sglang.srt.layers.sampler import Sampler
from torch import Tensor

from engine.models import sampling
from engine.models.fast_ar import FastAR
from engine.models.request_table import RequestTable
from engine.models.slow_ar import SlowAR

# key of the per-token extra output: bytes, little-endian uint16 [num_codebooks] a token
CODES_KEY = "codes"


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


class DualARSampler(Sampler):
    """SGLang's sampler interface over a `FrameStep` that the model provides once it is built."""

    frame_step: FrameStep | None = None  # set by the model, which SGLang builds after us
    all_greedy = False  # set by the scheduler's hook for the batch that runs

    def forward(
        self,
        logits_output: LogitsProcessorOutput,
        sampling_info: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Tensor:
        """Token ids [B]; the codes travel in `customized_info`, one bytes object a row."""
        step = DualARSampler.frame_step
        if step is None:  # another model's server, in an environment where we are installed
            return super().forward(logits_output, sampling_info, *args, **kwargs)
        rows, hidden = logits_output.customized_info["rows"], logits_output.hidden_states
        ids, codes = step(
            logits_output.next_token_logits, hidden, rows, DualARSampler.all_greedy
        )
        packed = codes.to(torch.uint16).cpu().numpy()
        logits_output.customized_info = {CODES_KEY: [row.tobytes() for row in packed]}
        logits_output.hidden_states = None
        return ids.to(torch.int32)
