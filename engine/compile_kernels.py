"""Compile all numba kernels into numba's cache: `python -m engine.compile_kernels`.

A worker's first start runs it beside its own imports, so that the ten seconds cost no time where
there is a second core. Later starts find the mark, and begin no process.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from engine.caches import kernels_mark

_MODULES = (
    "engine.compiled",
    "engine.codec.kernels.fused",
    "engine.codec.kernels.tiles",
    "engine.models.cpu_kernels",
)


def compile_ahead() -> subprocess.Popen[bytes] | None:
    """Begin to compile in another process, unless that was done on an earlier start.

    Nor where nothing can be kept: then it would only be done twice.
    """
    mark = _mark()
    if mark is None or mark.exists() or not _can_be_written(mark.parent):
        return None
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "engine.compile_kernels"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _mark() -> Path | None:
    folder = os.environ.get("NUMBA_CACHE_DIR")
    if folder is None:
        return None
    specs = [importlib.util.find_spec(name) for name in _MODULES]
    return kernels_mark(Path(folder), [Path(spec.origin) for spec in specs if spec and spec.origin])


def main() -> None:
    """Compile by importing: each kernel names its one signature."""
    for name in _MODULES:
        importlib.import_module(name)
    mark = _mark()
    if mark is not None:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


if __name__ == "__main__":
    main()
