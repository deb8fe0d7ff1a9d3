"""Sound that nobody needs yet is handed on several frames at a time.

To take in a frame costs about as much for one frame as for several: the session's steps, the seams,
the resampler's caches. So while the listener has enough to go on with, frames wait for the next
ones, but never long; a listener who runs low gets each frame at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.api import Frames

FRAMES_AT_ONCE = 8  # events of the engine, as a rule of one frame each
SAFE_LEAD_MS = 500.0  # with less to go on with, a listener waits for every frame
LONGEST_HOLD_MS = 400.0


def joined(parts: list[Frames]) -> Frames:
    """Consecutive pieces as one."""
    if len(parts) == 1:
        return parts[0]
    return Frames(
        first_frame=parts[0].first_frame,
        pcm=b"".join(part.pcm for part in parts),
        codes=b"".join(part.codes for part in parts),
        text_tokens=tuple(token for part in parts for token in part.text_tokens),
    )


class Gatherer:
    """The frames of one request that wait. `hand_on` takes those that have waited long enough."""

    def __init__(self, hand_on: Callable[[Frames], None]) -> None:
        self._hand_on = hand_on
        self._held: list[Frames] = []
        self._timer: asyncio.TimerHandle | None = None

    def add(self, frames: Frames, lead_ms: Callable[[], float]) -> Frames | None:
        """Hold frames back, or return all that were held with them.

        `lead_ms`: how long the listener can go on without them; asked when a wait begins.
        """
        self._held.append(frames)
        if len(self._held) >= FRAMES_AT_ONCE:
            return self.take()
        if self._timer is None:
            if lead_ms() < SAFE_LEAD_MS + LONGEST_HOLD_MS:
                return self.take()
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(LONGEST_HOLD_MS / 1000.0, self.flush)
        return None

    def take(self) -> Frames | None:
        """What is held, if anything is; from now on it is the caller's."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held = self._held, []
        return joined(held) if held else None

    def flush(self) -> None:
        """Hand on what is held."""
        if (frames := self.take()) is not None:
            self._hand_on(frames)
