"""Where one utterance was cut off and the next one begins: the faded tail, while it may be heard.

Nobody knows whether the listener's player drops what it holds at a barge-in or plays it to the end.
So the tail counts as audible for as long as the slower of the two would take.
"""

from __future__ import annotations


class FadedTail:
    """The newest faded tail of one session. It is crossfaded at most once."""

    def __init__(self) -> None:
        self._tail_ms = 0.0
        self._until_ms = 0.0

    def leave(self, tail_ms: float, lead_ms: float, now_ms: float) -> None:
        """A tail was sent whose last `tail_ms` are faded; it is the last of `lead_ms` to play."""
        self._tail_ms = tail_ms
        self._until_ms = now_ms + max(lead_ms, tail_ms)

    def overlap_ms(self, now_ms: float) -> float:
        """How long an utterance that begins now fades in over the tail; 0 when there is none."""
        return self._tail_ms if now_ms < self._until_ms else 0.0

    def close(self) -> None:
        """An utterance has begun: the tail is behind it."""
        self._tail_ms = 0.0
