"""One matrix to 8 bits: bounds on the error, and the values that break naive code."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import CheckpointError
from engine.workshop.quantize.scheme import dequantise, quantise


@given(st.integers(0, 2**31), st.integers(1, 9), st.integers(1, 70), st.floats(-20, 20))
def test_int8_errs_by_half_a_step_at_most(seed: int, rows: int, width: int, size: float) -> None:
    noise = torch.Generator().manual_seed(seed)
    weight = torch.randn(rows, width, generator=noise) * 2.0**size
    stored, scale = quantise(weight, "int8")
    assert stored.dtype == torch.int8 and scale.shape == (rows, 1)
    assert int(stored.abs().amax()) <= 127
    error = (dequantise(stored, scale) - weight).abs()
    assert (error <= scale * (0.5 + 1e-4)).all()


@given(st.integers(0, 2**31), st.floats(-20, 20))
def test_fp8_errs_by_a_sixteenth_at_most(seed: int, size: float) -> None:
    weight = torch.randn(4, 50, generator=torch.Generator().manual_seed(seed)) * 2.0**size
    stored, scale = quantise(weight, "fp8")
    assert stored.dtype == torch.float8_e4m3fn
    error = (dequantise(stored, scale) - weight).abs()
    # three bits of mantissa, or half the smallest subnormal, 2^-9
    assert (error <= (weight.abs() * 2**-4).maximum(scale * 2**-10) * (1 + 1e-4)).all()


@pytest.mark.parametrize("scheme", ["int8", "fp8"])
def test_the_greatest_of_a_row_and_zeros_are_kept(scheme: str) -> None:
    weight = torch.tensor([[0.0, 0.0, 0.0], [-3.0, 1.5, 0.0], [1e-30, -1e-30, 0.0]])
    stored, scale = quantise(weight, scheme)  # type: ignore[arg-type]
    back = dequantise(stored, scale)
    assert torch.isfinite(back).all()
    assert torch.equal(back[0], weight[0])
    assert back[1, 0] == pytest.approx(-3.0) and back[2, 0] == pytest.approx(1e-30)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(CheckpointError, match="expected finite weights"):
        quantise(torch.tensor([[1.0, bad]]), "int8")
