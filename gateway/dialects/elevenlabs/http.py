"""Speech over HTTP: a file, or JSON with the sound in base64 and the time of every character."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from gateway.dialects import Close, HttpAnswer, Opening
from gateway.dialects.elevenlabs import contexts
from gateway.dialects.elevenlabs.alignment import NO_CHARS, Alignment, TimedChars
from gateway.dialects.elevenlabs.errors import refusal
from gateway.dialects.elevenlabs.formats import OutputFormat
from gateway.dialects.elevenlabs.settings import (
    Seed,
    VoiceSettings,
    known_format,
    output_format,
    patch,
)
from gateway.dialects.explain import explain, parse_json
from gateway.errors import GatewayError, InvalidValueError
from gateway.types import (
    Audio,
    Command,
    Configure,
    Done,
    End,
    Event,
    FileFormat,
    SegmentStarted,
    Text,
    Words,
)

_CONTEXT = "1"


class _Body(Struct):
    """Fields that mean nothing here are ignored: see `settings.py`."""

    text: str
    voice_settings: VoiceSettings | None = None
    seed: Seed | None = None
    apply_text_normalization: str | None = None


class Speech:
    """A request for a file."""

    headers: Mapping[str, str] = {}

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._made: OutputFormat = known_format(opening.query)
        self._alignment = Alignment()

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
        made = output_format(self._opening.query)
        fields = parse_json(raw)
        try:
            body = msgspec.convert(fields, _Body)
        except msgspec.ValidationError as error:
            raise explain(error, fields, _Body) from None
        if not body.text:
            raise InvalidValueError("text: expected a text, got an empty one")
        self._alignment.push(body.text)
        settings = patch(
            self._opening,
            made,
            body.voice_settings,
            seed=body.seed,
            normalization=body.apply_text_normalization,
        )
        return Configure(_CONTEXT, settings), Text(_CONTEXT, body.text), End(_CONTEXT)

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
        return contexts.closing(error)

    def refusal(self, error: GatewayError) -> HttpAnswer:
        """See `HttpDialect`."""
        return refusal(error)


class _Timed(Speech, ABC):
    """Times count from the start of the sound."""

    def encode(self, event: Event) -> Sequence[bytes | Close]:
        """See `Dialect`."""
        match event:
            case Audio():
                return self._sound(event.payload)
            case SegmentStarted():
                self._alignment.begin(event)
            case Words():
                return self._times(self._alignment.tell(event))
            case Done():
                return (*self._times(self._alignment.rest()), *self._end(), Close())
        return ()

    @abstractmethod
    def _sound(self, payload: bytes) -> Sequence[bytes]: ...

    @abstractmethod
    def _times(self, timed: TimedChars) -> Sequence[bytes]: ...

    @abstractmethod
    def _end(self) -> Sequence[bytes]: ...


class TimedStream(_Timed):
    """One JSON object a line, with sound or with times, as they are made."""

    media_type = "application/x-ndjson"

    def _sound(self, payload: bytes) -> Sequence[bytes]:
        return (_line(base64.b64encode(payload).decode(), None),)

    def _times(self, timed: TimedChars) -> Sequence[bytes]:
        return () if timed == NO_CHARS else (_line("", _alignment(timed)),)

    def _end(self) -> Sequence[bytes]:
        return ()


class TimedSpeech(_Timed):
    """One JSON object, written while the sound is made: no request is held in memory whole."""

    media_type = "application/json"

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._timed = NO_CHARS
        self._begun = False
        self._rest = b""  # too little for base64 without padding

    def _sound(self, payload: bytes) -> Sequence[bytes]:
        data = self._rest + payload
        whole = len(data) - len(data) % 3
        self._rest = data[whole:]
        return (self._begin() + base64.b64encode(data[:whole]),)

    def _times(self, timed: TimedChars) -> Sequence[bytes]:
        self._timed += timed
        return ()

    def _end(self) -> Sequence[bytes]:
        times = msgspec.json.encode(_alignment(self._timed))
        ends = b'","alignment":%b,"normalized_alignment":%b}' % (times, times)
        return (self._begin() + base64.b64encode(self._rest) + ends,)

    def _begin(self) -> bytes:
        begun, self._begun = self._begun, True
        return b"" if begun else b'{"audio_base64":"'


def _line(audio: str, alignment: dict[str, Any] | None) -> bytes:
    body = {
        "audio_base64": audio,
        "alignment": alignment,
        "normalized_alignment": alignment,
    }
    return msgspec.json.encode(body) + b"\n"


def _alignment(timed: TimedChars) -> dict[str, Any]:
    return {
        "characters": list(timed.chars),
        "character_start_times_seconds": [round(ms) / 1000 for ms in timed.starts_ms],
        "character_end_times_seconds": [round(ms) / 1000 for ms in timed.ends_ms],
    }
