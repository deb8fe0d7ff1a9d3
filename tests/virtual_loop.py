"""An event loop whose clock jumps to whatever is due next: delays of any length take no time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any


class _JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting for a timeout, reports that it has passed."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("expected something to be due, got a loop that waits for ever")
        if ready := super().select(0):
            return ready
        self._jump(max(timeout, 0.0))
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code that touches no socket and no thread."""

    def __init__(self) -> None:
        self._now_s = 1000.0
        super().__init__(_JumpingSelector(self._advance))

    def _advance(self, duration_s: float) -> None:
        self._now_s += duration_s

    def time(self) -> float:
        return self._now_s


def run_virtually(main: Coroutine[Any, Any, Any]) -> Any:
    """Run to the end, in no time; what waits for ever is an error."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
