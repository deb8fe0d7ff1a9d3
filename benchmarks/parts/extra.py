"""What only some benchmarks need: they say what to type when it is not installed."""

from __future__ import annotations

import importlib.util
import shlex
import sys


def need(extra: str, *modules: str) -> None:
    """Ends the program, unless these modules of an optional extra can be imported."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        command = shlex.join(["python", "-m", spec.name if spec else "benchmarks", *sys.argv[1:]])
        raise SystemExit(
            f"expected the packages of the extra `{extra}`, got none of {', '.join(missing)}; "
            f"type: uv run --extra {extra} {command}"
        )
