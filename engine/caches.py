"""Where compiled code is kept between starts: one folder of the user's.

A start compiles two things. Python compiles every module that it has no bytecode of, eight seconds
for torch, SGLang and what they import; a package manager that installs without compiling, together
with an environment that forbids writing bytecode (containers, tools), makes that every start's
price. And numba compiles our kernels, ten seconds. Neither may depend on whether the folder of the
package can be written.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

# any module of the largest package that a worker imports, to see whether it has bytecode
_WITNESS = "sglang"


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The user's cache folder for this project, as the XDG base directories say."""
    home = environ.get("XDG_CACHE_HOME") or ""
    # the specification: a relative path is to be ignored
    base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
    return base / "voice-gateway"


def worker_environment(environ: Mapping[str, str], witness: str = _WITNESS) -> dict[str, str]:
    """The environment for a worker: what it compiles is kept, here or where the user says.

    `witness`: the package that is looked at, to see whether Python keeps bytecode by itself.
    """
    given = dict(environ)
    folder = cache_folder(environ)
    given.setdefault("NUMBA_CACHE_DIR", str(folder / "numba"))
    if "PYTHONPYCACHEPREFIX" not in given and not _bytecode_is_kept(witness):
        given["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        given.pop("PYTHONDONTWRITEBYTECODE", None)
    return given


def _bytecode_is_kept(package: str) -> bool:
    """Whether a package has bytecode beside its sources, or Python will put it there."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return True
    if Path(importlib.util.cache_from_source(spec.origin)).exists():
        return True
    return not sys.dont_write_bytecode and os.access(Path(spec.origin).parent, os.W_OK)


def kernels_mark(folder: Path, sources: Iterable[Path]) -> Path:
    """The file whose presence says that kernels of exactly these sources have been compiled.

    A hint only: if it is wrong, whoever needs a kernel compiles it. numba has its own check.
    """
    key = hashlib.sha256()
    key.update(f"{sys.version} {platform.machine()}\n".encode())
    for source in sorted(sources):
        status = source.stat()
        key.update(f"{source} {status.st_mtime_ns} {status.st_size}\n".encode())
    return folder / f"compiled-{key.hexdigest()[:32]}"
