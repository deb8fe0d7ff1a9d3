"""What must happen before torch and SGLang are imported, and makes their start short.

SGLang's scheduler is a process of its own, which imports as much as we do (10 s of a core). On a
CPU it is forked from a server process that begins with those imports at once, while this does
its own; SGLang's default would begin with them when we are done. On CUDA SGLang's way stays: there
it hands the child settings through the environment, which a running server would not see.
"""

from __future__ import annotations

import ctypes
import os
from multiprocessing import forkserver, set_forkserver_preload

from engine.worker_config import EngineConfig

_PRELOAD = [
    "sglang.srt.managers.scheduler",
    "engine.plugin.entry.dual_ar",
    "engine.plugin.cpu_attention",
]

_prepared = False


def uses_cuda(config: EngineConfig) -> bool:
    """Whether the model will run on a GPU, found out without importing torch."""
    return config.device == "cuda" or (config.device == "auto" and _cuda_devices() > 0)


def prepare(config: EngineConfig) -> None:
    """Set what SGLang reads when it is imported, and begin the scheduler's imports. Idempotent."""
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
    global _prepared
    _prepared = True
    set_forkserver_preload(_PRELOAD)
    forkserver.ensure_running()


def forkserver_is_used() -> bool:
    """Whether `prepare` has started the server from which the scheduler is forked."""
    return _prepared


def _cuda_devices() -> int:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value
