"""What must happen before torch and SGLang are imported, and makes their start short.

SGLang's scheduler is a process of its own, which needs the same imports as we do (seven seconds of
a core). On a CPU it is forked from this process when that has them (`engine.plugin.tokens_only`);
a process with a CUDA context cannot be forked, so there SGLang's way stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Iterator

from engine.worker_config import EngineConfig

_forked = False


def uses_cuda(config: EngineConfig) -> bool:
    """Whether the model will run on a GPU, found out without importing torch."""
    return config.device == "cuda" or (config.device == "auto" and _cuda_devices() > 0)


def prepare(config: EngineConfig) -> None:
    """Set what SGLang reads when it is imported, once for all."""
    os.environ["SGLANG_EXTERNAL_MODEL_PACKAGE"] = "engine.plugin.entry"
    os.environ.pop("SGLANG_USE_CPU_ENGINE", None)
    # Our own progress is enough. SGLang says disable=False itself, which outranks the environment,
    # but a bar that is due in a day is never drawn.
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TQDM_DELAY", "86400")
    if uses_cuda(config):
        return
    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # seconds of recompilation otherwise
    os.environ["OMP_NUM_THREADS"] = str(config.threads)
    global _forked
    _forked = True


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """No garbage collection for as long as the block lasts; what is there afterwards stays.

    Imports make millions of objects and no garbage: collections are a third of their time. What is
    frozen is not looked at by later ones either, which would hold up every stream.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def scheduler_is_forked() -> bool:
    """Whether the scheduler shares this process's imports; `prepare` decides."""
    return _forked


def _cuda_devices() -> int:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value
