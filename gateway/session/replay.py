"""What a resumable session has sent lately, so that a client that was cut off can have it again.

Messages are counted, not numbered on the wire: a WebSocket delivers a prefix of what was sent, so
how many messages a client has received says exactly which ones it lacks.
"""

from __future__ import annotations

from collections import deque

from gateway.errors import ResumeExpiredError
from gateway.types import Audio, Event, Words

_OVERHEAD_BYTES = 256  # of any event, about
_WORD_BYTES = 128


class Replay:
    """The newest events, at most about `max_bytes` of them. The greeting does not count."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self._count = 0  # of all events ever noted

    def __len__(self) -> int:
        return len(self._kept)

    def note(self, event: Event) -> None:
        """An event has been sent, or would have been."""
        size = _size_bytes(event)
        self._kept.append((event, size))
        self._bytes += size
        self._count += 1
        while self._bytes > self._max_bytes:
            _, size = self._kept.popleft()
            self._bytes -= size

    def since(self, received: int) -> tuple[Event, ...]:
        """What a client lacks that has received so many messages.

        Raises ResumeExpiredError when some of it is kept no more, or was never sent.
        """
        first = self._count - len(self._kept)
        if not first <= received <= self._count:
            raise ResumeExpiredError(
                f"received: expected {first} to {self._count} messages, got {received}"
            )
        return tuple(event for event, _ in tuple(self._kept)[received - first :])

    def check_integrity(self) -> None:
        """For tests: the bound is kept, and the sum is right."""
        assert self._bytes == sum(size for _, size in self._kept) <= self._max_bytes


def _size_bytes(event: Event) -> int:
    if isinstance(event, Audio):
        return _OVERHEAD_BYTES + len(event.payload)
    if isinstance(event, Words):
        return _OVERHEAD_BYTES + _WORD_BYTES * len(event.words)
    fields = (getattr(event, name) for name in event.__slots__)
    texts = sum(len(value.encode()) for value in fields if isinstance(value, str))
    return _OVERHEAD_BYTES + texts
