"""Speech over HTTP: a file, or server-sent events with the sound in base64 and word times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gateway.dialects import Close, HttpAnswer, Opening
from gateway.dialects.cartesia import errors, frames
from gateway.dialects.cartesia.formats import OutputFormat, check_format
from gateway.dialects.cartesia.settings import Speech, output_format, patch, read_fields
from gateway.dialects.cartesia.words import WordTimes
from gateway.dialects.explain import parse_json
from gateway.errors import GatewayError, InvalidTextError, InvalidValueError
from gateway.types import (
    Audio,
    Command,
    Configure,
    Done,
    End,
    Event,
    Failed,
    FileFormat,
    SegmentStarted,
    Text,
    Words,
)

_CONTEXT = "1"


class Bytes:
    """A request for a file."""

    headers: Mapping[str, str] = {}
    containers: tuple[str, ...] = ("raw", "wav", "mp3")

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._made = OutputFormat("raw")
        self._speech = Speech()

    @property
    def file(self) -> FileFormat:
        """See `Dialect`."""
        return self._made.file

    @property
    def media_type(self) -> str:
        """See `HttpDialect`."""
        return self._made.media_type

    def decode(self, raw: str | bytes) -> Sequence[Command]:
        """The body: one context with all its text. Raises ClientError that names the field."""
        speech = self._speech = read_fields(parse_json(raw), Speech)
        made = output_format(speech)
        check_format(made, self.containers)
        self._made = made
        text, most = speech.transcript or "", self._opening.limits.max_context_chars
        if not text.strip():
            raise InvalidValueError("transcript: expected a text, got an empty one")
        if len(text) > most:
            raise InvalidTextError(
                f"transcript: expected at most {most} characters, got {len(text)}"
            )
        settings = patch(speech, made, self._opening)
        return Configure(_CONTEXT, settings), Text(_CONTEXT, text), End(_CONTEXT)

    def encode(self, event: Event) -> Sequence[bytes | Close]:
        """See `Dialect`."""
        match event:
            case Audio():
                return (event.payload,)
            case Done():
                return (Close(),)
        return ()

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        return errors.closing(error)

    def refusal(self, error: GatewayError) -> HttpAnswer:
        """See `HttpDialect`."""
        return errors.refusal(error)


class Events(Bytes):
    """A request for a stream of events."""

    media_type = "text/event-stream"
    containers = ("raw",)

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._words = WordTimes()

    def encode(self, event: Event) -> Sequence[bytes | Close]:
        """See `Dialect`."""
        match event:
            case Audio():
                return (self._event(frames.chunk(event.payload)),)
            case SegmentStarted():
                self._words.begin(event)
            case Words():
                return (self._event(frames.timestamps(self._words.tell(event))),)
            case Done():
                return self._event(frames.done()), Close()
            case Failed():
                told = errors.error_fields(event.code, event.message, errors.new_request_id())
                return self._event({"type": "error", "done": True, **told}), Close()
        return ()

    def _event(self, body: dict[str, Any]) -> bytes:
        if self._speech.context_id is not None:
            body = {**body, "context_id": self._speech.context_id}
        return b"event: %b\ndata: %b\n\n" % (body["type"].encode(), msgspec.json.encode(body))
