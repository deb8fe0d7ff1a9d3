"""How long from the command to "ready", and to the first sound.

Each run is `voice-gateway serve` as a user types it, less what uv does before it: a new process
tree, ended again. `import_s` is what the worker spends on importing torch, SGLang and the plugin.
`cpu_s` is the whole tree's processor time until it is ready: other work on the machine changes it
little. The first start of a fresh clone has neither bytecode nor compiled kernels.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.parts.report import Spread, finish, say
from clients.python import connect

RUNS = 5
IDLE_S = 15.0
_ADDRESS = re.compile(r"http://(127\.0\.0\.1:\d+)/")
_IMPORTING, _IMPORTED = "importing torch and SGLang", "loading the codec"


@dataclass(frozen=True, slots=True)
class Start:
    """One start, in seconds since the command."""

    ready_s: float
    first_sound_s: float
    import_s: float
    cpu_s: float
    idle_cores: float


def start(cache: Path, idle_s: float = 0.0) -> Start:
    """Start the command with what earlier starts left in `cache`, speak, and end it."""
    environ = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONUNBUFFERED": "1"}
    environ["PYTHONPYCACHEPREFIX"] = str(cache / "bytecode")
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    stages: dict[str, float] = {}

    def read_stages() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            stages[line.split(" s  ", 1)[-1].strip()] = time.perf_counter() - began

    reading = threading.Thread(target=read_stages, daemon=True)
    reading.start()
    try:
        address = next(match[1] for line in process.stdout if (match := _ADDRESS.search(line)))
        ready_s, tree = time.perf_counter() - began, psutil.Process(process.pid)
        cpu_s = _cpu_s(tree)
        asyncio.run(_first_packet(f"ws://{address}"))
        first_sound_s = time.perf_counter() - began
        idle_cores = 0.0
        if idle_s:
            time.sleep(1.0)  # the sentence is over
            before_s = _cpu_s(tree)
            time.sleep(idle_s)
            idle_cores = (_cpu_s(tree) - before_s) / idle_s
    finally:
        process.terminate()
        process.wait()
        reading.join()
        process.stdout.close()
        process.stderr.close()
    return Start(ready_s, first_sound_s, stages[_IMPORTED] - stages[_IMPORTING], cpu_s, idle_cores)


def _cpu_s(root: psutil.Process) -> float:
    """Processor time of a tree, children that have ended included."""
    return sum(sum(process.cpu_times()[:4]) for process in (root, *root.children(recursive=True)))


async def _first_packet(url: str) -> None:
    async with connect(url) as client:
        context = client.context(lead_ms=0)
        await context.send("Hello.")
        await context.end()
        async for _ in context:
            return


def main() -> None:
    """Run and report."""
    with tempfile.TemporaryDirectory() as folder:
        first = start(Path(folder))
        say(f"first: {first}")
        later = []
        for run in range(RUNS):
            later.append(start(Path(folder), IDLE_S if run == 0 else 0.0))
            say(f"later: {later[-1]}")
    finish(
        benchmark="start",
        ready_s=Spread.of([run.ready_s for run in later], 2),
        first_sound_s=Spread.of([run.first_sound_s for run in later], 2),
        import_s=Spread.of([run.import_s for run in later], 2),
        cpu_s=Spread.of([run.cpu_s for run in later], 2),
        idle_cores=round(later[0].idle_cores, 4),
        first_ready_s=round(first.ready_s, 2),
        first_first_sound_s=round(first.first_sound_s, 2),
        first_import_s=round(first.import_s, 2),
        first_cpu_s=round(first.cpu_s, 2),
        load_average=round(os.getloadavg()[0], 2),
    )


if __name__ == "__main__":
    main()
