"""Which rows of the codec's state belong to running streams."""

from __future__ import annotations

import heapq


class SlotError(RuntimeError):
    """A slot was asked for when none is free, or used without being allocated."""


class SlotPool:
    """Hands out row numbers 0 .. size - 1, lowest first, so that running streams lie together."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"expected at least 1 slot, got {size}")
        self.size = size
        self._free = list(range(size))
        self._used: set[int] = set()

    @property
    def free_count(self) -> int:
        """Slots that allocate() can still hand out."""
        return len(self._free)

    def allocate(self) -> int:
        """The lowest free slot. Raises SlotError when all are in use."""
        if not self._free:
            raise SlotError(f"expected a free slot, all {self.size} are in use")
        slot = heapq.heappop(self._free)
        self._used.add(slot)
        return slot

    def free(self, slot: int) -> None:
        """Give a slot back. Raises SlotError if it is not allocated."""
        self.check_allocated(slot)
        self._used.remove(slot)
        heapq.heappush(self._free, slot)

    def check_allocated(self, slot: int) -> None:
        """Raises SlotError if the slot is not allocated."""
        if slot not in self._used:
            raise SlotError(f"expected an allocated slot, got {slot} ({len(self._used)} in use)")

    def check(self) -> None:
        """Integrity: every slot is either free or in use, once. Raises AssertionError."""
        if sorted([*self._free, *self._used]) != list(range(self.size)):
            raise AssertionError(f"slots lost or doubled: free {self._free}, used {self._used}")
