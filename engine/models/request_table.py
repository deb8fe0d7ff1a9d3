"""Per-request state of the step, in tensors allocated once and indexed by SGLang's request slot.

The scheduler's hook writes a row when a request is (re-)prefilled; the sampler reads and advances
rows during decode. SGLang owns the slots: whoever holds `req_pool_idx` i owns row i here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.models import sampling


@dataclass(frozen=True, slots=True)
class RowSettings:
    """One request's sampling, as it travels in `custom_params`."""

    temperature: float
    residual_temperature: float
    top_p: float
    top_k: int
    seed: int
    min_frames: int


class RequestTable:
    """Row tensors [slots, ...]: settings, step counter, window of recent tokens, last codes."""

    def __init__(self, slots: int, num_codebooks: int, device: torch.device | str) -> None:
        def rows(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros((slots, *shape), dtype=dtype, device=device)

        self.slots = slots
        self.num_codebooks = num_codebooks
        self.temperature = rows(dtype=torch.float32)
        self.residual_temperature = rows(dtype=torch.float32)
        self.top_p = rows(dtype=torch.float32)
        self.top_k = rows(dtype=torch.int64)
        self.seed = rows(dtype=torch.int64)
        self.min_frames = rows(dtype=torch.int64)
        self.step = rows(dtype=torch.int64)
        self.window = rows(sampling.RAS_WINDOW, dtype=torch.int64)
        self.codes = rows(num_codebooks, dtype=torch.int64)
        self._prefill: Tensor | None = None

    def begin(self, slot: int, settings: RowSettings, generated: Sequence[int]) -> None:
        """Take a row for a request about to prefill; `generated`: its tokens before a retraction.

        Raises IndexError on a slot outside the table.
        """
        if not 0 <= slot < self.slots:
            raise IndexError(f"request slot: expected 0 to {self.slots - 1}, got {slot}")
        self.temperature[slot] = settings.temperature
        self.residual_temperature[slot] = settings.residual_temperature
        self.top_p[slot] = settings.top_p
        self.top_k[slot] = settings.top_k
        self.seed[slot] = settings.seed
        self.min_frames[slot] = settings.min_frames
        self.step[slot] = len(generated)
        self.window[slot] = -1
        # the token of the prefill step never enters the reference's window
        recent = list(generated)[1:][-sampling.RAS_WINDOW :]
        for i, token in enumerate(recent, start=len(generated) - len(recent)):
            self.window[slot, i % sampling.RAS_WINDOW] = token

    def stage_prefill(self, codes: NDArray[np.int64]) -> None:
        """Hand the next extend step its codes: int64 [tokens, N], zero off the spans."""
        self._prefill = torch.from_numpy(codes).to(self.codes.device)

    def take_prefill(self, tokens: int) -> Tensor:
        """The codes staged for this extend step; zeros for SGLang's own warm-up passes.

        Raises RuntimeError when the staged rows do not fit the step's tokens.
        """
        staged, self._prefill = self._prefill, None
        if staged is None:
            return self.codes.new_zeros((tokens, self.num_codebooks))
        if staged.shape[0] != tokens:
            raise RuntimeError(f"prefill codes: expected {tokens} rows, got {staged.shape[0]}")
        return staged
