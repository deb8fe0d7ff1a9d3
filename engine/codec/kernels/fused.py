"""The codec's small operations on a CPU, each in one pass over memory, compiled by numba.

As separate tensor operations, Snake alone is half of a small codec's time, and the dispatch of some
thirty operations a layer is most of a single stream's. Every kernel treats each stream by itself
and in a fixed order: results do not depend, to the bit, on what else is in the batch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float32, int64, void

from engine.compiled import EXACT, SUMS, Floats, Integers, attend_one, compiled, rotate

# Flat loops over narrow channels repeat their per-channel constants up to this length.
LANES = 1024

_ONE_OVER_PI = np.float32(0.31830988618379067)
# pi in parts, the first two short, so that multiples are taken off without rounding
_PI_1, _PI_2, _PI_3 = (np.float32(x) for x in (3.140625, 9.670257568e-4, 6.2783295e-7))
_ROUND = np.float32(12582912.0)  # 1.5 * 2^23: adding and subtracting it rounds to an integer
_P0, _P1, _P2, _P3, _P4, _P5, _P6 = (
    np.float32(x)
    for x in (
        1.0,
        -0.3333333432674408,
        0.04444441944360733,
        -0.0031745433807373047,
        0.00014102371642366052,
        -4.233640083839418e-06,
        8.133000051202544e-08,
    )
)


@compiled(float32(float32), EXACT, inline="always")
def plus_sine_squared(u: Any) -> Any:
    """u + sin^2 u, within 3e-7 of it for |u| below 10,000.

    sin^2 has the period pi: r = u - n pi, z = r^2 <= (pi / 2)^2, sin^2 u = z P(z), where P
    interpolates at Chebyshev's points (its own error is 2.3e-10).
    """
    n = (u * _ONE_OVER_PI + _ROUND) - _ROUND
    r = ((u - n * _PI_1) - n * _PI_2) - n * _PI_3
    z = r * r
    p = _P5 + z * _P6
    p = _P4 + z * p
    p = _P3 + z * p
    p = _P2 + z * p
    p = _P1 + z * p
    p = _P0 + z * p
    # the bound keeps an absurdly large u from leaving the polynomial's range
    return u + min(z * p, np.float32(1.0))


@compiled(void(float32[::1]), EXACT)
def snake(u: Floats) -> None:
    """u + sin^2 u in place, for every element of a flat array."""
    for i in range(u.size):
        u[i] = plus_sine_squared(u[i])


@compiled(void(float32[:, ::1], float32[::1], float32[:, ::1], int64, float32[:, ::1]), EXACT)
def snake_join(x: Floats, alpha: Floats, histories: Floats, offset: int, joined: Floats) -> None:
    """Scale by alpha, apply snake, and join with the history; remember the last steps.

    x [B, L * C]. alpha [m], m a multiple of C. histories [B, floats]: the layer's own h * C of them
    start at offset. joined [B, (h + L) * C]: filled.
    """
    rows, size = x.shape
    tile = alpha.size
    kept = joined.shape[1] - size
    for b in range(rows):
        joined[b, :kept] = histories[b, offset : offset + kept]
        old, new = x[b], joined[b, kept:]
        for start in range(0, size, tile):
            # slices, so that the compiler sees indices that start at 0
            source, target = old[start : start + tile], new[start : start + tile]
            for i in range(source.size):
                target[i] = plus_sine_squared(source[i] * alpha[i])
        histories[b, offset : offset + kept] = joined[b, size:]


@compiled(void(float32[:, ::1], float32[:, ::1], float32, float32[:, ::1]), SUMS)
def add_norm(x: Floats, y: Floats, eps: float, out: Floats) -> None:
    """x += y; out = x divided by its root mean square. All [N, C]."""
    width = np.float32(x.shape[1])
    for n in range(x.shape[0]):
        total, addend, target = x[n], y[n], out[n]
        squares = np.float32(0.0)
        for i in range(total.size):
            total[i] += addend[i]
            squares += total[i] * total[i]
        scale = np.float32(1.0) / np.sqrt(squares / width + eps)
        for i in range(total.size):
            target[i] = total[i] * scale


@compiled(void(float32[:, ::1], float32[:, ::1], float32[::1], float32[:, ::1]), EXACT)
def linear(x: Floats, weight: Floats, bias: Floats, out: Floats) -> None:
    """out [N, out] = x [N, in] weight [in, out] + bias: for weights that fit the nearest caches."""
    inputs, outputs = weight.shape
    whole = inputs - inputs % 4
    for n in range(x.shape[0]):
        row, target = x[n], out[n]
        target[:] = bias
        for i in range(0, whole, 4):  # four at a time: one load and store of the sum for each
            x0, x1, x2, x3 = row[i], row[i + 1], row[i + 2], row[i + 3]
            w0, w1, w2, w3 = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
            for j in range(outputs):
                target[j] += x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j]
        for i in range(whole, inputs):
            x0, w0 = row[i], weight[i]
            for j in range(outputs):
                target[j] += x0 * w0[j]


@compiled(
    void(
        float32[:, :, ::1],
        float32[:, ::1],
        float32[::1],
        float32[:, ::1],
        int64,
        float32,
        float32[:, :, ::1],
    ),
    SUMS,
)
def depthwise_norm(
    x: Floats, taps: Floats, bias: Floats, histories: Floats, offset: int, eps: float, out: Floats
) -> None:
    """Causal depthwise convolution, then layer normalisation; remembers the last steps.

    x, out [B, L, C]. taps [k, C], oldest first. histories [B, floats]: (k - 1) * C from offset.
    """
    batch, steps, width = x.shape
    kept = taps.shape[0] - 1
    joined = np.empty((kept + steps, width), np.float32)
    for b in range(batch):
        history = histories[b, offset : offset + kept * width].reshape(kept, width)
        joined[:kept] = history
        joined[kept:] = x[b]
        history[:] = joined[steps:]
        for t in range(steps):
            target = out[b, t]
            target[:] = bias
            for k in range(kept + 1):
                source, tap = joined[t + k], taps[k]
                for c in range(width):
                    target[c] += source[c] * tap[c]
            mean = np.float32(0.0)
            for c in range(width):
                mean += target[c]
            mean /= np.float32(width)
            squares = np.float32(0.0)
            for c in range(width):
                target[c] -= mean
                squares += target[c] * target[c]
            scale = np.float32(1.0) / np.sqrt(squares / np.float32(width) + eps)
            for c in range(width):
                target[c] *= scale


@compiled(
    void(
        float32[:, :, :, :, ::1],
        float32[:, :, ::1],
        float32[:, :, :, ::1],
        float32[:, :, :, ::1],
        int64[::1],
        int64[::1],
        float32[:, :, :, ::1],
    ),
    EXACT,
)
def attend(
    qkv: Floats,
    turns: Floats,
    keys: Floats,
    values: Floats,
    rows: Integers,
    first: Integers,
    out: Floats,
) -> None:
    """Attention of new steps, one after another, over their streams' rings.

    qkv [B, T, 3, H, D]. turns [positions, D / 2, 2]: cosine and sine. keys, values [R, H, W, D]:
    the rings, position p at p mod W; new steps are stored, keys rotated. rows [B]: each stream's
    ring. first [B]: position of its first new step. out [B, T, H, D]: filled.
    """
    batch, steps, _, heads, width = qkv.shape
    window = keys.shape[2]
    query = np.empty(width, np.float32)
    weights = np.empty(window, np.float32)
    scale = np.float32(1.0 / math.sqrt(width))
    for b in range(batch):
        row = rows[b]
        for t in range(steps):
            position = first[b] + t
            entry = position % window
            count = min(position + 1, window)
            for h in range(heads):
                rotate(qkv[b, t, 1, h], turns[position], keys[row, h, entry])
                values[row, h, entry] = qkv[b, t, 2, h]
                rotate(qkv[b, t, 0, h], turns[position], query)
                query *= scale
                attend_one(query, keys[row, h], values[row, h], count, weights, out[b, t, h])
