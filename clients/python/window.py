"""How much text may wait in the gateway: what exceeds its limit waits here instead.

The gateway refuses text beyond `max_buffered_chars`, counted over all contexts of the session from
its arrival until the engine has it. A client cannot see that moment, but a little later it sees
each segment begin to sound, so what it counts here is never too little. Contexts are played in the
order of their opening: those behind the first one may fill only half of the room, or the first
one's text could not come any more and all would wait for one another.
"""

from __future__ import annotations

import asyncio

MAX_PIECE_CHARS = 4096


class TextWindow:
    """Characters of one session that were sent and have not begun to sound."""

    def __init__(self, limit_chars: float, max_message_bytes: float) -> None:
        self._limit = limit_chars
        # JSON writes a character in 6 bytes at most; the rest of the message is small.
        by_message = (max_message_bytes - 1024) // 6
        self.piece_chars = int(max(1, min(MAX_PIECE_CHARS, limit_chars // 2, by_message)))
        self._waiting: dict[str, int] = {}  # characters by context, in the order of their opening
        self._moved = asyncio.Event()

    @property
    def waiting_chars(self) -> int:
        """Of all contexts together."""
        return sum(self._waiting.values())

    def has_room(self, context_id: str, chars: int) -> bool:
        """Whether a context may send so many more now."""
        first = next(iter(self._waiting), context_id) == context_id
        return self.waiting_chars + chars <= (self._limit if first else self._limit / 2)

    def take(self, context_id: str, chars: int) -> None:
        """So many are sent, or none yet: the context is opened."""
        self._waiting[context_id] = self._waiting.get(context_id, 0) + chars

    def give_back(self, context_id: str, chars: int) -> None:
        """So many have begun to sound."""
        if context_id in self._waiting:
            self._waiting[context_id] -= chars
            self.wake()

    def leave(self, context_id: str) -> None:
        """The context is over: nothing of it waits any more."""
        self._waiting.pop(context_id, None)
        self.wake()

    def wake(self) -> None:
        """Have everybody who waits look again."""
        self._moved.set()

    async def moved(self) -> None:
        """Wait until something may have changed."""
        self._moved.clear()
        await self._moved.wait()
