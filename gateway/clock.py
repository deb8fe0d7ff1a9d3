"""The one clock of the shell; the core is told the time."""

from __future__ import annotations

import time


def clock_ms() -> float:
    """Monotonic time. The loop's own clock is coarser and stands still within one iteration."""
    return time.monotonic() * 1000
