"""Convolutions in tiles, against torch's in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.codec.kernels import tiles

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
OFFSET = 5  # of the layer's history among others


def noise(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def snake(x: Floats, alpha: Floats) -> Doubles:
    """alpha * snake(x), [B, C, L]."""
    u = x.astype(np.float64) * alpha[:, None]
    result: Doubles = u + np.sin(u) ** 2
    return result


def causal(x: Doubles, weight: Floats, bias: Floats, dilation: int = 1) -> Doubles:
    """Without padding: x has the history in front."""
    image, kernel, offset = (torch.from_numpy(a).double() for a in (x, weight, bias))
    y: Doubles = F.conv1d(image, kernel, offset, dilation=dilation).numpy()
    return y


@settings(max_examples=40)
@given(
    channels=st.integers(1, 9),
    outputs=st.integers(1, 6),
    taps=st.integers(1, 7),
    rate=st.integers(1, 8),
    steps=st.sampled_from([1, 4, 15, 16, 17, 127, 128, 129, 300]),
    snaked=st.booleans(),
)
def test_convolve(
    channels: int, outputs: int, taps: int, rate: int, steps: int, snaked: bool
) -> None:
    x, alpha = noise(2, channels, steps), np.abs(noise(channels, seed=1)) + np.float32(0.1)
    weight, bias = noise(outputs * rate, channels, taps, seed=2), noise(outputs * rate, seed=3)
    kept = slice(OFFSET, OFFSET + channels * (taps - 1))
    histories, out = noise(2, 80, seed=4), np.empty((2, outputs, steps * rate), np.float32)
    before = histories.copy()
    packed = tiles.pack(weight, bias)
    used = alpha if snaked else np.empty(0, np.float32)
    tiles.convolve(x, used, *packed, taps, histories, OFFSET, out)
    new = snake(x, alpha) if snaked else x.astype(np.float64)
    joined: Doubles = np.concatenate((before[:, kept].reshape(2, channels, -1), new), axis=2)
    y = causal(joined, weight, bias)  # [2, outputs * rate, steps]
    expected = y.reshape(2, outputs, rate, steps).swapaxes(2, 3).reshape(out.shape)
    np.testing.assert_allclose(out, expected, rtol=0, atol=4e-5)
    before[:, kept] = joined[:, :, steps:].reshape(2, -1)
    np.testing.assert_allclose(histories, before, rtol=0, atol=2e-6)


@settings(max_examples=30)
@given(
    channels=st.integers(1, 9),
    dilation=st.sampled_from([1, 3, 9]),
    steps=st.sampled_from([1, 16, 31, 128, 260]),
)
def test_residual(channels: int, dilation: int, steps: int) -> None:
    taps = 7
    x, alpha = noise(2, channels, steps), np.abs(noise(channels, seed=1)) + np.float32(0.1)
    wide, wide_bias = noise(channels, channels, taps, seed=2), noise(channels, seed=3)
    narrow, narrow_bias = noise(channels, channels, 1, seed=4), noise(channels, seed=5)
    span = channels * (taps - 1) * dilation
    histories = noise(2, 600, seed=6)
    before, result = histories.copy(), x.copy()
    packed = *tiles.pack(wide, wide_bias), taps, dilation, *tiles.pack(narrow, narrow_bias)
    tiles.residual(result, alpha, *packed, histories, OFFSET)
    old = before[:, OFFSET : OFFSET + span].reshape(2, channels, -1)
    joined: Doubles = np.concatenate((old, snake(x, alpha)), axis=2)
    u = causal(joined, wide, wide_bias, dilation)
    expected = x + causal(u + np.sin(u) ** 2, narrow, narrow_bias)
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-4)
    before[:, OFFSET : OFFSET + span] = joined[:, :, steps:].reshape(2, -1)
    np.testing.assert_allclose(histories, before, rtol=0, atol=2e-6)


@pytest.mark.parametrize("pieces", [[300], [1] * 300, [7, 128, 16, 149]])
def test_pieces_equal_the_whole_to_the_bit(pieces: list[int]) -> None:
    channels, taps = 6, 7
    x, alpha = noise(1, channels, 300), np.ones(channels, np.float32)
    packed = tiles.pack(noise(8, channels, taps, seed=1), noise(8, seed=2))
    outputs = []
    for sizes in ([300], pieces):
        histories, at, parts = np.zeros((1, 100), np.float32), 0, []
        for size in sizes:
            out = np.empty((1, 4, size * 2), np.float32)
            piece = np.ascontiguousarray(x[:, :, at : at + size])
            tiles.convolve(piece, alpha, *packed, taps, histories, 0, out)
            parts.append(out)
            at += size
        outputs.append(np.concatenate(parts, axis=2))
    whole, joined = outputs
    np.testing.assert_array_equal(joined, whole)
