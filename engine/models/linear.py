"""Linear layers of the Dual-AR: dense, or with 8-bit weights that stay 8 bits in memory.

Which one is chosen when the module is built, by `make_linear`. In fp32, the dtype of a CPU and of
every reference run, quantised weights are widened once, while loading: on two cores a
[9728, 2560] matrix took 12 ms a token dense, 42 ms by torch's int8 kernel and 140 ms widened at
each use. In bf16 they stay as stored; one scale an output channel is applied to the product. On a
GPU the few rows of a decode step go through a kernel of our own (`engine.models.w8a16`).
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Scheme = Literal["int8", "fp8"]
STORED_DTYPES: dict[Scheme, torch.dtype] = {"int8": torch.int8, "fp8": torch.float8_e4m3fn}

# up to here torch's int8 kernel beats the dense bf16 product on a CPU (measured at 1, 4, 16 rows)
_CPU_KERNEL_ROWS = 4


class QuantizedLinear(nn.Module):
    """y = (x weight^T) * scale. weight [out, in], int8 or e4m3; scale [out], fp32; no bias."""

    def __init__(self, in_features: int, out_features: int, scheme: Scheme) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = nn.Parameter(
            torch.empty(out_features, in_features, dtype=STORED_DTYPES[scheme]),
            requires_grad=False,
        )
        self.scale = nn.Parameter(
            torch.empty(out_features, dtype=torch.float32), requires_grad=False
        )
        self.kernel_rows = 0  # rows that the GPU's kernel takes; known once weights are loaded

    def forward(self, x: Tensor) -> Tensor:
        """[T, in] -> [T, out]."""
        if x.shape[0] <= self.kernel_rows:
            from engine.models import w8a16

            return w8a16.product(x, self.weight, self.scale)
        # the scale in fp32: rounded to bf16 it would cost as much as the product's own rounding
        return (self._product(x).float() * self.scale).to(x.dtype)

    def _product(self, x: Tensor) -> Tensor:
        if self.weight.dtype == torch.int8 and not x.is_cuda and x.dtype == torch.bfloat16:
            if x.shape[0] <= _CPU_KERNEL_ROWS:
                ones = x.new_ones(self.out_features)
                out: Tensor = torch.ops.aten._weight_int8pack_mm(x, self.weight, ones)
                return out
        # 8 bits fit bf16's significand exactly, int8 and e4m3 alike
        return F.linear(x, self.weight.to(x.dtype))


def _kernel_rows(weight: Tensor) -> int:
    if not weight.is_cuda:
        return 0
    try:
        from engine.models import w8a16
    except ImportError:  # a torch without triton
        return 0
    return w8a16.MAX_ROWS if w8a16.works(weight.device, weight.dtype) else 0


def make_linear(in_features: int, out_features: int, scheme: Scheme | None) -> nn.Module:
    """A layer without bias in torch's default dtype. `scheme`: how the checkpoint stores it."""
    if scheme is None or torch.get_default_dtype() == torch.float32:
        return nn.Linear(in_features, out_features, bias=False)
    return QuantizedLinear(in_features, out_features, scheme)


@torch.no_grad()
def load_rows(module: nn.Module, rows: slice, value: Tensor, scale: Tensor | None) -> None:
    """Copy a stored matrix [R, in], with its scale [R, 1] if it is quantised, to some rows.

    Raises TypeError when the module was built for the other kind.
    """
    if isinstance(module, QuantizedLinear):
        if scale is None or value.dtype != module.weight.dtype:
            raise TypeError(f"expected {module.weight.dtype} with a scale, got {value.dtype}")
        module.weight[rows].copy_(value)
        module.scale[rows].copy_(scale.flatten())
        module.kernel_rows = _kernel_rows(module.weight)
    elif isinstance(module, nn.Linear):
        wide = value if scale is None else value.float() * scale.float()
        module.weight[rows].copy_(wide)
    else:
        raise TypeError(f"expected a linear layer, got {type(module).__name__}")
