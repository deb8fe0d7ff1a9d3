"""The two dense operations of the codec, on channels-last data, with weights packed where it pays.

Activations are [rows, steps, channels] and contiguous, so a convolution's output is the next matrix
product's input without a copy. On a CPU both operations use oneDNN's kernels with weights laid out
once at load: measured here on one core of an AMD EPYC (S2-Pro's sizes, one frame), a convolution of
768 channels takes 1.1 ms instead of 3.8 and a product of 16 x 1024 by 1024 x 3072 takes 0.7 ms
instead of 2.1, because torch otherwise lays the weights out anew in every call and its matrix
library picks slow kernels on AMD. Elsewhere they are torch's own functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.codec.kernels import fused

# Up to this many weights, a compiled loop beats oneDNN, whose calls take 10 us before they start.
FUSE_LINEAR_UP_TO = 1 << 16
# A typical call, from which oneDNN picks the layout of packed weights.
HINT_ROWS = 16
HINT_STEPS = 64


def can_fuse(device: torch.device) -> bool:
    """Whether the small operations between products run as compiled loops (`fused`)."""
    return device.type == "cpu"


def can_pack(device: torch.device) -> bool:
    return device.type == "cpu" and torch._C._has_mkldnn


class Linear:
    """y = x w^T + b on the last dimension. weight [out, in]; bias [out] or None."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.out = weight.shape[0]
        self.bias = bias
        self.fused = can_fuse(weight.device) and weight.numel() <= FUSE_LINEAR_UP_TO
        self.packed = not self.fused and can_pack(weight.device)
        if self.fused:
            weight = weight.T.contiguous()
            self.bias = torch.zeros(self.out) if bias is None else bias.contiguous()
        if self.packed:
            weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), HINT_ROWS)
        self.weight = weight

    def __call__(self, x: Tensor) -> Tensor:
        if self.fused and self.bias is not None:
            y = x.new_empty(*x.shape[:-1], self.out)
            flat, result = x.view(-1, x.shape[-1]), y.view(-1, self.out)
            fused.linear(flat.numpy(), self.weight.numpy(), self.bias.numpy(), result.numpy())
            return y
        if self.packed:
            y = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
            return y
        return F.linear(x, self.weight, self.bias)


class Conv:
    """A convolution along steps without padding: [B, L, in] -> [B, L', out].

    weight [out, in / groups, kernel], bias [out].
    L' = 1 + (L - 1 - (kernel - 1) dilation) // stride
    """

    def __init__(
        self, weight: Tensor, bias: Tensor, stride: int = 1, dilation: int = 1, groups: int = 1
    ) -> None:
        self.bias = bias
        self.stride, self.dilation, self.groups = stride, dilation, groups
        weight = weight.unsqueeze(2).contiguous(memory_format=torch.channels_last)
        self.packed = can_pack(weight.device)
        if self.packed:
            hint = [1, weight.shape[1] * groups, 1, HINT_STEPS * max(stride, dilation)]
            weight = torch.ops.mkldnn._reorder_convolution_weight(
                weight, [0, 0], [1, stride], [1, dilation], groups, hint
            )
        self.weight = weight

    def __call__(self, x: Tensor) -> Tensor:
        image = x.transpose(1, 2).unsqueeze(2)  # [B, C, 1, L], channels last in memory
        stride, dilation = [1, self.stride], [1, self.dilation]
        if self.packed:
            y: Tensor = torch.ops.mkldnn._convolution_pointwise(
                image, self.weight, self.bias, [0, 0], stride, dilation, self.groups, "none", [], ""
            )
        else:
            y = F.conv2d(image, self.weight, self.bias, stride, 0, dilation, self.groups)
        return y.squeeze(2).transpose(1, 2)

    def add_to(self, total: Tensor, x: Tensor) -> Tensor:
        """total + conv(x), in place where the kernel can. total [B, L', out] is overwritten."""
        if not self.packed:
            return total.add_(self(x))
        torch.ops.mkldnn._convolution_pointwise_.binary(
            total.transpose(1, 2).unsqueeze(2),
            x.transpose(1, 2).unsqueeze(2),
            self.weight,
            self.bias,
            [0, 0],
            [1, self.stride],
            [1, self.dilation],
            self.groups,
            "add",
            1.0,
            None,
            [],
            None,
        )
        return total


@contextmanager
def true_fp32(device: torch.device) -> Iterator[None]:
    """Inside, a GPU computes fp32 products and convolutions as such, not as TF32."""
    if device.type != "cuda":
        yield
        return
    convolution, product = torch.backends.cudnn, torch.backends.cuda.matmul
    before = convolution.allow_tf32, product.allow_tf32
    convolution.allow_tf32, product.allow_tf32 = False, False
    try:
        yield
    finally:
        convolution.allow_tf32, product.allow_tf32 = before
