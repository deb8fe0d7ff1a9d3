"""What the two sockets have in common: contexts, their text on its way in, their sound out.

The client's ids stand for one context after another, are of any length and may be used again; so
the session's are our own, `1`, `2` and on.
"""

from __future__ import annotations

import base64
import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gateway.dialects import Close, Frame, Opening
from gateway.dialects.elevenlabs.alignment import NO_CHARS, Alignment, TimedChars
from gateway.dialects.elevenlabs.errors import POLICY, close_for, closed, error_message, name_of
from gateway.dialects.elevenlabs.messages import Message
from gateway.dialects.elevenlabs.settings import flag, known_format, patch, query_seed
from gateway.errors import GatewayError
from gateway.types import (
    Audio,
    Command,
    Configure,
    Done,
    End,
    Event,
    Failed,
    FileFormat,
    Flush,
    Interrupt,
    Interrupted,
    SegmentStarted,
    Text,
    Words,
)

_COMPLETE = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"')\]\u201d\u2019]*\s*\Z")
_SETTINGS_CHANGED = "expected {} in a context's first message only, or unchanged, got another one"


class Stage(enum.Enum):
    """Where a context is in its life."""

    OPEN = "open"
    CLOSED = "closed"  # by the client; what it flushed is still spoken
    CANCELLED = "cancelled"


@dataclass(slots=True)
class Context:
    """One utterance. `name`: the client's id; `key`: ours; `fixed`: the settings it came with."""

    name: str | None
    key: str
    fixed: dict[str, Any]
    stage: Stage = Stage.OPEN
    last_char: str = ""  # of its text
    flushed: bool = True  # nothing came after the client's last flush
    alignment: Alignment = field(default_factory=Alignment)
    told_ms: int = 0  # the end of the last alignment, on the context's time line


class Refused(Exception):
    """The connection ends by these frames."""

    def __init__(self, name: str, text: str, context: Context | None = None) -> None:
        super().__init__(text)
        self.frames: tuple[Frame, ...] = (
            error_message(name, text, POLICY, **naming(context)),
            closed(POLICY, text),
        )


def naming(context: Context | None) -> dict[str, Any]:
    """A context's id in both of the spellings that clients read."""
    if context is None or context.name is None:
        return {}
    return {"contextId": context.name, "context_id": context.name}


