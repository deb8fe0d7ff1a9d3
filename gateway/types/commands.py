"""Commands: dialect -> session.

The structs are the native protocol's messages as well; their ranges hold for what is decoded.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from gateway.types.settings import SettingsPatch

MAX_ID_CHARS = 64

ContextId = Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARS)]
FlushId = int | Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARS)]
PositionMs = Annotated[float, Meta(ge=0)]


class _Message(Struct, frozen=True, forbid_unknown_fields=True, tag=str.lower, tag_field="type"):
    """A command that is a message of its own."""


class Configure(Struct, frozen=True):
    """Settings for one context, or for all later ones when `context` is None. Repeatable."""

    context: str | None
    settings: SettingsPatch


class Text(_Message, frozen=True):
    """A piece of text, of any size, cut anywhere. Opens the context if it is new."""

    context: ContextId
    text: str


class Flush(_Message, frozen=True):
    """Speak what is buffered now."""

    context: ContextId
    flush_id: FlushId | None = None


class Mark(Struct, frozen=True):
    """Answered by `Flushed` when all text so far has been spoken, whenever that is.

    Unlike `Flush` it cuts nothing. It is no message of the native protocol.
    """

    context: ContextId
    mark_id: int | str


class End(_Message, frozen=True):
    """No more text: speak the rest, then `Done`."""

    context: ContextId


class Interrupt(_Message, frozen=True):
    """Barge-in: stop one context, or all when None. `played_ms`: the client's playback position."""

    context: ContextId | None = None
    played_ms: PositionMs | None = None


class Duck(_Message, frozen=True):
    """Tentative barge-in: lower the output to `gain` (0 pauses it)."""

    context: ContextId | None = None
    gain: Annotated[float, Meta(ge=0, le=1)] = 0.0


class Resume(_Message, frozen=True):
    """Take a duck back: go on from the sample where the output stopped."""

    context: ContextId | None = None


class Playback(_Message, frozen=True):
    """The client's report: this much of the context has been heard."""

    context: ContextId
    played_ms: PositionMs


Command = Configure | Text | Flush | Mark | End | Interrupt | Duck | Resume | Playback
