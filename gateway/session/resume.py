"""A session without its client: how long it waits, what it tells the one that comes back.

Only a session with a token waits. Meanwhile nothing is sent or encoded, so what is still to come
can be interrupted as late as ever; the engine goes on until the lead the client asked for is made.
Messages are counted, not numbered on the wire: a WebSocket delivers a prefix of what was sent, so
how many messages a client has received says exactly which ones it lacks.
"""

from __future__ import annotations

from collections import deque

from gateway.errors import ResumeExpiredError
from gateway.types import Audio, Event, Limits, Words
from gateway.utterance.utterance import Utterance

_OVERHEAD_BYTES = 256  # roughly, of any event
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


class ResumeWindow:
    """Inert without a `token`."""

    def __init__(self, limits: Limits, token: str | None) -> None:
        self.token = token if limits.resume_window_ms > 0 else None
        self.received = 0  # the client's messages
        self._window_ms = limits.resume_window_ms
        self._replay = Replay(limits.resume_buffer_bytes)
        self._until_ms: float | None = None

    @property
    def active(self) -> bool:
        """The client is away."""
        return self._until_ms is not None

    @property
    def until_ms(self) -> float | None:
        """When the session gives its client up; None while the client is here."""
        return self._until_ms

    def note(self, events: tuple[Event, ...]) -> None:
        """Events were given to the shell."""
        if self.token is not None:
            for event in events:
                self._replay.note(event)

    def begin(self, now_ms: float) -> bool:
        """The connection is lost. Whether the session waits."""
        if self.token is not None and self._until_ms is None:
            self._until_ms = now_ms + self._window_ms
        return self.active

    def end(self, received: int) -> tuple[Event, ...]:
        """The client is back. Returns what it lacks. Raises ResumeExpiredError."""
        if self.token is None:
            raise ResumeExpiredError("expected a session that can be resumed, got another one")
        missing = self._replay.since(received)
        self._until_ms = None
        return missing

    def check_integrity(self) -> None:
        """For tests: memory is bounded."""
        self._replay.check_integrity()


def rewind(utterances: list[Utterance], missing: tuple[Event, ...], now_ms: float) -> None:
    """The listener cannot have heard what never arrived: put the players' clocks back."""
    seen: set[int] = set()
    by_number = {utterance.egress.number: utterance for utterance in utterances}
    for event in missing:
        if not isinstance(event, Audio) or event.number in seen:
            continue
        seen.add(event.number)
        if (utterance := by_number.get(event.number)) is not None:
            start_samples = max(event.timestamp_samples - utterance.egress.pre_skip_samples, 0)
            utterance.playout.rewind(utterance.lines.to_ms(start_samples), now_ms)
