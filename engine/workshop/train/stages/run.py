"""What every training stage shares: a time budget, progress with an estimate, a log, and resuming.

A stage's folder holds `last.pt` (model, optimiser, step, seconds spent; replaced in one move) and
`log.jsonl` (one object a report), from which the curves are drawn.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn


def schedule(progress: float, step: int, warmup_steps: int = 100, final: float = 0.03) -> float:
    """Learning-rate factor: linear warm-up, then linear decay to `final` at progress 1."""
    return min((step + 1) / warmup_steps, 1.0) * (
        1.0 - (1.0 - final) * min(max(progress, 0.0), 1.0)
    )


def done(folder: Path) -> tuple[int, float]:
    """Steps and processor seconds that a stage has behind it."""
    path = folder / "last.pt"
    if not path.exists():
        return 0, 0.0
    state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    return int(state["step"]), float(state["spent_s"])


class Run:
    """One stage of training, limited by the processor time it may take, over as many sittings as
    it needs.

    The budget counts this process's processor time, all threads together, not the clock: the
    learning rate follows the budget, and on a machine that others use the clock says little about
    work done. `parts`: what is saved and restored, by name (modules and optimisers).
    """

    def __init__(
        self,
        folder: Path,
        parts: Mapping[str, Any],
        budget_s: float,
        report_every_s: float = 20.0,
        save_every_s: float = 120.0,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.parts, self.budget_s = folder, parts, budget_s
        self.report_every_s, self.save_every_s = report_every_s, save_every_s
        self.step, self.spent_s = 0, 0.0
        self._sums: dict[str, float] = defaultdict(float)
        self._count = 0
        self._began, self._spent_before_s = time.monotonic(), 0.0
        path = folder / "last.pt"
        if path.exists():
            state = torch.load(path, map_location="cpu", weights_only=True)
            for name, part in parts.items():
                part.load_state_dict(state[name])
            self.step, self.spent_s = state["step"], state["spent_s"]
            self._spent_before_s = self.spent_s

    @property
    def progress(self) -> float:
        """Share of the budget that is used up, 0 to 1."""
        return min(self.spent_s / self.budget_s, 1.0)

    def steps(self) -> Iterator[int]:
        """Step numbers until the budget is used up; reports and saves on the way."""
        reported = saved = time.monotonic()
        used_s = time.process_time()
        while self.spent_s < self.budget_s:
            yield self.step
            self.step += 1
            self.spent_s += time.process_time() - used_s
            used_s = time.process_time()
            now = time.monotonic()
            if now - reported > self.report_every_s:
                self.report()
                reported = now
            if now - saved > self.save_every_s:
                self.save()
                saved = now
        self.save()

    def record(self, **values: float) -> None:
        """Add one step's figures; reports print their means."""
        self._count += 1
        for name, value in values.items():
            self._sums[name] += value

    def report(self, **extra: Any) -> None:
        """Print and log the means since the last report."""
        means = {name: round(total / max(self._count, 1), 4) for name, total in self._sums.items()}
        self._sums.clear()
        self._count = 0
        pace = (self.spent_s - self._spent_before_s) / max(time.monotonic() - self._began, 1e-9)
        left_s = (self.budget_s - self.spent_s) / max(pace, 1e-3)
        row = {"step": self.step, "spent_s": round(self.spent_s), **means, **extra}
        with (self.folder / "log.jsonl").open("a") as log:
            log.write(json.dumps(row) + "\n")
        figures = "  ".join(f"{name} {value}" for name, value in row.items())
        print(f"[{self.folder.name}] {figures}  left {left_s / 60:.1f} min", flush=True)

    def save(self) -> None:
        """Write `last.pt`, at once or not at all."""
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state |= {"step": self.step, "spent_s": self.spent_s}
        part_path = self.folder / "last.pt.part"
        torch.save(state, part_path)
        os.replace(part_path, self.folder / "last.pt")


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all groups."""
    for group in optimiser.param_groups:
        group["lr"] = rate


def clip(module: nn.Module, norm: float = 1.0) -> float:
    """Clip the gradient's norm; returns the norm before."""
    return float(nn.utils.clip_grad_norm_(module.parameters(), norm))
