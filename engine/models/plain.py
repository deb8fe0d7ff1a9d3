"""The same modules in a plain eager loop, one request at a time: the yardstick, and a debugger.

No scheduler, no paging: a contiguous cache per layer. Benchmarks compare the engine with it, and
the tests use it where a whole SGLang would only hide the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from engine.checkpoint.folder import Checkpoint
from engine.models.frame_step import FrameStep
from engine.models.request_table import RequestTable, RowSettings, draw_mode
from engine.models.weights import build_dual_ar, load_dual_ar


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Build modules in this dtype, as SGLang does; a later `.to` would spoil the complex tables."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class PlainLoop:
    """A loaded Dual-AR and one request's state.

    `frames_at_once` bounds the batch that `fast` may be called with; `generate` needs 1.
    """

    def __init__(
        self,
        path: Path,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
        frames_at_once: int = 1,
    ) -> None:
        checkpoint = Checkpoint.open(path)
        config = checkpoint.config
        self.config = config
        self._device = torch.device(device)
        with default_dtype(dtype), self._device:
            self.slow, self.fast = build_dual_ar(config, frames_at_once)
        shards = (load_file(shard).items() for shard in checkpoint.shards)
        load_dual_ar(self.slow, self.fast, chain.from_iterable(shards))
        self.table = RequestTable(1, config.num_codebooks, self._device)
        self._step = FrameStep(self.slow, self.fast, self.table)
        self._rows = torch.zeros(1, dtype=torch.int64, device=self._device)

    def hidden(self, matrix: NDArray[np.int64]) -> Tensor:
        """Run a prompt [1 + N, L] from an empty cache -> hidden before the final norm [L, dim]."""
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        return self._columns(matrix, 0)

    def advance(self, column: NDArray[np.int64], position: int) -> Tensor:
        """One more column [1 + N, 1] over the cache -> hidden before the final norm [1, dim]."""
        if column.shape[1] != 1:
            raise ValueError(f"expected one column, got {column.shape[1]}")
        return self._columns(column, position)

    def _columns(self, matrix: NDArray[np.int64], start: int) -> Tensor:
        columns = torch.from_numpy(np.ascontiguousarray(matrix)).to(self._device, torch.int64)
        return self._run(self.slow.embed(columns[0], columns[1:].T), start)

    @torch.inference_mode()
    def generate(
        self, matrix: NDArray[np.int64], settings: RowSettings, max_frames: int
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield (token id, codes [N]) per frame, until the end token or `max_frames`."""
        self.table.begin(0, settings, ())
        mode = draw_mode([settings])
        x = self.hidden(matrix)[-1:]
        for frame in range(max_frames):
            normed = self.slow.norm(x)
            logits = self.slow.logits(normed).float()
            ids, codes = self._step(logits, normed, self._rows, mode)
            if int(ids) == self.slow.end_id:
                return
            yield int(ids), codes[0].cpu().numpy()
            x = self._run(self.slow.embed(ids, codes), matrix.shape[1] + frame)

    def _run(self, x: Tensor, start: int) -> Tensor:
        positions = torch.arange(start, start + x.shape[0], device=self._device)
        out: Tensor = self.slow(x, positions, self._attend)
        return out

    def _attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = k.transpose(0, 1), v.transpose(0, 1)  # [K, T, d]
        if layer == len(self._keys):
            self._keys.append(k)
            self._values.append(v)
        else:
            self._keys[layer] = torch.cat((self._keys[layer], k), dim=1)
            self._values[layer] = torch.cat((self._values[layer], v), dim=1)
        out = F.scaled_dot_product_attention(
            q.transpose(0, 1),
            self._keys[layer],
            self._values[layer],
            is_causal=q.shape[0] > 1,
            enable_gqa=True,
        )
        return out.transpose(0, 1).flatten(1)
