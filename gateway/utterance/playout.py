"""What was sent of a context, and how much of that has been heard.

Theory of operation. The listener's player is a clock that runs while it has something to play. An
anchor says where that clock stood at one moment; from there it is assumed to run at one
millisecond per millisecond, up to what was sent. Three things move the anchor: the first packet
(playback starts when the context before it has been played), a packet that arrives after the
player has run dry (playback goes on from there), and a report of the client (which is believed).

All positions are milliseconds on the context's own time line, pre-skip excluded.
"""

from __future__ import annotations

import math

MAX_PRIORITY = 100
COMFORTABLE_LEAD_MS = 2000.0


class Playout:
    """The sent, played and heard positions of one context.

    `previous` is the playout of the context that is played before this one, if any.
    """

    def __init__(self, previous: Playout | None = None) -> None:
        self.sent_ms = 0.0
        while previous is not None and previous._was_skipped:
            previous = previous._previous
        self._previous: Playout | None = previous
        self._first_sent_at_ms: float | None = None
        self._anchor: tuple[float, float] | None = None  # (time, position)
        self._reported_ms = 0.0
        self._cut: tuple[float, float] | None = None  # (time, heard)

    def note_sent(self, end_ms: float, now_ms: float) -> None:
        """A packet that ends at `end_ms` has left."""
        if self._first_sent_at_ms is None:
            self._first_sent_at_ms = now_ms
        elif self.end_at_ms() < now_ms:
            self._set_anchor(now_ms, self.sent_ms)
        self.sent_ms = max(self.sent_ms, end_ms)

    def report(self, played_ms: float, now_ms: float) -> None:
        """The client says that it has played up to `played_ms`.

        A report below an earlier one came late and is ignored; one beyond what was sent is capped.
        """
        if self._first_sent_at_ms is None or self._cut or played_ms < self._reported_ms:
            return
        self._reported_ms = min(played_ms, self.sent_ms)
        self._set_anchor(now_ms, self._reported_ms)

    def rewind(self, received_ms: float, now_ms: float) -> None:
        """What was sent beyond `received_ms` got lost, and is being sent again only now."""
        if self._cut is None and self.position_ms(now_ms) > received_ms:
            self._set_anchor(now_ms, received_ms)

    def cut(self, now_ms: float) -> None:
        """Playback was stopped: what has been heard until now is all that ever will be."""
        if self._cut is None:
            self._cut = (now_ms, self.heard_ms(now_ms))

    def position_ms(self, now_ms: float) -> float:
        """The player's clock: negative while an earlier context plays, above `sent_ms` when dry."""
        if self._anchor is not None:
            at_ms, position_ms = self._anchor
            return position_ms + now_ms - at_ms
        return now_ms - self._start_at_ms(now_ms)

    def heard_ms(self, now_ms: float) -> float:
        """How much has been heard; never more than was sent."""
        if self._cut is not None:
            return self._cut[1]
        return min(max(self.position_ms(now_ms), 0.0), self.sent_ms)

    def lead_ms(self, now_ms: float) -> float:
        """How long the player can go on with what it has, an earlier context's rest included."""
        return max(self.sent_ms - self.position_ms(now_ms), 0.0)

    def due_at_ms(self, packet_ms: float, target_ms: float) -> float:
        """When the next packet may leave so that the lead stays within `target_ms`.

        A target of 0 means at once; one below a packet's length is taken as one packet.
        """
        if target_ms <= 0.0:
            return -math.inf
        position_ms = self.sent_ms + packet_ms - max(target_ms, packet_ms)
        if self._anchor is not None:
            return self._anchor[0] + position_ms - self._anchor[1]
        if self._first_sent_at_ms is None and self._previous is None:
            return -math.inf
        return self._start_at_ms(-math.inf) + position_ms

    def end_at_ms(self) -> float:
        """When everything sent so far will have been heard, and what is played before it."""
        if self._cut is not None:
            before_ms = -math.inf if self._previous is None else self._previous.end_at_ms()
            return max(self._cut[0], before_ms)
        if self._anchor is not None:
            return self._anchor[0] + self.sent_ms - self._anchor[1]
        return self._start_at_ms(-math.inf) + self.sent_ms

    def settle(self, now_ms: float) -> None:
        """All was sent: forget the context before this one, so that no chain of them builds up."""
        if self._anchor is None:
            self._set_anchor(self._start_at_ms(now_ms), 0.0)

    @property
    def _was_skipped(self) -> bool:
        """It was cut before the listener came to it: whoever follows waits for the one before."""
        return self._cut is not None and self._previous is not None

    def _start_at_ms(self, now_ms: float) -> float:
        """When playback starts: after the first packet, and after the context before."""
        first_ms = now_ms if self._first_sent_at_ms is None else self._first_sent_at_ms
        return first_ms if self._previous is None else max(first_ms, self._previous.end_at_ms())

    def _set_anchor(self, now_ms: float, position_ms: float) -> None:
        self._anchor = (now_ms, position_ms)
        self._previous = None


def priority(lead_ms: float) -> int:
    """How urgent sound is to a listener with so much lead: greater is more urgent."""
    missing = 1.0 - min(max(lead_ms, 0.0) / COMFORTABLE_LEAD_MS, 1.0)
    return round(MAX_PRIORITY * missing)
