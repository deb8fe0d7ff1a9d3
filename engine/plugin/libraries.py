"""Imports torch, SGLang and the plugin: the longest part of a start."""

from __future__ import annotations

import sys

from engine.compile_kernels import compile_ahead
from engine.plugin.startup import uses_cuda
from engine.worker_config import EngineConfig


def load_libraries(config: EngineConfig) -> None:
    """To be called after `prepare`, once. On a first start kernels are compiled beside it.

    `sklearn`, where it is installed at all, is hidden from transformers, which would import it and
    scipy's statistics for a way of generating that is not ours.
    """
    compiling = None if uses_cuda(config) else compile_ahead()
    sys.modules.setdefault("sklearn", None)  # type: ignore[arg-type]
    import engine.plugin.tokens_only

    if compiling is not None:
        compiling.wait()
    import engine.plugin.entry.dual_ar  # noqa: F401
