"""Checkpoint tensors -> modules. Names, shapes and types were checked by `engine.checkpoint`."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from engine.models.fast_ar import FastAR
from engine.models.slow_ar import SlowAR

_SLOW_PREFIX, _FAST_PREFIX = "text_model.model.", "audio_decoder."
# the slow AR's table of all codebooks is stored among the fast AR's tensors
_CODEBOOKS = "codebook_embeddings.weight"


def load_dual_ar(slow: SlowAR, fast: FastAR, weights: Iterable[tuple[str, Tensor]]) -> None:
    """Copy every tensor to its place. Raises KeyError on a name outside the layout."""
    for name, value in weights:
        if name.startswith(_SLOW_PREFIX):
            slow.load(name.removeprefix(_SLOW_PREFIX), value)
        elif name == _FAST_PREFIX + _CODEBOOKS:
            slow.load(_CODEBOOKS, value)
        elif name.startswith(_FAST_PREFIX):
            fast.load(name.removeprefix(_FAST_PREFIX), value)
        else:
            raise KeyError(f"expected {_SLOW_PREFIX}* or {_FAST_PREFIX}*, got {name}")
