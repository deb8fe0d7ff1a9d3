"""Low-rank adapters (Hu et al. 2021): thin matrices beside frozen ones, added in at the end."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

TARGETS = ("wqkv", "wo", "w1", "w2", "w3")


class LowRank(nn.Module):
    """A frozen linear layer plus `scale` * up(down(x)); starts as the layer itself."""

    def __init__(self, base: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.base, self.scale = base.requires_grad_(False), scale
        weight = base.weight
        self.down = nn.Parameter(weight.new_empty(rank, base.in_features, dtype=torch.float32))
        self.up = nn.Parameter(weight.new_zeros(base.out_features, rank, dtype=torch.float32))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        y: Tensor = self.base(x)
        return y + self.scale * (x @ self.down.to(x.dtype).T) @ self.up.to(x.dtype).T

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """The base layer with the adapter added to its weight."""
        change = self.scale * self.up @ self.down
        self.base.weight += change.to(self.base.weight.dtype)
        return self.base


def add_adapters(
    model: nn.Module, rank: int, alpha: float | None = None, targets: tuple[str, ...] = TARGETS
) -> list[nn.Parameter]:
    """Freeze a model and put adapters beside its `targets`; returns what is left to train.

    alpha: strength, `rank` by default (scale 1). Raises ValueError where nothing matches.
    """
    if rank < 1:
        raise ValueError(f"expected a rank of at least 1, got {rank}")
    model.requires_grad_(False)
    parameters: list[nn.Parameter] = []
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if name in targets and isinstance(child, nn.Linear):
                adapter = LowRank(child, rank, (alpha or rank) / rank)
                setattr(parent, name, adapter)
                parameters += [adapter.down, adapter.up]
    if not parameters:
        raise ValueError(f"expected linear layers named {', '.join(targets)}, found none")
    return parameters


def merge_adapters(model: nn.Module) -> None:
    """Add all adapters into their layers and take them away: the layout is the old one again."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LowRank):
                setattr(parent, name, child.merged())
