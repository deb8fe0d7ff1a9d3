"""The clients alone, built and installed: no server, no torch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMPORTS = {
    "": "clients.python",
    "[pipecat]": "clients.pipecat",
    "[livekit]": "clients.livekit",
}
HEAVY = ("torch", "sglang", "transformers", "starlette", "gateway", "engine")
CHECK = """
import importlib, importlib.util, sys
importlib.import_module(sys.argv[1])
found = [name for name in sys.argv[2:] if importlib.util.find_spec(name)]
assert not found, f"expected none of them, got {found}"
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution, built from a copy."""
    folder = tmp_path_factory.mktemp("wheel")
    source = shutil.copytree(ROOT / "clients", folder / "clients")
    subprocess.run(
        ["uv", "build", "--quiet", "--wheel", "-o", str(folder), str(source)], check=True
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.parametrize("extra", IMPORTS)
def test_an_installed_extra_imports_and_brings_nothing_heavy(
    wheel: Path, extra: str, tmp_path: Path
) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    make = ["uv", "venv", "--quiet", "--python", sys.executable, str(tmp_path / "venv")]
    subprocess.run(make, check=True)
    name = f"voice-gateway-client{extra} @ {wheel.as_uri()}"
    install = ["uv", "pip", "install", "--quiet", "--python", str(python), name]
    subprocess.run(install, check=True, timeout=500)
    check = [str(python), "-c", CHECK, IMPORTS[extra], *HEAVY]
    subprocess.run(check, check=True, cwd=tmp_path, timeout=120)
