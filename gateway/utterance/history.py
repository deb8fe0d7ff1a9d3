"""Which turns the next segment continues: those of its own utterance, or of the one before."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from gateway.types import HistoryTurn


@dataclass(slots=True)
class Prosody:
    """How the session's last utterance was spoken. `turns`: with the number of their frames."""

    voice: str | None = None
    turns: tuple[tuple[HistoryTurn, int], ...] = ()


class History:
    """The turns that the next segment continues, bounded.

    Turns are kept until there are too many; then only the newest ones stay. Dropping one at every
    turn would change the prompt's beginning each time, and the engine's prefix cache would miss.
    """

    RETAINED_TURNS = 2

    def __init__(self, max_turns: int, max_frames: int) -> None:
        self._max_turns = max_turns
        self._max_frames = max_frames
        self._turns: deque[tuple[HistoryTurn, int]] = deque()

    @property
    def turns(self) -> tuple[HistoryTurn, ...]:
        """Oldest first."""
        return tuple(turn for turn, _ in self._turns)

    @property
    def frames(self) -> int:
        """Frames of all turns together."""
        return sum(frames for _, frames in self._turns)

    def add(self, turn: HistoryTurn, frames: int) -> None:
        """Append a turn; start afresh from the newest ones when a bound is passed."""
        self._turns.append((turn, frames))
        if len(self._turns) > self._max_turns or self.frames > self._max_frames:
            while len(self._turns) > self.RETAINED_TURNS:
                self._turns.popleft()
            while self._turns and (
                len(self._turns) > self._max_turns or self.frames > self._max_frames
            ):
                self._turns.popleft()

    def adopt(self, other: Prosody, voice: str) -> None:
        """Begin where the utterance before this one ended, when the same voice spoke it."""
        if other.voice == voice:
            self._turns.extend(other.turns)

    def store(self, into: Prosody, voice: str) -> None:
        """Let the next utterance begin where this one is."""
        into.voice, into.turns = voice, tuple(self._turns)

    def clear(self) -> None:
        """Another voice speaks: its prompt must not continue this one's codes."""
        self._turns.clear()
