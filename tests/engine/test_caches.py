"""Compiled code is kept, whoever owns the package's folder and whatever the environment forbids."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from engine.caches import cache_folder, kernels_mark, worker_environment

PACKAGE = "package_without_bytecode"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The source of a package that nobody has imported yet."""
    source = tmp_path / "site" / PACKAGE / "__init__.py"
    source.parent.mkdir(parents=True)
    source.write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(source.parents[1])
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return source


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/big/cache"}) == Path("/big/cache/voice-gateway")
    monkeypatch.setenv("HOME", str(tmp_path))
    for unusable in ({}, {"XDG_CACHE_HOME": ""}, {"XDG_CACHE_HOME": "relative"}):
        assert cache_folder(unusable) == tmp_path / ".cache" / "voice-gateway"


def test_bytecode_goes_beside_the_sources_where_python_puts_it_there(package: Path) -> None:
    given = worker_environment({"PATH": "/bin"}, PACKAGE)
    assert given.keys() == {"PATH", "NUMBA_CACHE_DIR"}


@pytest.mark.parametrize("hindrance", ["forbidden", "read-only"])
def test_else_it_goes_into_the_cache(
    package: Path, monkeypatch: pytest.MonkeyPatch, hindrance: str
) -> None:
    environ = {"XDG_CACHE_HOME": "/cache"}
    if hindrance == "forbidden":
        environ["PYTHONDONTWRITEBYTECODE"] = "1"
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    else:  # by no permission bits: the tests may run as root
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert worker_environment(environ, PACKAGE) == {
        "XDG_CACHE_HOME": "/cache",
        "NUMBA_CACHE_DIR": "/cache/voice-gateway/numba",
        "PYTHONPYCACHEPREFIX": "/cache/voice-gateway/bytecode",
    }
    # compiled when it was installed: nothing is to be done
    bytecode = Path(importlib.util.cache_from_source(str(package)))
    bytecode.parent.mkdir()
    bytecode.touch()
    assert "PYTHONPYCACHEPREFIX" not in worker_environment(environ, PACKAGE)


def test_the_users_own_choice_stands(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    chosen = {
        "NUMBA_CACHE_DIR": "/n",
        "PYTHONPYCACHEPREFIX": "/p",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    assert worker_environment(chosen, PACKAGE) == chosen


def test_a_mark_is_of_these_sources(tmp_path: Path) -> None:
    sources = [tmp_path / "a.py", tmp_path / "b.py"]
    for source in sources:
        source.write_text("x", encoding="utf-8")
    mark = kernels_mark(tmp_path, sources)
    assert mark == kernels_mark(tmp_path, reversed(sources))
    os.utime(sources[0], ns=(1, 1))
    touched = kernels_mark(tmp_path, sources)
    sources[1].write_text("xy", encoding="utf-8")
    os.utime(sources[1], ns=(2, 2))
    assert len({mark, touched, kernels_mark(tmp_path, sources)}) == 3
