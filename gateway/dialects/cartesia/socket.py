"""`/tts/websocket`: many contexts on a connection, each fed by messages that continue it.

The client's ids are of any length and may be used again once a context is over; so the session's
are our own, `1`, `2` and on.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gateway.dialects import Close, Frame, Opening
from gateway.dialects.cartesia import errors, frames
from gateway.dialects.cartesia.formats import OutputFormat, check_format
from gateway.dialects.cartesia.settings import (
    DEFAULT_BUFFER_DELAY_MS,
    Request,
    output_format,
    patch,
    read_fields,
    speed_of,
)
from gateway.dialects.cartesia.words import WordTimes
from gateway.dialects.explain import parse_json
from gateway.errors import (
    ClientError,
    ContextStateError,
    GatewayError,
    InvalidMessageError,
    InvalidTextError,
    LimitExceededError,
    MessageTooLargeError,
)
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
    Flushed,
    Interrupt,
    Interrupted,
    Limits,
    SegmentStarted,
    SettingsPatch,
    Text,
    Words,
)

MAX_CONTEXTS = 32  # that are open or still spoken
_STOPPING = 32  # cancelled ones that the engine has not confirmed yet
_CANCELLED_NAMES = 4_096  # that are remembered

_COMPLETE = re.compile(r"(?:[^\W\d][.!?\u2026]|[\u3002\uff01\uff1f])[\"')\]\u201d\u2019]*\s*\Z")


class Stage(enum.Enum):
    """Where a context is in its life."""

    OPEN = "open"
    ENDED = "ended"  # no more text; the rest is being spoken
    CANCELLED = "cancelled"  # by the client, who is told when it is over
    FAILED = "failed"  # by an error that the client has been told


@dataclass(slots=True)
class Context:
    """One utterance. `name`: the client's id; `key`: ours."""

    name: str
    key: str
    unbuffered: bool  # every message is a phrase
    speed: float | None
    stage: Stage = Stage.OPEN
    chars: int = 0
    last_char: str = ""
    flushes: int = 0
    flushes_done: int = 0
    words: WordTimes = field(default_factory=WordTimes)


def socket_limits(opening: Opening) -> Limits:
    """A connection's bounds."""
    limits = opening.limits
    return dataclasses.replace(
        limits,
        max_contexts=MAX_CONTEXTS + _STOPPING,
        max_buffered_chars=max(limits.max_buffered_chars, limits.max_context_chars),
    )


