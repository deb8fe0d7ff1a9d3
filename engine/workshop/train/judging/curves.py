"""Draw a stage's log.jsonl: one panel a figure, training and held-out together. Needs matplotlib
(extra `train`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_NOT_DRAWN = ("step", "spent_s")


def read_log(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Figure -> (minutes of processor time, value) in order. Lines cut short by a crash are
    skipped.
    """
    series: dict[str, list[tuple[float, float]]] = {}
    for line in path.read_text("utf-8").splitlines():
        try:
            row: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        for name, value in row.items():
            if name not in _NOT_DRAWN and isinstance(value, (int, float)):
                series.setdefault(name, []).append((row["spent_s"] / 60, float(value)))
    return series


def draw(folder: Path) -> Path:
    """Write `curves.svg` beside the log of a stage's folder. Raises FileNotFoundError."""
    from matplotlib.figure import Figure

    series = read_log(folder / "log.jsonl")
    names = [name for name in series if not name.startswith("held_")]
    figure = Figure(figsize=(4 * min(len(names), 3), 3 * -(-len(names) // 3)), layout="constrained")
    for index, name in enumerate(names):
        axes = figure.add_subplot(-(-len(names) // 3), min(len(names), 3), index + 1)
        axes.plot(*zip(*series[name], strict=True), label="training")
        if held := series.get(f"held_{name}"):
            axes.plot(*zip(*held, strict=True), label="held out")
            axes.legend()
        axes.set_title(name)
        axes.set_xlabel("minutes of processor time")
    target = folder / "curves.svg"
    figure.savefig(target)
    return target
