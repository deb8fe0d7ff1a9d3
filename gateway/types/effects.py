"""Effects: session -> shell."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.types.events import Event
from gateway.types.settings import SamplingSettings


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """An earlier segment: mirrors `engine.api.Turn`."""

    text: str
    codes: bytes


@dataclass(frozen=True, slots=True)
class Submit:
    """Ask the engine for a segment. `lead_ms`: the listener has so much to hear yet."""

    request_id: str
    text: str
    voice: str
    dialogue: str
    history: tuple[HistoryTurn, ...]
    sampling: SamplingSettings
    priority: int
    lead_ms: float = 0.0

    def __str__(self) -> str:
        return f"submit {self.request_id}: {self.text!r} after {len(self.history)} turns"


@dataclass(frozen=True, slots=True)
class Abort:
    """Ask the engine to stop a segment; answered by an `Aborted` report."""

    request_id: str


@dataclass(frozen=True, slots=True)
class WarmVoice:
    """Ask the engine to cache a voice's prefix."""

    voice: str


@dataclass(frozen=True, slots=True)
class Send:
    """Give these events to the dialect and the results to the socket, in order."""

    events: tuple[Event, ...]


Effect = Submit | Abort | WarmVoice | Send
