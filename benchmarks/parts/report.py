"""What every benchmark shares: medians with spread, memory, and the JSON line at the end."""

from __future__ import annotations

import json
import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psutil


@dataclass(frozen=True, slots=True)
class Spread:
    """Minimum, median and maximum of several runs."""

    minimum: float
    median: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float], digits: int = 3) -> Spread:
        """Summarise at least one value."""
        return cls(
            round(min(values), digits),
            round(statistics.median(values), digits),
            round(max(values), digits),
        )

    def __str__(self) -> str:
        return f"{self.median} ({self.minimum} to {self.maximum})"


def say(text: str) -> None:
    """A line of progress for a person; the report itself goes to standard output."""
    print(text, file=sys.stderr, flush=True)


def machine() -> str:
    """The machine in words."""
    memory_gib = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.machine()}"


def tree_memory_mib(pid: int) -> dict[str, int]:
    """Memory of a process and all its descendants, by name, in MiB.

    Proportional set size: the scheduler is forked from the worker, and what they share counts once.
    """
    root = psutil.Process(pid)
    sizes: dict[str, int] = {}
    for process in (root, *root.children(recursive=True)):
        name = process.name()
        while name in sizes:
            name += "'"
        sizes[name] = round(process.memory_full_info().pss / 2**20)
    return sizes


def finish(**figures: Any) -> None:
    """Print the report as one JSON line, the last of the run."""
    print(json.dumps({"machine": machine(), **figures}, default=asdict), flush=True)
