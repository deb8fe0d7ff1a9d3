"""`sglang.Engine` without the detokenizer: tokens in, tokens out.

With `skip_tokenizer_init` the scheduler reports straight to the tokenizer manager, and SGLang's
detokenizer process only costs: its imports compete with the scheduler's at start, and it holds
540 MiB. The override is of SGLang 0.5.23; the end-to-end tests notice when a later one needs it.
"""

from __future__ import annotations

from typing import Any

from sglang.srt.entrypoints.engine import Engine


class TokensOnlyEngine(Engine):
    """Starts the scheduler, and no detokenizer."""

    @staticmethod
    def _launch_detokenizer_subprocesses(*args: Any, **kwargs: Any) -> tuple[list[Any], list[str]]:
        return [], []
