"""How many frames are kept back, so that a fault is seen before it is heard. Pure.

What has left cannot be drawn again, so the newest `HOLD_MS` of sound wait, as far as the listener
can spare them: while he has less than `LOW_MS` to go on with, frames leave at once. His lead is
what he had when the segment was asked for and what has left since, less the time that went by; it
begins with the first frame where he had nothing.

A seed promises the same codes again, and a clock keeps no promises: then the count of frames alone
decides. The first leave at once and more are kept back as the engine runs ahead, or, where turns
came before, all from the first on.
"""

from __future__ import annotations

from dataclasses import dataclass

HOLD_MS = 600.0
LOW_MS = 300.0
_SEEDED_SHARE = 4  # of so many frames made, one waits


@dataclass(slots=True)
class Holding:
    """One segment's. `lead_ms`: what the listener had at `start_s`."""

    frame_ms: float
    lead_ms: float
    start_s: float
    seeded: bool = False
    continues: bool = False  # turns came before

    def leaving(self, made: int, left: int, now_s: float) -> int:
        """How many frames may have left in all, of `made`, when `left` have."""
        most = round(HOLD_MS / self.frame_ms)
        if self.seeded:
            held = most if self.continues else min(most, made // _SEEDED_SHARE)
            return max(left, made - held)
        if not left and self.lead_ms <= 0.0:  # nobody hears anything yet
            self.start_s = now_s
        needed = LOW_MS - self.lead_ms + 1000.0 * (now_s - self.start_s)
        wanted = int(-(-needed // self.frame_ms)) if needed > 0.0 else 0
        return min(made, max(left, made - most, wanted))
