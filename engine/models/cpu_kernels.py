"""Attention of a decode step on a CPU, compiled: what torch needs twenty calls a layer for.

In fp32, the dtype of a CPU. Every stream is treated by itself and in a fixed order: a stream's
codes do not depend, to the bit, on what else is in the batch.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int32, int64, void
from numpy.typing import NDArray

from engine.compiled import SUMS, Floats, Integers, attend_one, compiled, rotate, softmax


@compiled(
    void(
        float32[:, :, ::1],
        float32[:, :, ::1],
        int64,
        float32[:, :, :, ::1],
        float32[:, :, :, ::1],
        float32[:, :, ::1],
    ),
    SUMS,
)
def attend_frame(
    qkv: Floats, turns: Floats, start: int, keys: Floats, values: Floats, out: Floats
) -> None:
    """Causal attention over the few positions of each row's frame, in its small cache.

    qkv [B * P, H + 2 K, D]: P new positions of each row, from `start` on, heads of q, k and v.
    turns [N, D / 2, 2]: cosine and sine of every position. keys, values [B, K, N, D]: new
    positions are stored, keys rotated. out [B * P, H, D]: filled.
    """
    kv_heads, size = keys.shape[1], qkv.shape[2]
    heads = out.shape[1]
    group = heads // kv_heads
    width = qkv.shape[0] // keys.shape[0]
    scale = np.float32(1.0 / np.sqrt(size))
    query = np.empty(size, np.float32)
    weights = np.empty(keys.shape[2], np.float32)
    for b in range(keys.shape[0]):
        for p in range(width):
            row, at = qkv[b * width + p], start + p
            for h in range(kv_heads):
                rotate(row[heads + h], turns[at], keys[b, h, at])
                values[b, h, at] = row[heads + kv_heads + h]
            for h in range(heads):
                rotate(row[h], turns[at], query)
                query *= scale
                kept = h // group
                target = out[b * width + p, h]
                attend_one(query, keys[b, kept], values[b, kept], at + 1, weights, target)


@compiled(
    void(
        float32[:, :, :],
        float32[:, :, ::1],
        float32[:, :, ::1],
        int32[:, ::1],
        int64[::1],
        int64[::1],
        float32,
        float32[:, :, ::1],
    ),
    SUMS,
)
def attend_paged(
    q: Floats,
    keys: Floats,
    values: Floats,
    table: NDArray[np.int32],
    requests: Integers,
    lengths: Integers,
    scale: float,
    out: Floats,
) -> None:
    """Attention of one new position a request over the pages that hold its keys and values.

    q [B, H, D] in any layout; out alike, contiguous. keys, values [rows, K, D]: the whole pools.
    table [requests, positions]: the row of each position. requests, lengths [B]: whose table row,
    and how many positions.
    """
    batch, heads, size = q.shape
    group = heads // keys.shape[1]
    weights = np.empty((group, max(lengths.max(), 1)), np.float32)
    query = np.empty((group, size), np.float32)
    for b in range(batch):
        rows, count = table[requests[b]], lengths[b]
        for h in range(keys.shape[1]):
            for g in range(group):
                query[g] = q[b, h * group + g] * scale
            for j in range(count):  # a key is read once for its group
                key = keys[rows[j], h]
                for g in range(group):
                    score = np.float32(0.0)
                    for d in range(size):
                        score += query[g, d] * key[d]
                    weights[g, j] = score
            for g in range(group):
                softmax(weights[g], count)
                out[b, h * group + g] = np.float32(0.0)
            for j in range(count):
                value = values[rows[j], h]
                for g in range(group):
                    target, weight = out[b, h * group + g], weights[g, j]
                    for d in range(size):
                        target[d] += weight * value[d]
