"""Commands: dialect -> session."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.types.settings import SettingsPatch


@dataclass(frozen=True, slots=True)
class Configure:
    """Settings for one context, or for all later ones when `context` is None. Repeatable."""

    context: str | None
    settings: SettingsPatch


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text, of any size, cut anywhere. Opens the context if it is new."""

    context: str
    text: str


@dataclass(frozen=True, slots=True)
class Flush:
    """Speak what is buffered now."""

    context: str
    flush_id: int | str | None = None


@dataclass(frozen=True, slots=True)
class End:
    """No more text: speak the rest, then `Done`."""

    context: str


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Barge-in: stop one context, or all when None. `played_ms`: the client's playback position."""

    context: str | None = None
    played_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Duck:
    """Tentative barge-in: lower the output to `gain` (0 pauses it)."""

    context: str | None = None
    gain: float = 0.0


@dataclass(frozen=True, slots=True)
class Resume:
    """Take a duck back: go on from the sample where the output stopped."""

    context: str | None = None


@dataclass(frozen=True, slots=True)
class Playback:
    """The client's report: this much of the context has been heard."""

    context: str
    played_ms: float


Command = Configure | Text | Flush | End | Interrupt | Duck | Resume | Playback
