"""A checkpoint's configuration -> modules, its tensors -> their parameters.

Names, shapes and types were checked in `engine.checkpoint`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch import Tensor

from engine.checkpoint.config_json import LanguageModelConfig
from engine.checkpoint.folder import SCALE_SUFFIX
from engine.models.fast_ar import FastAR
from engine.models.linear import STORED_DTYPES
from engine.models.slow_ar import SlowAR

_SLOW_PREFIX, _FAST_PREFIX = "text_model.model.", "audio_decoder."
# the slow AR's table of all codebooks is stored among the fast AR's tensors
_CODEBOOKS = "codebook_embeddings.weight"


def build_dual_ar(config: LanguageModelConfig, max_batch: int) -> tuple[SlowAR, FastAR]:
    """Both modules in torch's default dtype and device, nothing loaded yet.

    `max_batch`: how many frames the fast AR is to make at once.
    """
    slow, fast = config.text_config, config.audio_decoder_config
    semantic = config.semantic_start_token_id, config.semantic_end_token_id
    slow_ar = SlowAR(slow, fast.num_codebooks, fast.vocab_size, semantic, config.eos_token_id)
    return slow_ar, FastAR(fast, slow.dim, max_batch)


def load_dual_ar(slow: SlowAR, fast: FastAR, weights: Iterable[tuple[str, Tensor]]) -> None:
    """Copy every tensor to its place. Raises KeyError on a name outside the layout."""
    for name, value, scale in with_scales(weights):
        if name.startswith(_SLOW_PREFIX):
            slow.load(name.removeprefix(_SLOW_PREFIX), value, scale)
        elif name == _FAST_PREFIX + _CODEBOOKS:
            slow.load(_CODEBOOKS, value)
        elif name.startswith(_FAST_PREFIX):
            fast.load(name.removeprefix(_FAST_PREFIX), value, scale)
        else:
            raise KeyError(f"expected {_SLOW_PREFIX}* or {_FAST_PREFIX}*, got {name}")


def with_scales(
    weights: Iterable[tuple[str, Tensor]],
) -> Iterator[tuple[str, Tensor, Tensor | None]]:
    """Join each quantised matrix with its scale, in whichever order and shard the two come.

    Raises KeyError when one of them never comes.
    """
    waiting: dict[str, Tensor] = {}
    for name, value in weights:
        is_scale = name.endswith(SCALE_SUFFIX)
        if not is_scale and value.dtype not in STORED_DTYPES.values():
            yield name, value, None
            continue
        matrix = name.removesuffix(SCALE_SUFFIX)
        other = waiting.pop(matrix, None)
        if other is None:
            waiting[matrix] = value
        else:
            yield (matrix, other, value) if is_scale else (matrix, value, other)
    if waiting:
        raise KeyError(f"expected a matrix and its scale of {', '.join(sorted(waiting))}, got one")
