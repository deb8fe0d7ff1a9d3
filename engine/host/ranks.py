"""Which prefixes SGLang's cache keeps longest: those of the registered voices.

SGLang evicts what was cached under the lower rank first, and among equals what was used least
recently. A rank is a maximum: a later request can raise that of what it shares, nothing lowers it.
So a voice's prefix is pinned by one request of greater rank, the others have the ordinary one. When
a pinned voice is replaced or removed, its rank cannot be taken back; instead all later requests
rank above it: a new generation begins, in which the voices that are still registered are pinned
anew by the next request of each.
"""

from __future__ import annotations

# SGLang caches a retracted request's prompt one rank above the request's own
_PINNED, _GENERATION = 2, 4


class Ranks:
    """The ranks of one worker's requests. `voice` is always one that has references."""

    def __init__(self) -> None:
        self.ordinary = 0
        self._asked: set[str] = set()  # voices that were given the greater rank, this generation
        self._pinned: set[str] = set()  # ... and are known to be in the cache under it

    def ask(self, voice: str) -> int:
        """The rank for a voice's next request."""
        if voice in self._pinned:
            return self.ordinary
        self._asked.add(voice)
        return self.ordinary + _PINNED

    def prefilled(self, voice: str, rank: int, found: bool) -> None:
        """A request that was given `rank` has been prefilled; `found`: the prefix was cached."""
        if rank == self.ordinary + _PINNED:
            self._pinned.add(voice)
        elif not found:  # evicted although it was pinned, so now it has this request's rank
            self._pinned.discard(voice)

    def is_pinned(self, voice: str) -> bool:
        """Whether the voice's prefix is in the cache, as far as is known here."""
        return voice in self._pinned

    def retract(self, voice: str) -> None:
        """The voice means something else from now on, or nothing. Idempotent."""
        if voice not in self._asked:
            return
        self.ordinary += _GENERATION
        self._asked.clear()
        self._pinned.clear()
