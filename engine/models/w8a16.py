"""y = (x w^T) * scale on a GPU for few rows, with w read as the 8 bits it is stored in.

A decode step is bound by how fast weights are read. Widening them first writes and reads them again
in bf16: five bytes an element instead of one. This kernel widens a tile in registers. Each output
is summed by one program in one order, so a row's result does not depend on its batch.
"""

from __future__ import annotations

import logging
from functools import cache

import torch
import torch.nn.functional as F
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from torch import Tensor

log = logging.getLogger(__name__)

MAX_ROWS = 64
_BLOCK_OUT, _BLOCK_IN, _LEAST_ROWS = 16, 256, 16  # tl.dot wants at least 16 of everything


@triton.jit  # type: ignore[untyped-decorator]
def _kernel(  # type: ignore[no-untyped-def]
    x, w, scale, y, rows, out_features, in_features,
    BLOCK_ROWS: tl.constexpr, BLOCK_OUT: tl.constexpr, BLOCK_IN: tl.constexpr,
):  # fmt: skip
    o = tl.program_id(0) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)
    r = tl.arange(0, BLOCK_ROWS)
    in_out, in_rows = o < out_features, r < rows
    total = tl.zeros((BLOCK_ROWS, BLOCK_OUT), dtype=tl.float32)
    for start in range(0, in_features, BLOCK_IN):
        i = start + tl.arange(0, BLOCK_IN)
        in_in = i < in_features
        tile_x = tl.load(
            x + r[:, None] * in_features + i[None, :],
            mask=in_rows[:, None] & in_in[None, :], other=0.0,
        )  # fmt: skip
        # int64, so that a matrix of any size can be addressed
        tile_w = tl.load(
            w + o[:, None].to(tl.int64) * in_features + i[None, :],
            mask=in_out[:, None] & in_in[None, :], other=0.0,
        )  # fmt: skip
        total += tl.dot(tile_x, tl.trans(tile_w.to(tile_x.dtype)))
    total *= tl.load(scale + o, mask=in_out, other=0.0)[None, :]
    tl.store(
        y + r[:, None] * out_features + o[None, :],
        total.to(y.dtype.element_ty), mask=in_rows[:, None] & in_out[None, :],
    )  # fmt: skip


def product(x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """x [T <= MAX_ROWS, in] bf16, weight [out, in] 8 bits, scale [out] fp32 -> [T, out] bf16."""
    rows, in_features = x.shape
    out_features = weight.shape[0]
    y = x.new_empty(rows, out_features)
    _kernel[(triton.cdiv(out_features, _BLOCK_OUT),)](
        x.contiguous(), weight, scale, y, rows, out_features, in_features,
        BLOCK_ROWS=max(_LEAST_ROWS, triton.next_power_of_2(rows)),
        BLOCK_OUT=_BLOCK_OUT, BLOCK_IN=_BLOCK_IN,
    )  # fmt: skip
    return y


@cache
def works(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether this device compiles the kernel for weights of `dtype` and computes what it should.

    Asked when a layer is loaded, never while a graph is captured. e4m3 needs compute capability
    8.9; elsewhere weights are widened at each use.
    """
    noise = torch.Generator().manual_seed(0)
    x = torch.randn(3, 272, generator=noise).to(device, torch.bfloat16)
    weight = torch.randint(-100, 100, (40, 272), generator=noise).float().to(dtype).to(device)
    scale = torch.rand(40, generator=noise).to(device)
    try:
        got = product(x, weight, scale)
    except Exception as error:  # the compiler raises many kinds
        log.warning("8-bit weights are widened at each use: %s has no kernel: %s", device, error)
        return False
    expected = F.linear(x.float(), weight.float()) * scale
    good = bool(((got.float() - expected).abs() <= 0.01 * expected.abs().max()).all())
    if not good:
        log.warning("8-bit weights are widened at each use: the kernel is wrong on %s", device)
    return good
