"""Per-request state of the step, in tensors allocated once and indexed by SGLang's request slot.

The scheduler's hook writes a row when a request is (re-)prefilled; the sampler reads and advances
rows during decode. SGLang owns the slots: whoever holds `req_pool_idx` i owns row i here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.models import sampling


@dataclass(frozen=True, slots=True)
class RowSettings:
    """One request's sampling, as it travels in `custom_params`. `style`: see `sampling`."""

    temperature: float
    residual_temperature: float
    top_p: float
    top_k: int
    seed: int
    min_frames: int
    style: sampling.Style = "fish"


class DrawMode(enum.Enum):
    """How much of the sampler a batch needs; less is only ever quicker, never different."""

    GREEDY = "greedy"  # every row takes the best
    FISH = "fish"  # every row draws in the authors' way
    ANY = "any"


def draw_mode(batch: Iterable[RowSettings]) -> DrawMode:
    """The least that serves every row."""
    mode = DrawMode.GREEDY
    for row in batch:
        if row.style != "fish":
            return DrawMode.ANY
        if row.top_k > 1:
            mode = DrawMode.FISH
    return mode


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one batch, gathered. All [B]; `history` [B, HISTORY], newest last."""

    temperature: Tensor
    residual_temperature: Tensor
    top_p: Tensor
    top_k: Tensor
    residual_top_k: Tensor
    seed: Tensor
    min_frames: Tensor
    omni: Tensor
    step: Tensor
    history: Tensor

    @property
    def semantic(self) -> tuple[Tensor, Tensor, Tensor]:
        """What the semantic draw takes: temperature, top_p, top_k."""
        return self.temperature, self.top_p, self.top_k


class RequestTable:
    """Row tensors [slots, ...]: settings, step counter, recent semantic codes, last codes.

    The last row belongs to nobody: it takes what a padded batch writes.
    """

    def __init__(self, slots: int, num_codebooks: int, device: torch.device | str) -> None:
        def rows(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros((slots + 1, *shape), dtype=dtype, device=device)

        self.slots = slots
        self.spare = slots
        self.num_codebooks = num_codebooks
        self._floats = rows(3, dtype=torch.float32)
        self._integers = rows(5, dtype=torch.int64)
        self.step = rows(dtype=torch.int64)
        self.history = rows(sampling.HISTORY, dtype=torch.int64)
        self.codes = rows(num_codebooks, dtype=torch.int64)
        self.text = rows(2, dtype=torch.int64)  # [start, end) of the spoken text in the prompt
        self._prefill: tuple[Sequence[str], Tensor] | None = None
        self._mode = DrawMode.ANY

    def begin(
        self,
        slot: int,
        settings: RowSettings,
        spoken: Sequence[int],
        text: tuple[int, int] = (0, 0),
    ) -> None:
        """Take a row for a request about to prefill.

        `spoken`: the semantic codes of the frames it generated before a retraction, in order;
        `text`: [start, end) of the text in its prompt. Raises IndexError on a slot outside the
        table.
        """
        if not 0 <= slot < self.slots:
            raise IndexError(f"request slot: expected 0 to {self.slots - 1}, got {slot}")
        omni = settings.style == "omni"
        floats = (settings.temperature, settings.residual_temperature, settings.top_p)
        residual_top_k = 1 if omni else settings.top_k
        integers = (
            settings.top_k, residual_top_k, settings.seed, settings.min_frames, int(omni),
        )  # fmt: skip
        self._floats[slot] = torch.tensor(floats)
        self._integers[slot] = torch.tensor(integers)
        self.step[slot] = len(spoken)
        self.text[slot] = torch.tensor(text)
        recent = spoken[-sampling.HISTORY :]
        padded = [0] * (sampling.HISTORY - len(recent)) + list(recent)
        self.history[slot] = torch.tensor(padded)

    def rows(self, slots: Tensor) -> Rows:
        """Gather the rows of a batch; slots [B], int64."""
        temperature, residual_temperature, top_p = self._floats[slots].unbind(-1)
        top_k, residual_top_k, seed, min_frames, omni = self._integers[slots].unbind(-1)
        return Rows(
            temperature,
            residual_temperature,
            top_p,
            top_k,
            residual_top_k,
            seed,
            min_frames,
            omni > 0,
            self.step[slots],
            self.history[slots],
        )

    def advance(self, slots: Tensor, rows: Rows, columns: Tensor, codes: Tensor) -> None:
        """Remember a step's semantic columns [B] and codes [B, N]."""
        self.history[slots] = torch.cat((rows.history[:, 1:], columns.unsqueeze(-1)), dim=-1)
        self.step[slots] = rows.step + 1
        self.codes[slots] = codes

    def stage_mode(self, mode: DrawMode) -> None:
        """Say how much of the sampler the next step needs."""
        self._mode = mode

    def take_mode(self) -> DrawMode:
        """What was staged for this step, once; else what serves every batch."""
        mode, self._mode = self._mode, DrawMode.ANY
        return mode

    def stage_prefill(self, requests: Sequence[str], codes: NDArray[np.int64]) -> None:
        """Hand the next extend step, of these requests, its codes: int64 [tokens, N], zero off the
        spans.
        """
        self._prefill = tuple(requests), torch.from_numpy(codes).to(self.codes.device)

    def take_prefill(self, requests: Sequence[str], tokens: int) -> Tensor:
        """The codes staged for this extend step; zeros where it has no requests: SGLang's warm-up.

        Raises RuntimeError when other rows are staged, or none: without its codes a voice would be
        noise.
        """
        staged, self._prefill = self._prefill, None
        if not requests:
            return self.codes.new_zeros((tokens, self.num_codebooks))
        if staged is None:
            raise RuntimeError(
                f"prefill codes: expected {tokens} rows from the scheduler's hook, got none: has "
                "SGLang taken the hook in?"
            )
        staged_for, codes = staged
        if staged_for != tuple(requests):
            raise RuntimeError(
                f"prefill codes: expected those of {', '.join(requests)}, "
                f"got those of {', '.join(staged_for)}"
            )
        if codes.shape[0] != tokens:
            raise RuntimeError(f"prefill codes: expected {tokens} rows, got {codes.shape[0]}")
        return codes
