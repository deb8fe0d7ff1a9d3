"""The clients stand alone, and the protocol needs neither codecs nor arrays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for room in ("python", "sound", "cli", "examples")
    for path in (ROOT / "clients" / room).glob("[a-z]*.py")
    if path.stem not in ("pipecat_agent", "livekit_agent")  # with their frameworks: tests/vendors
)


@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        (MODULES, ("torch", "sglang", "starlette", "uvicorn")),
        (["clients.python", "clients.python.sync"], ("av", "numpy", "rich", "openai")),
    ],
    ids=["everything", "the protocol"],
)
def test_in_a_fresh_interpreter(imported: list[str], absent: tuple[str, ...]) -> None:
    """Importing the gateway or the engine would fail there."""
    assert imported
    code = (
        "import sys; sys.modules['gateway'] = sys.modules['engine'] = None; "
        f"import {', '.join(imported)}; "
        f"found = set({absent!r}) & set(sys.modules); assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_it_says_that_it_is_typed() -> None:
    """PEP 561: or a user's type checker ignores the annotations."""
    assert (ROOT / "clients" / "py.typed").is_file()
