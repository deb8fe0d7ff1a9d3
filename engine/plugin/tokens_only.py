"""`sglang.Engine` without the detokenizer: tokens in, tokens out.

With `skip_tokenizer_init` the scheduler reports straight to the tokenizer manager, and SGLang's
detokenizer process only costs: its imports compete with the scheduler's at start, and it holds
540 MiB. The override is of SGLang 0.5.23; the end-to-end tests notice when a later one needs it.
"""

from __future__ import annotations

import multiprocessing
from typing import Any

from sglang.srt.entrypoints.engine import Engine

from engine.plugin.startup import forkserver_is_used


class TokensOnlyEngine(Engine):
    """Starts the scheduler, from the fork server if there is one, and no detokenizer."""

    @classmethod
    def _launch_scheduler_processes(cls, *args: Any, **kwargs: Any) -> Any:
        if forkserver_is_used():
            multiprocessing.set_start_method("forkserver", force=True)  # SGLang has set "spawn"
        return super()._launch_scheduler_processes(*args, **kwargs)

    @staticmethod
    def _launch_detokenizer_subprocesses(*args: Any, **kwargs: Any) -> tuple[list[Any], list[str]]:
        return [], []
