"""When a lost connection is opened again, and when that is no use. No sockets, no clock.

Theory of operation. A loss begins an outage; tries are further and further apart. The outage is
over when something of ours or of the gateway's has got through, or a connection has lasted: one
that takes us in and hangs up at once is part of it. And a message that ends every connection it is
sent over would be sent for ever, so one that has not taken effect after `MAX_FRUITLESS` more
connections was the last.
"""

from __future__ import annotations

import random
from collections.abc import Callable

FIRST_WAIT_S, LONGEST_WAIT_S = 0.05, 2.0
LASTED_S = 5.0  # after that, a loss is no answer to how the connection began
MAX_FRUITLESS = 3


class Retries:
    """Times are in seconds on any one monotonic clock."""

    def __init__(self, now_s: float, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._opened_s = now_s
        self._give_up_s: float | None = None  # of the outage
        self._wait_s = 0.0
        self._acknowledged = 0
        self._received = 0
        self._fruitless = 0

    def lost(self, window_s: float, received: int, now_s: float) -> None:
        """The connection is gone; the gateway keeps the session for `window_s`.

        `received`: how many messages of the gateway have come.
        """
        lasted = now_s - self._opened_s >= LASTED_S
        if lasted:
            self._wait_s = 0.0
        if self._give_up_s is None or lasted or received > self._received:
            self._give_up_s = now_s + window_s
        self._received = received

    def next_wait_s(self, now_s: float) -> float | None:
        """How long to wait before the next try; None: give up."""
        wait_s = self._wait_s * (1.0 - 0.5 * self._chance())  # clients do not come back as one
        self._wait_s = min(max(2.0 * self._wait_s, FIRST_WAIT_S), LONGEST_WAIT_S)
        give_up_s = now_s if self._give_up_s is None else self._give_up_s
        return wait_s if now_s + wait_s < give_up_s else None

    def reopened(self, acknowledged: int, unconfirmed: int, now_s: float) -> bool:
        """A try succeeded. Returns whether it is worth going on.

        `acknowledged`: how many of our messages have taken effect, `unconfirmed`: how many not.
        """
        self._opened_s = now_s
        if acknowledged > self._acknowledged:
            self._give_up_s = None
        fruitless = unconfirmed and acknowledged == self._acknowledged
        self._fruitless = self._fruitless + 1 if fruitless else 0
        self._acknowledged = acknowledged
        return self._fruitless < MAX_FRUITLESS
