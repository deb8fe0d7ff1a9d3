"""Edit distance."""

from __future__ import annotations

from collections.abc import Sequence


def edit_distance(expected: Sequence[object], heard: Sequence[object]) -> int:
    """Least number of insertions, deletions and substitutions."""
    row = list(range(len(heard) + 1))
    for i, a in enumerate(expected, 1):
        previous, row[0] = row[0], i
        for j, b in enumerate(heard, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]
