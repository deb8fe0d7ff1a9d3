"""`sglang.Engine` without the detokenizer: tokens in, tokens out.

With `skip_tokenizer_init` the scheduler reports straight to the tokenizer manager, and SGLang's
detokenizer process only costs: its imports compete with the scheduler's at start, and it holds
540 MiB. On a CPU the scheduler is forked from this process: it then has everything imported, which
is seven seconds of a core. The overrides are of SGLang 0.5.23; the end-to-end tests notice when a
later one needs others.
"""

from __future__ import annotations

import gc
import multiprocessing
from typing import Any

from sglang.srt.entrypoints.engine import Engine
from sglang.srt.managers.scheduler import run_scheduler_process

from engine.plugin.startup import scheduler_is_forked


def _run_scheduler(*args: Any, **kwargs: Any) -> None:
    gc.enable()  # a fork inherits that our own start does without
    run_scheduler_process(*args, **kwargs)


class TokensOnlyEngine(Engine):
    """Starts the scheduler, by a fork where that is safe, and no detokenizer."""

    run_scheduler_process_func = staticmethod(_run_scheduler)

    @classmethod
    def _launch_scheduler_processes(cls, *args: Any, **kwargs: Any) -> Any:
        if scheduler_is_forked():
            multiprocessing.set_start_method("fork", force=True)  # SGLang has set "spawn"
            gc.freeze()  # a collection in either process would copy every shared page
        return super()._launch_scheduler_processes(*args, **kwargs)

    @staticmethod
    def _launch_detokenizer_subprocesses(*args: Any, **kwargs: Any) -> tuple[list[Any], list[str]]:
        return [], []
