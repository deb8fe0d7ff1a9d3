"""What a start does without, and has again afterwards."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys

import pytest

from engine.caches import worker_environment
from engine.plugin.startup import without_collections


@pytest.mark.parametrize("fails", [False, True])
def test_collections_are_back_after_the_start(fails: bool) -> None:
    gc.unfreeze()
    try:
        with (
            pytest.raises(ZeroDivisionError) if fails else contextlib.nullcontext(),
            without_collections(),
        ):
            assert not gc.isenabled()
            if fails:
                raise ZeroDivisionError
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


_SCHEDULER = """
import gc
from engine.plugin import tokens_only
tokens_only.run_scheduler_process = lambda *args: print(gc.isenabled(), args)
gc.disable()
tokens_only.TokensOnlyEngine.run_scheduler_process_func("arguments")
"""


@pytest.mark.slow  # imports SGLang
def test_the_scheduler_collects_again() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCHEDULER],
        capture_output=True,
        text=True,
        env=worker_environment(os.environ),
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "True ('arguments',)"
