"""What a user sees when a worker cannot start, or dies."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest

from engine import api
from engine.link.client import WorkerEngine
from engine.worker_config import EngineConfig


async def test_a_bad_checkpoint_is_named_and_nothing_stays(tmp_path: Path) -> None:
    before = psutil.Process().children()  # another test's engine, perhaps
    engine = WorkerEngine(EngineConfig(tmp_path))
    with pytest.raises(api.EngineUnavailableError, match=r"config\.json"):
        await engine.start()
    with pytest.raises(api.EngineUnavailableError, match="not running"):
        await engine.stats()
    await engine.close()
    assert psutil.Process().children() == before


@pytest.mark.engine
@pytest.mark.slow
async def test_a_killed_worker_fails_its_requests_and_leaves_no_process() -> None:
    engine = WorkerEngine(EngineConfig(max_streams=2))
    await engine.start()
    assert engine.pid is not None
    tree = psutil.Process(engine.pid).children(recursive=True)
    events = engine.speak(
        api.SpeechRequest("r", "A long text. " * 30, sampling=api.Sampling(max_frames=500))
    )
    await anext(events)
    os.kill(engine.pid, signal.SIGKILL)
    with pytest.raises(api.EngineUnavailableError, match="ended with status"):
        async for _ in events:
            pass
    with pytest.raises(api.EngineUnavailableError):
        await engine.stats()
    await engine.close()
    _, alive = psutil.wait_procs(tree, timeout=10)
    assert not alive


async def test_closing_while_it_loads_waits_for_nothing() -> None:
    engine = WorkerEngine(EngineConfig())
    loading = asyncio.Event()
    engine._progress = lambda stage: loading.set() if "importing" in stage else None
    starting = asyncio.create_task(engine.start())
    await asyncio.wait_for(loading.wait(), 30)
    assert engine.pid is not None
    tree = [worker := psutil.Process(engine.pid), *worker.children(recursive=True)]
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(starting, 5)
    _, alive = psutil.wait_procs(tree, timeout=5)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
