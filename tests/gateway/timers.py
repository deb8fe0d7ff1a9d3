"""The timers of an event loop, in a test's hands: nothing fires unless the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

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
    """The loop's timers under the test's control."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._timers: list[Timer] = []
        monkeypatch.setattr(asyncio.get_running_loop(), "call_later", self._call_later)

    def running(self) -> list[Timer]:
        return [timer for timer in self._timers if not (timer.cancelled or timer.fired)]

    def _call_later(self, delay_s: float, callback: Callable[..., object], *args: object) -> Timer:
        self._timers.append(Timer(delay_s, callback, args))
        return self._timers[-1]
