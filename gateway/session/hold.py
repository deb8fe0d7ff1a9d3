"""A session without its client: how long it waits, what it tells the one that comes back.

Only a session with a token waits. Meanwhile nothing is sent or encoded, so what is still to come
can be interrupted as late as ever; the engine goes on until the lead the client asked for is made.
"""

from __future__ import annotations

from gateway.errors import ResumeExpiredError
from gateway.session.replay import Replay
from gateway.types import Audio, Event, Limits
from gateway.utterance.utterance import Utterance


class Hold:
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
