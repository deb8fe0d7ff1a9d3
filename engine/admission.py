"""Who may speak now: stream slots, and a bounded line of those who wait for one."""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass, field

from engine.api import EngineOverloadedError


@dataclass(order=True, slots=True)
class _Waiter:
    rank: tuple[int, int]  # most urgent first, then first come
    request_id: str = field(compare=False)
    turn: asyncio.Future[bool] = field(compare=False)


class Admission:
    """`max_streams` slots; at most `max_waiting` wait, the most urgent first."""

    def __init__(self, max_streams: int, max_waiting: int) -> None:
        self.free = self._max_streams = max_streams
        self._max_waiting = max_waiting
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
        if self.free:
            self.free -= 1
            return True
        if len(self._line) >= self._max_waiting:
            raise EngineOverloadedError(
                f"{self._max_streams} segments run and {len(self._line)} wait: retry later"
            )
        self._arrivals += 1
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiter = _Waiter((-priority, self._arrivals), request_id, turn)
        heapq.heappush(self._line, waiter)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.leave()  # the slot was ours already
            else:
                self._remove(waiter)
            raise

    def leave(self) -> None:
        """Give a slot back; it goes to the head of the line."""
        while self._line:
            turn = heapq.heappop(self._line).turn
            if not turn.done():
                turn.set_result(True)
                return
        self.free += 1

    def cancel(self, request_id: str) -> None:
        """Take a request out of the line, if it is there."""
        for waiter in self._line:
            if waiter.request_id == request_id:
                self._remove(waiter)
                if not waiter.turn.done():
                    waiter.turn.set_result(False)
                return

    def _remove(self, waiter: _Waiter) -> None:
        if waiter in self._line:
            self._line.remove(waiter)
            heapq.heapify(self._line)
