"""Vendors' SDKs, each in an environment of its own, made once and kept in the user's cache.

Nothing of them is needed to run this project, and some of them cannot share one environment. The
versions are the ones that the README's table names.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "voice-gateway-tests"
INSTALL_TIMEOUT_S = 540
DRIVE_TIMEOUT_S = 240


def python_of(*requirements: str) -> Path:
    """The interpreter of a virtual environment with exactly these packages."""
    with _made("python", requirements) as folder:
        python = folder / "bin" / "python"
        if not (folder / "complete").exists():
            _run(["uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)])
            _run(["uv", "pip", "install", "--quiet", "--python", str(python), *requirements])
            (folder / "complete").touch()
    return python


def client_requirements(extra: str) -> tuple[str, ...]:
    """What the distribution of the clients alone asks for, with one of its extras."""
    path = Path(__file__).parents[2] / "clients" / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return (*project["dependencies"], *project["optional-dependencies"][extra])


def node_folder(*packages: str) -> Path:
    """A folder whose node_modules holds exactly these npm packages."""
    with _made("node", packages) as folder:
        if not (folder / "complete").exists():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "package.json").write_text('{"private": true, "type": "module"}')
            quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
            _run(["npm", "install", *quiet, *packages], folder)
            (folder / "complete").touch()
    return folder


def drive_python(script: Path, requirements: Sequence[str], *arguments: str) -> dict[str, object]:
    """Run a driver with an SDK; returns the JSON object that it prints last."""
    return _drive([str(python_of(*requirements)), str(script), *arguments], script.parent)


def drive_node(script: Path, packages: Sequence[str], *arguments: str) -> dict[str, object]:
    """Run a driver with npm packages; returns the JSON object that it prints last."""
    folder = node_folder(*packages)
    shutil.copy(script, folder / script.name)  # an import looks for packages beside the script
    return _drive(["node", str(folder / script.name), *arguments], folder)


def _drive(command: list[str], folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(_run(command, folder, DRIVE_TIMEOUT_S).splitlines()[-1])
    return found


def _run(command: list[str], folder: Path | None = None, timeout_s: int = INSTALL_TIMEOUT_S) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("VIRTUAL_", "PYTHON"))}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout_s
    )
    if done.returncode:
        raise AssertionError(
            f"{' '.join(command[:4])}: expected status 0, got {done.returncode}\n"
            f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        )
    return done.stdout


@contextmanager
def _made(kind: str, parts: Sequence[str]) -> Iterator[Path]:
    """The folder of an environment, locked: tests of several sessions may make the same one."""
    name = hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{kind}-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield CACHE / f"{kind}-{name}"
