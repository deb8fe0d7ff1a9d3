"""Causal convolutions between few channels, on a CPU, compiled by numba.

A small codec's convolutions are so short that oneDNN spends most of its time before and after the
arithmetic: of a residual unit of 16 channels and 256 steps, alone in its batch, 57 us, of which 10
are left here. Data is [streams, channels, steps], so that a vector holds steps of one channel, and
a layer's whole work is one call: per stream, snake and history first, then tile by tile of steps
four output channels at a time, whose sums stay in the nearest cache.

Weights are packed as `pack` does: [blocks, terms, 4], where block b holds output channels 4b to
4b + 3, and a term is one tap of one input channel. Every output is one chain of multiply-adds over
the terms in their order, whatever the length of the call: results do not depend on it, to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, int64, void

from engine.codec.kernels.fused import plus_sine_squared
from engine.compiled import EXACT, Floats, compiled

TILE_STEPS = 128  # at most, in a tile
VECTOR_STEPS = 16  # a tile is a multiple of it; the rest of the last one is computed in vain
OUTPUTS = 4


def pack(weight: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """weight [out, in, taps], bias [out] -> [blocks, terms, 4] and [4 * blocks], zeros appended."""
    outputs, terms = weight.shape[0], weight.shape[1] * weight.shape[2]
    padded = np.zeros((-(-outputs // OUTPUTS) * OUTPUTS, -(-terms // 4) * 4), np.float32)
    padded[:outputs, :terms] = weight.reshape(outputs, terms)
    biases = np.zeros(padded.shape[0], np.float32)
    biases[:outputs] = bias
    blocks = padded.reshape(-1, OUTPUTS, padded.shape[1]).transpose(0, 2, 1)
    return np.ascontiguousarray(blocks), biases


@compiled(int64(int64), EXACT, inline="always")
def _tile_of(steps: Any) -> Any:
    """Steps of a tile."""
    return min(TILE_STEPS, (steps + VECTOR_STEPS - 1) // VECTOR_STEPS * VECTOR_STEPS)


@compiled(
    void(float32[:, ::1], float32[:, ::1], float32[::1], float32[::1], int64[::1], int64, int64),
    EXACT,
    inline="always",
)
def _block(
    sums: Any, weight: Any, bias: Any, source: Any, offsets: Any, start: Any, tile: Any
) -> None:
    """sums [4, tile] = bias [>= 4] + weight [terms, 4] times source, whose term j starts at
    offsets[j].
    """
    for i in range(OUTPUTS):
        sums[i] = bias[i]
    a0, a1, a2, a3 = sums[0], sums[1], sums[2], sums[3]
    for j in range(0, offsets.size, 4):
        s0 = source[start + offsets[j] :]
        s1 = source[start + offsets[j + 1] :]
        s2 = source[start + offsets[j + 2] :]
        s3 = source[start + offsets[j + 3] :]
        u, v, w, z = weight[j], weight[j + 1], weight[j + 2], weight[j + 3]
        u0, u1, u2, u3 = u[0], u[1], u[2], u[3]
        v0, v1, v2, v3 = v[0], v[1], v[2], v[3]
        w0, w1, w2, w3 = w[0], w[1], w[2], w[3]
        z0, z1, z2, z3 = z[0], z[1], z[2], z[3]
        for t in range(tile):
            x0, x1, x2, x3 = s0[t], s1[t], s2[t], s3[t]
            a0[t] = (((a0[t] + x0 * u0) + x1 * v0) + x2 * w0) + x3 * z0
            a1[t] = (((a1[t] + x0 * u1) + x1 * v1) + x2 * w1) + x3 * z1
            a2[t] = (((a2[t] + x0 * u2) + x1 * v2) + x2 * w2) + x3 * z2
            a3[t] = (((a3[t] + x0 * u3) + x1 * v3) + x2 * w3) + x3 * z3


@compiled(void(float32[:, ::1], float32[::1], float32[::1], int64, float32[::1]), EXACT)
def _join(x: Any, alpha: Any, history: Any, kept: Any, joined: Any) -> None:
    """Per channel, `kept` steps of history and behind them alpha * snake(x); keep the last steps.

    x [C, L]. alpha [C], or empty: x as it is. history [C * kept]. joined [C * (kept + >= L)].
    """
    channels, steps = x.shape
    length = joined.size // channels
    for c in range(channels):
        row, old = joined[c * length : (c + 1) * length], history[c * kept : (c + 1) * kept]
        source, target = x[c], row[kept:]
        row[:kept] = old
        if alpha.size:
            factor = alpha[c]
            for t in range(steps):
                target[t] = plus_sine_squared(source[t] * factor)
        else:
            target[:steps] = source
        old[:] = row[steps : steps + kept]


@compiled(void(int64, int64, int64, int64[::1]), EXACT)
def _offsets(taps: Any, dilation: Any, length: Any, out: Any) -> None:
    """Where each term starts among channels of this length; padding: anywhere."""
    for j in range(out.size):
        out[j] = j // taps * length + j % taps * dilation


@compiled(
    void(
        float32[:, :, ::1],
        float32[::1],
        float32[:, :, ::1],
        float32[::1],
        int64,
        float32[:, ::1],
        int64,
        float32[:, :, ::1],
    ),
    EXACT,
)
def convolve(
    x: Floats,
    alpha: Floats,
    weight: Floats,
    bias: Floats,
    taps: int,
    histories: Floats,
    offset: int,
    out: Floats,
) -> None:
    """Snake, then a causal convolution whose output channels may be phases of a longer sequence.

    x [B, C, L]. alpha [C], or empty for no snake. weight, bias: packed, of C * taps terms and
    out * rate channels. histories [B, floats]: C * (taps - 1) of them start at offset.
    out [B, out, L * rate]: filled; channel c * rate + r is its channel c at steps t * rate + r.
    """
    rows, channels, steps = x.shape
    outputs, rate = out.shape[1], out.shape[2] // steps
    tile, kept = _tile_of(steps), taps - 1
    length = kept + (steps + tile - 1) // tile * tile
    joined = np.zeros(channels * length, np.float32)
    sums = np.empty((OUTPUTS, TILE_STEPS), np.float32)
    offsets = np.empty(weight.shape[1], np.int64)
    _offsets(taps, 1, length, offsets)
    offsets[channels * taps :] = 0
    for b in range(rows):
        _join(x[b], alpha, histories[b, offset : offset + channels * kept], kept, joined)
        for start in range(0, steps, tile):
            count = min(tile, steps - start)
            for block in range(weight.shape[0]):
                _block(sums, weight[block], bias[block * OUTPUTS :], joined, offsets, start, tile)
                for i in range(min(OUTPUTS, outputs * rate - block * OUTPUTS)):
                    channel = block * OUTPUTS + i
                    target = out[b, channel // rate, start * rate + channel % rate :]
                    result = sums[i]
                    for t in range(count):
                        target[t * rate] = result[t]


@compiled(
    void(
        float32[:, :, ::1],
        float32[::1],
        float32[:, :, ::1],
        float32[::1],
        int64,
        int64,
        float32[:, :, ::1],
        float32[::1],
        float32[:, ::1],
        int64,
    ),
    EXACT,
)
def residual(
    x: Floats,
    alpha: Floats,
    wide: Floats,
    wide_bias: Floats,
    taps: int,
    dilation: int,
    narrow: Floats,
    narrow_bias: Floats,
    histories: Floats,
    offset: int,
) -> None:
    """x += narrow(snake(wide(snake(x)))): a residual unit in one pass, x [B, C, L] in place.

    alpha [C]: of the first snake; the second one's is in the weights (engine.codec.layers).
    wide, narrow and their biases: packed, of `taps` taps and of one. histories [B, floats]:
    C * (taps - 1) * dilation of them start at offset.
    """
    rows, channels, steps = x.shape
    tile, kept = _tile_of(steps), (taps - 1) * dilation
    length = kept + (steps + tile - 1) // tile * tile
    joined = np.zeros(channels * length, np.float32)
    sums = np.empty((OUTPUTS, TILE_STEPS), np.float32)
    inner = np.empty(wide.shape[0] * OUTPUTS * tile, np.float32)
    wide_offsets = np.empty(wide.shape[1], np.int64)
    narrow_offsets = np.empty(narrow.shape[1], np.int64)
    _offsets(taps, dilation, length, wide_offsets)
    wide_offsets[channels * taps :] = 0
    _offsets(1, 0, tile, narrow_offsets)
    for b in range(rows):
        _join(x[b], alpha, histories[b, offset : offset + channels * kept], kept, joined)
        for start in range(0, steps, tile):
            count = min(tile, steps - start)
            for block in range(wide.shape[0]):
                biases = wide_bias[block * OUTPUTS :]
                _block(sums, wide[block], biases, joined, wide_offsets, start, tile)
                for i in range(OUTPUTS):
                    target, result = inner[(block * OUTPUTS + i) * tile :], sums[i]
                    for t in range(tile):
                        target[t] = plus_sine_squared(result[t])
            for block in range(narrow.shape[0]):
                biases = narrow_bias[block * OUTPUTS :]
                _block(sums, narrow[block], biases, inner, narrow_offsets, 0, tile)
                for i in range(min(OUTPUTS, channels - block * OUTPUTS)):
                    target, result = x[b, block * OUTPUTS + i, start:], sums[i]
                    for t in range(count):
                        target[t] += result[t]
