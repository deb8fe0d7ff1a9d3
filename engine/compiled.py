"""Loops compiled by numba, for what is too small to be worth torch's calls on a CPU.

Compiled code is cached on disk, so only the first start on a machine compiles (a few seconds).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import float32, int64, void
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(signature: Any, fastmath: set[str], **options: Any) -> Callable[[Kernel], Kernel]:
    """numba.njit for one signature; without a disk cache where no folder can be written."""

    def compile_(function: Kernel) -> Kernel:
        options.update(nogil=True, error_model="numpy", fastmath=fastmath)
        try:
            kernel: Kernel = numba.njit(signature, cache=True, **options)(function)
        except RuntimeError:
            kernel = numba.njit(signature, **options)(function)
        return kernel

    return compile_


# a multiply-add may take one step; nothing else may change, or the reduction below would go
EXACT = {"contract"}
# sums of products may run in several lanes, always the same ones
SUMS = {"contract", "reassoc"}


@compiled(void(float32[::1], float32[:, ::1], float32[::1]), EXACT, inline="always")
def rotate(x: Any, turns: Any, out: Any) -> None:
    """Adjacent pairs of x [D] turned by (cosine, sine) [D / 2, 2]."""
    for i in range(turns.shape[0]):
        cosine, sine = turns[i, 0], turns[i, 1]
        even, odd = x[2 * i], x[2 * i + 1]
        out[2 * i] = even * cosine - odd * sine
        out[2 * i + 1] = even * sine + odd * cosine


@compiled(void(float32[::1], int64), SUMS, inline="always")
def softmax(scores: Any, count: Any) -> None:
    """Of the first `count` scores, in place."""
    most = np.float32(-np.inf)
    for j in range(count):
        most = max(most, scores[j])
    total = np.float32(0.0)
    for j in range(count):
        scores[j] = np.exp(scores[j] - most)
        total += scores[j]
    for j in range(count):
        scores[j] /= total


@compiled(
    void(float32[::1], float32[:, ::1], float32[:, ::1], int64, float32[::1], float32[::1]), SUMS
)
def attend_one(q: Any, keys: Any, values: Any, count: Any, weights: Any, out: Any) -> None:
    """Softmax attention of one query [D] over the first `count` of keys and values [W, D]."""
    for j in range(count):
        key = keys[j]
        score = np.float32(0.0)
        for d in range(q.size):
            score += q[d] * key[d]
        weights[j] = score
    softmax(weights, count)
    out[:] = np.float32(0.0)
    for j in range(count):
        weight, value = weights[j], values[j]
        for d in range(out.size):
            out[d] += weight * value[d]