class ContextSocket:
    """One connection."""

    file = FileFormat()

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._titles = errors.has_titles(opening.query, opening.headers)
        self._request_id = errors.new_request_id()
        self._by_key: dict[str, Context] = {}
        self._by_name: dict[str, Context] = {}  # those that the client may still talk to
        self._cancelled: OrderedDict[str, None] = OrderedDict()  # names
        self._opened = 0

    # --- in ---

    def decode(self, raw: str | bytes) -> Sequence[Command | Frame]:
        """See `Dialect`. An error about a context ends it, because clients take it for the end."""
        fields = _read(raw, self._opening.limits.max_message_bytes)
        name = fields.get("context_id")
        try:
            return self._obey(read_fields(fields, Request))
        except ContextStateError as error:
            return [self._error(name, error)]
        except ClientError as error:
            return self._fail(name, error)

    def _obey(self, request: Request) -> Sequence[Command | Frame]:
        if request.cancel:
            return self._cancel(request.context_id)
        name = request.context_id if request.context_id is not None else errors.new_request_id()
        context, commands = self._by_name.get(name), list[Command]()
        transcript = request.transcript or ""
        if context is None:
            if name in self._cancelled:
                raise ContextStateError("context_id: expected a new one, got a cancelled one")
            context, commands = self._open(name, request)
        elif context.stage is Stage.ENDED:
            if transcript.strip():
                raise ContextStateError("context_id: expected a new one, got one that has ended")
            return []
        else:
            commands = self._set_speed(context, request)
        commands += self._text(context, transcript)
        if request.flush:
            context.flushes += 1
            commands += [*self._space(context), Flush(context.key, context.flushes)]
        if not request.continue_:
            context.stage = Stage.ENDED
            commands.append(End(context.key))
        return commands

    def _open(self, name: str, request: Request) -> tuple[Context, list[Command]]:
        """A new context with the settings of its first message. Raises ClientError."""
        if len(self._by_name) >= MAX_CONTEXTS:
            raise LimitExceededError(f"expected at most {MAX_CONTEXTS} contexts, got one more")
        made = output_format(request)
        check_format(made, ("raw",))
        settings = self._settings(request, made)
        self._opened += 1
        delay_ms = request.max_buffer_delay_ms
        context = Context(name, str(self._opened), delay_ms == 0, speed_of(request))
        self._check_size(context, request.transcript or "")
        self._by_key[context.key] = self._by_name[name] = context
        return context, [Configure(context.key, settings)]

    def _settings(self, request: Request, made: OutputFormat) -> SettingsPatch:
        delay_ms = request.max_buffer_delay_ms
        delay_ms = DEFAULT_BUFFER_DELAY_MS if delay_ms is None else delay_ms
        return patch(request, made, self._opening, delay_ms)

    def _set_speed(self, context: Context, request: Request) -> list[Command]:
        """The speed of what follows; whatever else a context has is its first message's."""
        self._check_size(context, request.transcript or "")
        speed = speed_of(request)
        if speed is None or speed == context.speed:
            return []
        context.speed = speed
        return [Configure(context.key, SettingsPatch(speed=speed))]

    def _check_size(self, context: Context, transcript: str) -> None:
        most, got = self._opening.limits.max_context_chars, context.chars + len(transcript)
        if got + context.flushes >= most:
            raise InvalidTextError(f"transcript: expected at most {most} characters, got {got}")
        if "\0" in transcript:
            raise InvalidTextError("transcript: expected no NUL characters, got one")

    def _text(self, context: Context, text: str) -> list[Command]:
        """A piece of text. What is blank before all other is not spoken; it only shows life."""
        text = text if context.last_char else text.lstrip()
        if not text:
            return [Text(context.key, "")]
        context.chars += len(text)
        context.last_char = text[-1]
        commands: list[Command] = [Text(context.key, text)]
        if context.unbuffered and _COMPLETE.search(text):
            commands += [*self._space(context), Flush(context.key)]
        return commands

    def _space(self, context: Context) -> list[Command]:
        """A flush ends a word, also for clients that put the words together again."""
        if not context.last_char or context.last_char.isspace():
            return []
        context.chars += 1
        context.last_char = " "
        return [Text(context.key, " ")]

    def _cancel(self, name: str | None) -> list[Command]:
        if name is None:
            raise InvalidMessageError("context_id: expected a text, got none")
        if (context := self._by_name.pop(name, None)) is None:
            return []
        context.stage = Stage.CANCELLED
        self._cancelled[name] = None
        while len(self._cancelled) > _CANCELLED_NAMES:
            self._cancelled.popitem(last=False)
        return [Interrupt(context.key)]

    def _fail(self, name: object, error: ClientError) -> list[Command | Frame]:
        frame = self._error(name, error)
        context = self._by_name.pop(name, None) if isinstance(name, str) else None
        if context is None:
            return [frame]
        context.stage = Stage.FAILED
        return [frame, Interrupt(context.key)]

    # --- out ---

    def encode(self, event: Event) -> Sequence[Frame]:
        """See `Dialect`."""
        if isinstance(event, Failed):
            return self._failed(event)
        context = self._by_key.get(getattr(event, "context", None) or "")
        if context is None:
            return ()
        match event:
            case Audio() if context.stage is not Stage.FAILED:
                return (self._frame(context, frames.chunk(event.payload), numbered=True),)
            case SegmentStarted():
                context.words.begin(event)
            case Words() if context.stage is not Stage.FAILED:
                told = frames.timestamps(context.words.tell(event))
                return (self._frame(context, told, numbered=True),)
            case Flushed(flush_id=int(flush_id)) if context.stage is not Stage.FAILED:
                context.flushes_done = flush_id
                return (self._frame(context, frames.flush_done(flush_id)),)
            case Done() | Interrupted():
                self._forget(context)
                told_already = context.stage is Stage.FAILED
                return () if told_already else (self._frame(context, frames.done()),)
        return ()

    def _failed(self, event: Failed) -> Sequence[Frame]:
        context = self._by_key.get(event.context or "")
        if context is None:
            return (self._error_frame(None, event.code, event.message),)
        if not event.ended:  # of one message; the context goes on
            return (self._error_frame(context.name, event.code, event.message, done=False),)
        self._forget(context)
        if context.stage is Stage.FAILED:
            return ()
        return (self._error_frame(context.name, event.code, event.message),)

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        return errors.closing(error)

    def _forget(self, context: Context) -> None:
        del self._by_key[context.key]
        if self._by_name.get(context.name) is context:
            del self._by_name[context.name]

    def _frame(self, context: Context, body: dict[str, Any], numbered: bool = False) -> str:
        """`numbered`: what comes before a flush is done has that flush's number."""
        if numbered and context.flushes:
            body["flush_id"] = context.flushes_done + 1
        body["context_id"] = context.name
        return msgspec.json.encode(body).decode()

    def _error(self, name: object, error: ClientError) -> str:
        return self._error_frame(name if isinstance(name, str) else None, error.code, str(error))

    def _error_frame(self, name: str | None, code: str, message: str, done: bool = True) -> str:
        """Clients read `context_id` without asking whether it is there."""
        told = errors.error_fields(code, message, self._request_id)
        if not self._titles:
            told["error"] = f"{told['title']}: {told['message']}"
        body = {"type": "error", "done": done, "context_id": name, **told}
        return msgspec.json.encode(body).decode()


def _read(raw: str | bytes, max_bytes: int) -> dict[str, Any]:
    """Raises InvalidMessageError, InvalidTextError, MessageTooLargeError."""
    size = len(raw) if isinstance(raw, bytes) else len(raw.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise MessageTooLargeError(f"expected at most {max_bytes} bytes, got {size}")
    if isinstance(raw, bytes):
        raise InvalidMessageError(f"expected a text frame, got a binary one of {size} bytes")
    return parse_json(raw)
