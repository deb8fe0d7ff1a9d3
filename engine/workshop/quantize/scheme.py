"""One matrix, to 8 bits and back."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.errors import CheckpointError
from engine.models.linear import STORED_DTYPES, Scheme

# the greatest magnitude that each scheme stores; int8 symmetric, so that zero stays zero
_GREATEST: dict[Scheme, float] = {"int8": 127.0, "fp8": torch.finfo(torch.float8_e4m3fn).max}


def quantise(weight: Tensor, scheme: Scheme) -> tuple[Tensor, Tensor]:
    """weight [out, in] -> stored [out, in] and scale [out, 1], fp32; weight ~ stored * scale.

    The scale puts each row's greatest magnitude at the end of the range, so nothing is clipped.
    Raises CheckpointError on a weight that is not finite.
    """
    wide = weight.float()
    if not torch.isfinite(wide).all():
        raise CheckpointError("expected finite weights, got infinities or NaN")
    greatest = _GREATEST[scheme]
    scale = wide.abs().amax(dim=1, keepdim=True) / greatest
    scale[scale == 0] = 1.0  # a row of zeros; any scale gives it back
    stored = (wide / scale).clamp_(-greatest, greatest)
    if scheme == "int8":
        stored = stored.round_()
    return stored.to(STORED_DTYPES[scheme]), scale


def dequantise(stored: Tensor, scale: Tensor) -> Tensor:
    """What `quantise` keeps of a weight, fp32."""
    return stored.float() * scale
