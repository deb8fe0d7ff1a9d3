"""8-bit linear layers against the same product in double precision."""

from __future__ import annotations

import pytest
import torch

from engine.models.linear import QuantizedLinear, Scheme, load_rows, make_linear
from engine.models.plain import default_dtype
from engine.workshop.quantize.scheme import dequantise, quantise

IN, OUT = 96, 40
SCHEMES: tuple[Scheme, ...] = ("int8", "fp8")


def stored(scheme: Scheme) -> tuple[torch.Tensor, torch.Tensor]:
    weight = torch.randn(OUT, IN, generator=torch.Generator().manual_seed(1))
    weight *= torch.logspace(-3, 2, OUT)[:, None]  # rows of very different size
    return quantise(weight, scheme)


@pytest.mark.parametrize("rows", [1, 4, 5, 33])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_bf16_layers_keep_8_bits_and_match_to_two_roundings(scheme: Scheme, rows: int) -> None:
    weight, scale = stored(scheme)
    with default_dtype(torch.bfloat16):
        layer = make_linear(IN, OUT, scheme)
    assert isinstance(layer, QuantizedLinear)
    load_rows(layer, slice(None), weight, scale)
    assert layer.weight.element_size() == 1
    x = torch.randn(rows, IN, generator=torch.Generator().manual_seed(2)).bfloat16()
    got = layer(x)
    assert got.dtype == torch.bfloat16
    exact = x.double() @ dequantise(weight, scale).double().T
    size = x.double().norm(dim=1, keepdim=True) * dequantise(weight, scale).double().norm(dim=1)
    # two roundings to bf16 of the result, and fp32 sums
    assert ((got.double() - exact).abs() <= 2**-7 * exact.abs() + 1e-6 * size).all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_fp32_layers_are_widened_while_loading(scheme: Scheme) -> None:
    weight, scale = stored(scheme)
    layer = make_linear(IN, OUT, scheme)
    assert isinstance(layer, torch.nn.Linear) and layer.weight.dtype == torch.float32
    load_rows(layer, slice(None), weight, scale)
    assert torch.equal(layer.weight, dequantise(weight, scale))


def test_parts_of_a_fused_matrix_are_loaded_by_rows() -> None:
    weight, scale = stored("int8")
    with default_dtype(torch.bfloat16):
        layer = make_linear(IN, 2 * OUT, "int8")
    assert isinstance(layer, QuantizedLinear)
    load_rows(layer, slice(0, OUT), weight, scale)
    load_rows(layer, slice(OUT, None), -weight, 2 * scale)
    assert torch.equal(layer.weight[OUT:], -layer.weight[:OUT])
    assert torch.equal(layer.scale[OUT:], 2 * layer.scale[:OUT])


def test_the_wrong_kind_is_refused() -> None:
    weight, scale = stored("int8")
    with default_dtype(torch.bfloat16):
        layer = make_linear(IN, OUT, "fp8")
    with pytest.raises(
        TypeError, match="expected torch.float8_e4m3fn with a scale, got torch.int8"
    ):
        load_rows(layer, slice(None), weight, scale)
    with pytest.raises(TypeError, match="with a scale"):
        load_rows(layer, slice(None), weight.to(torch.float8_e4m3fn), None)
    with pytest.raises(TypeError, match="expected a linear layer, got Identity"):
        load_rows(torch.nn.Identity(), slice(None), weight, scale)


def test_without_a_scheme_any_dtype_is_dense() -> None:
    with default_dtype(torch.bfloat16):
        assert isinstance(make_linear(IN, OUT, None), torch.nn.Linear)
