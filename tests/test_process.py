"""The command as a process tree: what it costs while nothing happens, what it survives, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import psutil
import pytest

from clients.python import connect

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # an engine of its own, which is killed

READY_S = 180.0  # on a machine that is busy with other things
IDLE_S = 15.0
IDLE_CORES = 0.05


class Served:
    """`voice-gateway serve` on a free port."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gateway", "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if match := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                self.port = int(match[1])
                return
        raise RuntimeError(f"expected it to serve, got exit status {self.process.wait()}")

    @property
    def stream_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def tree(self) -> list[psutil.Process]:
        root = psutil.Process(self.process.pid)
        return [root, *root.children(recursive=True)]

    def worker(self) -> psutil.Process:
        (worker,) = psutil.Process(self.process.pid).children()
        return worker

    def scheduler(self) -> psutil.Process:
        """The worker's child that runs SGLang's scheduler, which names itself."""
        (scheduler,) = [p for p in self.worker().children() if "scheduler" in p.name()]
        return scheduler

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self.port}/{path}", timeout=10)

    def metric(self, name: str) -> float:
        match = re.search(rf"^voice_gateway_{name} (\S+)$", self.get("metrics").text, re.MULTILINE)
        assert match is not None, name
        return float(match[1])

    def wait_for(self, name: str, value: float, most_s: float) -> None:
        end_s = time.monotonic() + most_s
        while self.metric(name) != value:
            assert time.monotonic() < end_s, f"{name} is not {value} after {most_s} s"
            time.sleep(0.1)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    served = Served()
    tree = served.tree()
    try:
        yield served
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            tree = served.tree()
        for process in tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        served.process.wait()
        assert served.process.stdout is not None
        served.process.stdout.close()


async def speak(url: str) -> int:
    """Frames of one sentence."""
    async with connect(url) as client:
        context = client.context()
        await context.send("Thank you for listening.")
        await context.end()
        async for _ in context:
            pass
        assert context.done is not None
        return context.done.frames


def cpu_s(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def test_left_alone_it_uses_next_to_nothing(served: Served) -> None:
    assert asyncio.run(speak(served.stream_url)) > 0
    tree = served.tree()
    assert len(tree) == 3  # gateway, worker, scheduler: forked, so no server of forks beside it
    before_s = cpu_s(tree)
    time.sleep(IDLE_S)
    assert served.tree() == tree
    assert (cpu_s(tree) - before_s) / IDLE_S < IDLE_CORES


@pytest.mark.parametrize("victim", ["worker", "scheduler", "stopped worker"])
def test_a_lost_engine_comes_back_and_sessions_stay(served: Served, victim: str) -> None:
    old, losses = served.worker().pid, served.metric("engine_losses_total")
    restarts = served.metric("engine_restarts_total")
    tree = served.tree()[1:]
    if victim == "stopped worker":
        os.kill(old, signal.SIGSTOP)
    else:
        os.kill(served.scheduler().pid if victim == "scheduler" else old, signal.SIGKILL)

    async def open_session() -> int:
        async with connect(served.stream_url) as client:
            # open before anybody knows of the loss, used after it
            context = client.context()
            await asyncio.to_thread(served.wait_for, "engine_losses_total", losses + 1, 60.0)
            assert served.metric("ready") == 0
            assert served.get("readyz").status_code == 503
            await context.send("Thank you for listening.")
            await context.end()
            async for _ in context:
                pass
            assert context.done is not None
            return context.done.frames

    assert asyncio.run(open_session()) > 0
    assert served.metric("ready") == 1
    assert served.metric("engine_restarts_total") == restarts + 1
    assert served.worker().pid != old
    _, alive = psutil.wait_procs(tree, timeout=10)
    assert alive == []
    assert asyncio.run(speak(served.stream_url)) > 0


def test_it_ends_in_bounded_time_though_its_worker_is_stopped(served: Served) -> None:
    tree = served.tree()
    os.kill(served.worker().pid, signal.SIGSTOP)
    os.kill(served.process.pid, signal.SIGINT)
    assert served.process.wait(timeout=60) == 0
    _, alive = psutil.wait_procs(tree[1:], timeout=10)
    assert alive == []
