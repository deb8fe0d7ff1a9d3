"""Each compiled kernel against the same arithmetic in numpy or torch, in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.codec.kernels import fused

Floats = NDArray[np.float32]


def noise(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("reach", [1.0, 30.0, 1000.0, 10000.0])
def test_snake(reach: float) -> None:
    u = np.linspace(-reach, reach, 100_003, dtype=np.float32)
    result = u.copy()
    fused.snake(result)
    exact = u + np.sin(u.astype(np.float64)) ** 2
    bound = 4e-7 + np.abs(exact) * 2**-23  # and one rounding of the sum
    assert (np.abs(result - exact) <= bound).all()


@pytest.mark.parametrize("absurd", [1e9, 1e30, np.nan])
def test_snake_of_absurd_values_stays_at_them(absurd: float) -> None:
    result = np.array([absurd, -absurd], dtype=np.float32)
    expected = result.copy()
    fused.snake(result)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@given(st.integers(1, 5), st.integers(0, 12), st.integers(1, 40), st.integers(1, 3))
def test_snake_join(channels: int, kept: int, steps: int, rows: int) -> None:
    x, histories = noise(rows, steps * channels), noise(rows, 100, seed=1)
    alpha: Floats = np.abs(noise(channels, seed=2)) + np.float32(0.1)
    before, offset = histories.copy(), 7
    joined = np.empty((rows, (kept + steps) * channels), np.float32)
    tiled = np.tile(alpha, 8)  # shorter than a row, or longer
    fused.snake_join(x, tiled, histories, offset, joined)
    u = x.reshape(rows, steps, channels) * alpha
    old = before[:, offset : offset + kept * channels]
    expected = np.concatenate((old, (u + np.sin(u) ** 2).reshape(rows, -1)), axis=1)
    np.testing.assert_allclose(joined, expected, rtol=0, atol=2e-6)
    remembered = before.copy()
    remembered[:, offset : offset + kept * channels] = joined[:, steps * channels :]
    np.testing.assert_array_equal(histories, remembered)


@given(st.integers(1, 4), st.integers(1, 21), st.integers(1, 35))
def test_linear(rows: int, inputs: int, outputs: int) -> None:
    x, weight, bias = noise(rows, inputs), noise(inputs, outputs, seed=1), noise(outputs, seed=2)
    out = np.empty((rows, outputs), np.float32)
    fused.linear(x, weight, bias, out)
    np.testing.assert_allclose(out, x.astype(float) @ weight + bias, rtol=0, atol=1e-5)


def test_add_norm() -> None:
    x, y, out = noise(3, 50), noise(3, 50, seed=1), np.empty((3, 50), np.float32)
    total = torch.from_numpy(x.copy()) + torch.from_numpy(y)
    fused.add_norm(x, y, 1e-5, out)
    np.testing.assert_array_equal(x, total.numpy())
    expected = F.rms_norm(total, (50,), eps=1e-5).numpy()
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-6)


@given(st.integers(1, 9), st.integers(1, 3))
def test_depthwise_norm(steps: int, rows: int) -> None:
    width, kernel, offset = 20, 7, 3
    x, taps, bias = noise(rows, steps, width), noise(kernel, width, seed=1), noise(width, seed=2)
    histories, out = noise(rows, 200, seed=3), np.empty((rows, steps, width), np.float32)
    kept = slice(offset, offset + (kernel - 1) * width)
    joined = np.concatenate((histories[:, kept].reshape(rows, -1, width), x), axis=1)
    before = histories.copy()
    fused.depthwise_norm(x, taps, bias, histories, offset, 1e-6, out)
    image = torch.from_numpy(joined.transpose(0, 2, 1).copy())
    weight = torch.from_numpy(taps.T[:, None].copy())
    y = F.conv1d(image, weight, torch.from_numpy(bias), groups=width).transpose(1, 2)
    expected = F.layer_norm(y, (width,), eps=1e-6).numpy()
    np.testing.assert_allclose(out, expected, rtol=0, atol=3e-6)
    before[:, kept] = joined[:, steps:].reshape(rows, -1)
    np.testing.assert_array_equal(histories, before)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_attend_sees_the_last_window_of_steps(chunks: list[int]) -> None:
    window, heads, width, row = 4, 2, 6, 1
    steps = sum(chunks)
    qkv = noise(1, steps, 3, heads, width)
    angles = np.arange(steps)[:, None] * np.array([1.0, 0.3, 0.1])
    turns = np.stack((np.cos(angles), np.sin(angles)), axis=-1).astype(np.float32)
    keys, values = (np.zeros((3, heads, window, width), np.float32) for _ in range(2))
    outputs, at = [], 0
    for count in chunks:
        out = np.empty((1, count, heads, width), np.float32)
        new = np.ascontiguousarray(qkv[:, at : at + count])
        fused.attend(new, turns, keys, values, np.array([row]), np.array([at]), out)
        outputs.append(out[0])
        at += count
    factors = turns[:, None, :, 0] + 1j * turns[:, None, :, 1]
    rotated = []
    for part in (qkv[0, :, 0], qkv[0, :, 1]):
        pairs = (part[..., 0::2] + 1j * part[..., 1::2]) * factors
        rotated.append(np.stack((pairs.real, pairs.imag), axis=-1).reshape(part.shape))
    q, k, v = (torch.from_numpy(a).double().transpose(0, 1) for a in (*rotated, qkv[0, :, 2]))
    back = torch.arange(steps)[:, None] - torch.arange(steps)
    mask = (back >= 0) & (back < window)
    expected = F.scaled_dot_product_attention(q[None], k[None], v[None], mask)[0].transpose(0, 1)
    np.testing.assert_allclose(np.concatenate(outputs), expected, rtol=0, atol=2e-6)
    assert not keys[[0, 2]].any()  # other streams' rings are left alone
