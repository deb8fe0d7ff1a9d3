"""One audio context of Pipecat as a context of the gateway, and what has been heard of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from clients.heard.words import Piece, Transcript
from clients.python import Context
from clients.python.wire import AudioPacket

_NS_PER_MS = 1_000_000.0
SLACK_MS = 250.0  # words are written so much early or late, when the machine is busy


@dataclass(slots=True)
class Playback:
    """Positions are milliseconds of its sound; `clock_ns` is the pipeline's clock."""

    context: Context
    clock_ns: Callable[[], int]
    rate_hz: int
    in_conversation: bool = True  # what is heard belongs there
    transcript: Transcript = field(default_factory=Transcript)
    pieces: list[Piece] = field(default_factory=list)
    ended: bool = False  # no more text comes
    audible_from_ns: int | None = None
    late_ms: float = 0.0  # how long the listener had nothing to hear
    sound_ms: float = 0.0  # end of what has come

    def take_sound(self, packet: AudioPacket) -> None:
        """A packet (16-bit mono) came; it is heard after the one before it, or now."""
        start_ms = 1000.0 * packet.timestamp_samples / self.rate_hz
        if self.audible_from_ns is not None:
            self.late_ms += max(self._position_ms() - start_ms, 0.0)
        self.sound_ms = start_ms + 1000.0 * len(packet.payload) / 2 / self.rate_hz

    def played_ms(self) -> float:
        """How much of it has been heard."""
        return min(max(self._position_ms(), 0.0), self.sound_ms)

    @property
    def audible(self) -> bool:
        """Whether the listener may still be hearing it, or will."""
        return not self.context.over or self._position_ms() < self.sound_ms

    def written_words(self) -> tuple[int, int]:
        """How many of its words are in the conversation at least, and at most."""
        position_ms = self._position_ms()
        return self._words_until(position_ms - SLACK_MS), self._words_until(position_ms + SLACK_MS)

    def _words_until(self, until_ms: float) -> int:
        return sum(len(p.text.split()) for p in self.pieces if p.middle_ms <= until_ms)

    def _position_ms(self) -> float:
        if self.audible_from_ns is None:
            return -2.0 * SLACK_MS
        return (self.clock_ns() - self.audible_from_ns) / _NS_PER_MS - self.late_ms
