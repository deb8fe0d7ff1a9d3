"""How much of the engine's output one turn of the event loop takes in, and whose comes first.

An engine that is ahead answers hundreds of requests at once, and each piece of sound costs time
(stitching, resampling). Taken in all at once, they would keep every packet waiting that falls due
meanwhile. So each turn takes in a few, and the rest wait behind timers and sockets: first goes
whoever's listener would run dry first, which is when the wait must have an end.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools

PER_TURN = 4  # of up to eight frames each: less than a millisecond


class LoopSlots:
    """Shared by all that take in."""

    def __init__(self, per_turn: int = PER_TURN) -> None:
        self._per_turn = per_turn
        self._left = per_turn
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []  # a heap
        self._order = itertools.count()
        self._renewal: asyncio.Handle | None = None

    @property
    def waiting(self) -> int:
        """How many wait for a later turn."""
        return sum(not future.done() for _, _, future in self._waiting)

    def take(self) -> bool:
        """Take a place in this turn, if there is one."""
        self._renew_later()
        if not self._left or self._waiting:
            return False
        self._left -= 1
        return True

    async def wait(self, deadline_ms: float) -> None:
        """Wait for a place in a later turn; the earliest deadline goes first."""
        self._renew_later()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (deadline_ms, next(self._order), future))
        await future

    def _renew_later(self) -> None:
        if self._renewal is None:
            self._renewal = asyncio.get_running_loop().call_soon(self._renew)

    def _renew(self) -> None:
        self._renewal = None
        self._left = self._per_turn
        while self._left and self._waiting:
            _, _, future = heapq.heappop(self._waiting)
            if not future.done():  # else whoever waited was cancelled
                future.set_result(None)
                self._left -= 1
        if self._left < self._per_turn:  # those just called run in the turn that comes
            self._renew_later()
