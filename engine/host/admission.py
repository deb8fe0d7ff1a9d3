"""Who may speak now: stream slots, the pace that running streams need, and a bounded line."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.api import EngineOverloadedError
from engine.host.pace import Pace


@dataclass(order=True, slots=True)
class _Waiter:
    rank: tuple[int, int]  # most urgent first, then first come
    request_id: str = field(compare=False)
    turn: asyncio.Future[bool] = field(compare=False)


class Admission:
    """`max_streams` slots; at most `max_waiting` wait, the most urgent first.

    While `holds_back`, a free slot is given only when `pace` says that nobody who runs pays for it
    with silence. `clock`: seconds, monotonic.
    """

    def __init__(
        self,
        max_streams: int,
        max_waiting: int,
        pace: Pace,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.free = self._max_streams = max_streams
        self.holds_back = False
        self._max_waiting = max_waiting
        self._pace, self._clock = pace, clock
        self._line: list[_Waiter] = []
        self._arrivals = 0

    @property
    def waiting(self) -> int:
        """How many are in line."""
        return len(self._line)

    @property
    def running(self) -> int:
        """How many hold a slot."""
        return self._max_streams - self.free

    async def enter(self, request_id: str, priority: int) -> bool:
        """Take a slot, waiting in line if need be; False when `cancel` took it out of the line.

        Raises EngineOverloadedError when the line is full.
        """
        if not self._line and self._has_room():
            self._take(request_id)
            return True
        if len(self._line) >= self._max_waiting:
            raise EngineOverloadedError(
                f"{self.running} segments run and {len(self._line)} wait: retry later"
            )
        self._arrivals += 1
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiter = _Waiter((-priority, self._arrivals), request_id, turn)
        heapq.heappush(self._line, waiter)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.leave(request_id)  # the slot was ours already
            else:
                self._remove(waiter)
            raise

    def progress(self, request_id: str, frames: int) -> None:
        """A running stream has made frames: perhaps the next may start."""
        self._pace.frames(request_id, frames, self._clock())
        self._admit()

    def leave(self, request_id: str) -> None:
        """Give a slot back; it goes to the head of the line, as soon as the pace allows."""
        self.free += 1
        self._pace.end(request_id)
        self._admit()

    def cancel(self, request_id: str) -> None:
        """Take a request out of the line, if it is there."""
        for waiter in self._line:
            if waiter.request_id == request_id:
                self._remove(waiter)
                if not waiter.turn.done():
                    waiter.turn.set_result(False)
                return

    def _has_room(self) -> bool:
        return self.free > 0 and (not self.holds_back or self._pace.may_start(self._clock()))

    def _take(self, request_id: str) -> None:
        self.free -= 1
        self._pace.start(request_id, self._clock())

    def _admit(self) -> None:
        while self._line and self._has_room():
            waiter = heapq.heappop(self._line)
            if not waiter.turn.done():
                self._take(waiter.request_id)
                waiter.turn.set_result(True)

    def _remove(self, waiter: _Waiter) -> None:
        if waiter in self._line:
            self._line.remove(waiter)
            heapq.heapify(self._line)