class Contexts:
    """The contexts of one connection: how they open, take text, end, and what they send."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._made = known_format(opening.query)
        self._auto_mode = flag(opening.query, "auto_mode")
        self._from_start = flag(opening.query, "sync_alignment")
        self._by_key: dict[str, Context] = {}
        self._opened = 0

    @property
    def file(self) -> FileFormat:
        """See `Dialect`."""
        return self._made.file

    @property
    def empty(self) -> bool:
        """None is open or still spoken."""
        return not self._by_key

    def all(self) -> list[Context]:
        """Those that are open or still spoken."""
        return list(self._by_key.values())

    # --- in ---

    def open(self, name: str | None, message: Message) -> tuple[Context, list[Command]]:
        """A new context with the settings of its first message."""
        self._opened += 1
        context = Context(name, str(self._opened), message.fixed)
        self._by_key[context.key] = context
        return context, [self._configure(context, message)]

    def _configure(self, context: Context, message: Message) -> Configure:
        settings = patch(
            self._opening,
            self._made,
            message.voice,
            message.generation,
            seed=query_seed(self._opening.query),
            normalization=self._opening.query.get("apply_text_normalization"),
        )
        return Configure(context.key, settings)

    def check_settings(self, context: Context, message: Message) -> list[Command]:
        """Settings of a later message: repeats are harmless, and so is what comes before all text.

        Raises Refused for others.
        """
        commands: list[Command] = []
        for name, given in message.fixed.items():
            if context.fixed.get(name) == given:
                continue
            if name in context.fixed or context.last_char:
                raise Refused("invalid_message", _SETTINGS_CHANGED.format(name), context)
            context.fixed[name] = given
            commands = [self._configure(context, message)]
        return commands

    def text(self, context: Context, text: str) -> list[Command]:
        """A piece of text. What is blank before all other is not spoken; it only shows life."""
        text = text if context.last_char else text.lstrip()
        if not text:
            return [Text(context.key, "")]
        context.last_char, context.flushed = text[-1], False
        context.alignment.push(text)
        commands: list[Command] = [Text(context.key, text)]
        if self._auto_mode and _COMPLETE.search(text):
            commands += self._cut(context)
        return commands

    def flush(self, context: Context) -> list[Command]:
        """Speak what there is."""
        context.flushed = True
        return self._cut(context) if context.last_char else []

    def _cut(self, context: Context) -> list[Command]:
        """A flush ends a word, also for clients that put the words together again."""
        return [*self._space(context), Flush(context.key)]

    def _space(self, context: Context) -> list[Command]:
        if not context.last_char or context.last_char.isspace():
            return []
        context.last_char = " "
        context.alignment.push(" ")
        return [Text(context.key, " ")]

    def end(self, context: Context) -> list[Command]:
        """No more text; the rest is spoken."""
        if context.stage is not Stage.OPEN:
            return []
        context.stage = Stage.CLOSED
        return [*self._space(context), End(context.key)]

    def cancel(self, context: Context) -> list[Command]:
        """Not a sound more."""
        if context.stage is Stage.CANCELLED:
            return []
        context.stage = Stage.CANCELLED
        return [Interrupt(context.key)]

    # --- out ---

    def sound(self, event: Event) -> Sequence[Frame]:
        """What goes on inside a context."""
        match event:
            case Audio(context=key, payload=payload) if context := self._by_key.get(key):
                return (_chunk(context, payload),)
            case SegmentStarted(context=key) if context := self._by_key.get(key):
                context.alignment.begin(event)
            case Words(context=key) if context := self._by_key.get(key):
                return self._aligned(context, context.alignment.tell(event))
        return ()

    def over(self, event: Event) -> tuple[Context, tuple[Frame, ...]] | None:
        """The context that an event ends, and its last frames but the final one."""
        match event:
            case Done(context=key) if context := self._by_key.pop(key, None):
                return context, self._aligned(context, context.alignment.rest())
            case Interrupted(context=key) if context := self._by_key.pop(key, None):
                return context, ()
            case Failed(context=str(key), ended=True) if context := self._by_key.pop(key, None):
                close = close_for(event.code, event.message)
                return context, (_told(event, close, context),)
        return None

    def _aligned(self, context: Context, timed: TimedChars) -> tuple[Frame, ...]:
        """Times count from the end of the alignment before; so their spans add up to the sound.

        With `sync_alignment` they count from the context's start: only LiveKit's plugin asks for
        it, and adds nothing to them, as Pipecat's, which does not ask, does.
        """
        if timed == NO_CHARS:
            return ()
        at_ms = 0 if self._from_start else context.told_ms
        starts = [round(ms) - at_ms for ms in timed.starts_ms]
        ends = [round(ms) - at_ms for ms in timed.ends_ms]
        context.told_ms = at_ms + ends[-1]
        told = {
            "chars": list(timed.chars),
            "charStartTimesMs": starts,
            "charDurationsMs": [end - start for start, end in zip(starts, ends, strict=True)],
        }
        return (_message(context, "", None, told),)

    def refused(self, event: Failed) -> Sequence[Frame]:
        """An error that ended no context: the client did wrong, and is not talked to any more.

        Only a text that crossed the failure of its context on the way is nobody's fault.
        """
        if event.context is not None and event.code == "context_state":
            return ()
        context = self._by_key.get(event.context or "")
        close = close_for(event.code, event.message)
        return _told(event, close, context), close


def _told(event: Failed, close: Close, context: Context | None) -> str:
    return error_message(name_of(event.code), event.message, close.code, **naming(context))


def final(context: Context) -> str:
    """Nothing of the context follows."""
    return _message(context, None, True, None)


def closing(error: GatewayError) -> Close:
    """See `Dialect`."""
    return close_for(error.code, str(error) if error.code != "internal" else "internal error")


def _chunk(context: Context, payload: bytes) -> str:
    return _message(context, base64.b64encode(payload).decode(), None, None)


def _message(
    context: Context, audio: str | None, is_final: bool | None, alignment: dict[str, Any] | None
) -> str:
    body = {
        "audio": audio,
        "isFinal": is_final,
        "normalizedAlignment": alignment,
        "alignment": alignment,
        **naming(context),
    }
    return msgspec.json.encode(body).decode()
