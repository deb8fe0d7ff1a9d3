"""The timers of an event loop, in a test's hands: nothing fires unless the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass
class Timer:
    """What `call_later` was asked for."""

    delay_s: float
    callback: Callable[..., object]
    arguments: tuple[object, ...]
    cancelled: bool = False
    fired: bool = False

    def cancel(self) -> None:
        self.cancelled = True

    def fire(self) -> None:
        self.fired = True
        self.callback(*self.arguments)


class Timers:
    """What `call_later` was asked for, of the methods of some classes or of everyone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, of: type | tuple[type, ...] = ()) -> None:
        self._timers: list[Timer] = []
        self._of = of
        loop = asyncio.get_running_loop()
        self._real = loop.call_later
        monkeypatch.setattr(loop, "call_later", self._call_later)

    def running(self) -> list[Timer]:
        return [timer for timer in self._timers if not (timer.cancelled or timer.fired)]

    def _call_later(
        self, delay_s: float, callback: Callable[..., object], *args: object, **options: Any
    ) -> Any:
        if self._of and not isinstance(getattr(callback, "__self__", None), self._of):
            return self._real(delay_s, callback, *args, **options)
        self._timers.append(Timer(delay_s, callback, args))
        return self._timers[-1]
