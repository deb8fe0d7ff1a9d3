"""Deepgram's `/v1/speak` socket: Speak, Flush, Clear, Close.

All that is spoken between two flushes is one context of ours. A cleared one is forgotten at once:
whatever the session still says of it, the client hears no more after `Cleared`.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence

from gateway.dialects import Close, Frame, Opening
from gateway.dialects.deepgram.options import socket_options
from gateway.dialects.deepgram.wire import (
    closing,
    failure,
    frame,
    read,
    text_of,
    warning,
)
from gateway.dialects.explain import shown
from gateway.errors import CLIENT_CODES, GatewayError, InvalidMessageError
from gateway.types import (
    Audio,
    Command,
    Configure,
    Done,
    End,
    Event,
    Failed,
    FileFormat,
    Hello,
    Interrupt,
    Interrupted,
    Text,
)

_TYPES = "Speak, Flush, Clear, Close"


class SpeakV1:
    """See `Dialect`. Raises InvalidValueError for a query that cannot be had."""

    file = FileFormat()

    def __init__(self, opening: Opening) -> None:
        self._options = socket_options(opening)
        self._checkpoint = opening.facts.checkpoint
        self._max_bytes = opening.limits.max_message_bytes
        self._unsaid: tuple[Command, ...] = (Configure(None, self._options.settings),)
        self._names = (f"speak-{number}" for number in itertools.count(1))
        self._sequence_ids = itertools.count()
        self._turn: str | None = None  # takes text
        self._open: dict[str, bool] = {}  # context -> whether its end is to be told
        self._closing = False

    def decode(self, raw: str | bytes) -> Sequence[Command | Frame]:
        """See `Dialect`."""
        kind, message = read(raw, self._max_bytes)
        if self._closing:
            return ()
        match kind:
            case "Speak":
                commands = self._speak(text_of(message))
            case "Flush":
                commands = self._flush()
            case "Clear":
                return self._clear()
            case "Close":
                return self._close()
            case "KeepAlive":
                return ()
            case _:
                raise InvalidMessageError(f"type: expected one of {_TYPES}, got {shown(kind)}")
        first, self._unsaid = self._unsaid, ()
        return (*first, *commands)

    def encode(self, event: Event) -> Sequence[Frame]:
        """See `Dialect`."""
        match event:
            case Hello():
                return (self._metadata(event.session),)
            case Audio():
                return (event.payload,) if event.context in self._open else ()
            case Done() | Interrupted():
                return self._over(event.context)
            case Failed():
                return self._failed(event)
        return ()

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        return closing(error)

    def _metadata(self, session: str) -> str:
        return frame(
            "Metadata",
            request_id=session,
            model_name=self._options.model,
            model_version=self._checkpoint,
            model_uuid=model_uuid(self._options.model),
            additional_model_uuids=[],
        )

    def _speak(self, text: str) -> Sequence[Command]:
        if not text:
            return ()
        return (Text(self._current(), text),)

    def _flush(self) -> Sequence[Command]:
        """A flush of nothing is answered as well, in its turn."""
        turn = self._current()
        self._turn, self._open[turn] = None, True
        return (End(turn),)

    def _clear(self) -> Sequence[Command | Frame]:
        cleared = frame("Cleared", sequence_id=next(self._sequence_ids))
        self._turn = None
        if not self._open:
            return (cleared,)
        self._open.clear()
        return cleared, Interrupt()

    def _close(self) -> Sequence[Command | Frame]:
        """What was said so far is spoken before the connection closes."""
        self._closing = True
        if not self._open:
            return (Close(),)
        return () if self._turn is None else (End(self._turn),)

    def _current(self) -> str:
        if self._turn is None:
            self._turn = next(self._names)
            self._open[self._turn] = False
        return self._turn

    def _over(self, context: str | None) -> Sequence[Frame]:
        """The context has ended, or could not begin."""
        if context is None or context not in self._open:
            return ()
        flushed = self._open.pop(context)
        if context == self._turn:
            self._turn = None
        frames: list[Frame] = []
        if flushed:
            frames.append(frame("Flushed", sequence_id=next(self._sequence_ids)))
        if self._closing and not self._open:
            frames.append(Close())
        return frames

    def _failed(self, event: Failed) -> Sequence[Frame]:
        if event.context is not None and event.context not in self._open:
            return ()  # cleared
        told = self._complaint(event)
        # after a flush nothing is asked of a context but its end: what fails is that
        ended = event.ended or self._open.get(event.context or "", False)
        return (told, *self._over(event.context)) if ended or self._closing else (told,)

    @staticmethod
    def _complaint(event: Failed) -> str:
        if event.code in CLIENT_CODES:
            return warning(event.code.upper(), event.message)
        return failure(event.code, event.message)


def model_uuid(model: str) -> str:
    """The same for the same name."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, model))
