"""A hook that SGLang did not take in ends the start, instead of giving noise for a voice."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import api
from engine.link.client import WorkerEngine
from engine.worker_config import EngineConfig
from tests.golden_data import TINY

# every process of the worker reads this first: the plugin registers all but its hook
_WITHOUT_HOOK = """
import engine.plugin.register as plugin

whole = plugin.register

def register():
    from sglang.srt.plugins.hook_registry import HookRegistry
    whole()
    del HookRegistry._hooks["sglang.srt.managers.scheduler.Scheduler.run_batch"]

plugin.register = register
"""


@pytest.mark.engine
@pytest.mark.slow  # an engine of its own
async def test_an_engine_without_its_hook_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_WITHOUT_HOOK, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    engine = WorkerEngine(EngineConfig(TINY, max_streams=2))
    try:
        with pytest.raises(api.EngineUnavailableError):
            await engine.start()
    finally:
        await engine.close()
