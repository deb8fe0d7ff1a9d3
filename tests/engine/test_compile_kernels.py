"""A first start compiles all kernels in a process of its own; later ones begin none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import engine
from engine import compile_kernels

ROOT = Path(engine.__file__).parent


def test_no_kernel_is_left_out() -> None:
    with_kernels = {
        "engine." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in ROOT.rglob("*.py")
        if re.search(r"^@compiled\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert with_kernels == set(compile_kernels._MODULES)


def test_without_a_cache_nothing_is_compiled_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert compile_kernels.compile_ahead() is None


def test_where_nothing_can_be_kept_nothing_is_compiled_ahead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "numba"))
    assert compile_kernels.compile_ahead() is None


@pytest.mark.slow
def test_what_one_process_compiled_the_next_one_finds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    process = compile_kernels.compile_ahead()
    assert process is not None
    assert process.wait() == 0
    kept = set(tmp_path.rglob("*.nbc"))
    assert len(kept) >= len(compile_kernels._MODULES)
    assert compile_kernels.compile_ahead() is None
