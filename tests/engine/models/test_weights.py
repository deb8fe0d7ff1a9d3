"""Matrices meet their scales."""

from __future__ import annotations

import pytest
import torch

from engine.models.weights import with_scales

MATRIX = torch.zeros(2, 3, dtype=torch.int8)
SCALE = torch.ones(2, 1)
NORM = torch.ones(3)


@pytest.mark.parametrize("scale_first", [False, True])
def test_in_whichever_order_they_come(scale_first: bool) -> None:
    pair = [("w1.weight", MATRIX), ("w1.weight.scale", SCALE)]
    items = [*pair[:: -1 if scale_first else 1]]
    items.insert(1, ("norm.weight", NORM))
    found = {name: (value, scale) for name, value, scale in with_scales(items)}
    assert found["w1.weight"] == (MATRIX, SCALE)
    assert found["norm.weight"] == (NORM, None)
    assert len(found) == 2


@pytest.mark.parametrize("only", [("w1.weight", MATRIX), ("w1.weight.scale", SCALE)])
def test_one_without_the_other_is_refused(only: tuple[str, torch.Tensor]) -> None:
    with pytest.raises(KeyError, match="expected a matrix and its scale of w1.weight, got one"):
        list(with_scales([only]))
