"""`voice-gateway doctor`: whether this machine has what it takes, and what to do if not."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import psutil
from rich.table import Table

from clients.cli.probe import probe
from clients.sound.device import find_player
from gateway.audio import opus_backend
from gateway.cli import display
from gateway.config import Config

MIN_FREE_MEMORY_GIB = 3.0
_TORCH_TIMEOUT_S = 120
# In a process of its own: the gateway must not import torch, and a broken one must not end us.
_TORCH_PROBE = (
    "import torch; "
    "print(torch.__version__, 'with CUDA' if torch.cuda.is_available() else 'CPU only')"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `needed`: without it the engine or the gateway cannot run."""

    what: str
    ok: bool
    detail: str
    needed: bool = True


def examine(config: Config) -> Iterator[Finding]:
    """Every check, cheapest first."""
    yield _python()
    yield _package("sglang")
    yield _opus()
    yield _memory()
    yield _port(config.host, config.port)
    yield _player()
    yield _torch()


def doctor(config: Config) -> bool:
    """Show what this machine has; True if nothing needed is missing."""
    findings = []
    with display.stages("looking") as stage:
        for finding in examine(config):
            stage(finding.what)
            findings.append(finding)
    return _show(findings)


async def try_gateway(url: str, api_key: str | None) -> None:
    """Show what a running gateway does. Ends the command with an error when it does not speak."""
    if not _show([Finding(s.what, s.ok, s.detail) async for s in probe(url, api_key)]):
        raise display.CommandError("this gateway does not speak; see the line marked no")


def _show(findings: Sequence[Finding]) -> bool:
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in findings:
        mark = "[green]ok[/]" if finding.ok else "[red]no[/]" if finding.needed else "[yellow]-[/]"
        table.add_row(mark, finding.what, finding.detail)
    display.out.print(table)
    return all(finding.ok or not finding.needed for finding in findings)


def _guarded(what: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, check())
    except Exception as error:  # whatever is broken here is what the user wants to read
        return Finding(what, False, f"{type(error).__name__}: {error}")


def _python() -> Finding:
    good = (3, 11) <= sys.version_info[:2] <= (3, 12)
    wanted = "" if good else "; expected 3.11 or 3.12"
    return Finding("python", good, f"{platform.python_version()} on {platform.machine()}{wanted}")


def _package(name: str) -> Finding:
    return _guarded(name, lambda: importlib.metadata.version(name))


def _opus() -> Finding:
    return _guarded("libopus", opus_backend)


def _memory() -> Finding:
    free_gib = psutil.virtual_memory().available / 2**30
    good = free_gib >= MIN_FREE_MEMORY_GIB
    wanted = "" if good else f"; expected at least {MIN_FREE_MEMORY_GIB:.0f} GiB"
    return Finding("free memory", good, f"{free_gib:.1f} GiB{wanted}")


def _port(host: str, port: int) -> Finding:
    def bind() -> str:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
        return f"{host}:{port} is free"

    return _guarded("port", bind)


def _player() -> Finding:
    name = find_player()
    detail = shutil.which(name) or name if name else "none found; `say` can still write files"
    return Finding("player for --play", name is not None, detail, needed=False)


def _torch() -> Finding:
    def probe() -> str:
        result = subprocess.run(
            [sys.executable, "-c", _TORCH_PROBE],
            capture_output=True,
            text=True,
            timeout=_TORCH_TIMEOUT_S,
            check=False,
        )
        if result.returncode:
            raise RuntimeError((result.stderr.strip().splitlines() or ["no message"])[-1])
        return result.stdout.strip()

    return _guarded("torch", probe)
