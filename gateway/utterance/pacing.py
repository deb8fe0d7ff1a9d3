"""How many packets leave at a time.

A wake-up, a write and what they touch cost about as much as making a packet, so packets leave in
groups: so many that the lead suffers little by it.
"""

from __future__ import annotations

from gateway.types import ContextSettings

BURST_PACKETS = 16  # in a row; then others have their turn
GROUP_SHARE = 1 / 8  # of the lead: 180 ms of 1.5 s


def group_packets(settings: ContextSettings) -> int:
    """Packets in a group; 1 when there is too little lead for more."""
    return max(int(settings.lead_ms * GROUP_SHARE / settings.format.frame_ms), 1)
