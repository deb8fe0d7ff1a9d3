"""OpenAI's `POST /v1/audio/speech`: a request body to commands, events and errors to theirs.

Fields as in openai-python 2.8; what this gateway cannot do is refused by name.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gateway.dialects import Close, HttpAnswer, HttpRoute, Opening
from gateway.errors import (
    CLIENT_CODES,
    GatewayError,
    InvalidMessageError,
    InvalidTextError,
    InvalidValueError,
)
from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Command,
    Configure,
    Container,
    Done,
    End,
    Event,
    Failed,
    FileFormat,
    SettingsPatch,
    Text,
    plain_name,
)

RESPONSE_FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
STREAM_FORMATS = ("audio", "sse")
SPEED_RANGE = (0.5, 2.0)
PCM_RATE_HZ = 24_000

# How each response format is packed.
_FILES = {
    "mp3": Container.MP3,
    "opus": Container.OGG,
    "aac": Container.AAC,
    "flac": Container.FLAC,
    "wav": Container.WAV,
    "pcm": Container.RAW,
}
_CONTEXT = "speech"

MEDIA_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}

# The vendor's own voices, which its clients name because they must name one.
VENDOR_VOICES = frozenset(
    "alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse".split()
)


@dataclass(frozen=True, slots=True)
class SpeechCall:
    """One valid request. `stream_format` None: the caller did not say, a whole file will do."""

    text: str
    voice: str
    response_format: str
    speed: float
    stream_format: str | None


class _Voice(msgspec.Struct, forbid_unknown_fields=True):
    id: str


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    input: str
    voice: str | _Voice
    model: str = ""
    response_format: str = "mp3"
    speed: float = 1.0
    stream_format: str | None = None
    instructions: str | None = None


class SpeechDialect:
    """One request. `sse` in `stream_format` gives events with sound in base64, else a file."""

    headers: Mapping[str, str] = {}

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._call: SpeechCall | None = None

    @property
    def file(self) -> FileFormat:
        """See `Dialect`."""
        assert self._call is not None
        return FileFormat(_FILES[self._call.response_format])

    @property
    def media_type(self) -> str:
        """See `HttpDialect`."""
        assert self._call is not None
        return "text/event-stream" if self._streams else MEDIA_TYPES[self._call.response_format]

    @property
    def _streams(self) -> bool:
        return self._call is not None and self._call.stream_format == "sse"

    def decode(self, raw: str | bytes) -> Sequence[Command]:
        """The body: one context with all its text. Raises ClientError that names the field."""
        body = raw.encode() if isinstance(raw, str) else raw
        call = parse(body, self._opening.limits.max_context_chars)
        self._call = call
        rate_hz = self._opening.facts.sample_rate_hz
        patch = SettingsPatch(
            voice=self._voice(call.voice),
            format=_packets(call.response_format, rate_hz),
            speed=call.speed,
            lead_ms=0,
        )
        return Configure(_CONTEXT, patch), Text(_CONTEXT, call.text), End(_CONTEXT)

    def _voice(self, name: str) -> str:
        """A voice of ours by its name; the vendor's own, which its clients must name, by table."""
        voices = self._opening.voices
        return voices.resolve(name) if plain_name(name) in VENDOR_VOICES else name

    def encode(self, event: Event) -> Sequence[bytes | Close]:
        """See `Dialect`."""
        match event:
            case Audio():
                return (_sse_delta(event.payload) if self._streams else event.payload,)
            case Done():
                return (_sse_done(event), Close()) if self._streams else (Close(),)
            case Failed() if self._streams:
                return _sse_error(event), Close()
        return ()

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        return Close()

    def refusal(self, error: GatewayError) -> HttpAnswer:
        """See `HttpDialect`."""
        return HttpAnswer(error.http_status, msgspec.json.encode(error_body(error)))


def _packets(response_format: str, engine_rate_hz: int) -> AudioFormat:
    """The packets that a file is made of. WAV keeps the engine's rate: nothing is resampled."""
    if response_format == "opus":
        return AudioFormat(Codec.OPUS)
    if response_format == "wav":
        return AudioFormat(Codec.PCM_S16LE, min(engine_rate_hz, 48_000))
    if response_format != "pcm" and engine_rate_hz >= 44_100:
        return AudioFormat(Codec.PCM_S16LE, 44_100)
    return AudioFormat(Codec.PCM_S16LE, PCM_RATE_HZ)


def parse(body: bytes, max_chars: int) -> SpeechCall:
    """Read a request. Raises ClientError that names the field."""
    try:
        given = msgspec.json.decode(body, type=_Body)
    except msgspec.ValidationError as error:
        raise InvalidMessageError(_explain(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if _has_lone_surrogate(body):
            raise InvalidTextError("input: expected Unicode, got a lone surrogate") from None
        raise InvalidMessageError(f"expected a JSON object, got other text: {error}") from None
    _check_choice("response_format", given.response_format, RESPONSE_FORMATS)
    if given.stream_format is not None:
        _check_choice("stream_format", given.stream_format, STREAM_FORMATS)
    low, high = SPEED_RANGE
    if not low <= given.speed <= high:
        raise InvalidValueError(f"speed: expected {low} to {high}, got {given.speed:g}")
    if not given.input:
        raise InvalidValueError("input: expected a text, got an empty one")
    if len(given.input) > max_chars:
        raise InvalidTextError(
            f"input: expected at most {max_chars} characters, got {len(given.input)}"
        )
    if given.instructions:
        raise InvalidValueError(
            "instructions: expected none; put the style into the input, as in [whisper] Hello"
        )
    voice = given.voice if isinstance(given.voice, str) else given.voice.id
    return SpeechCall(given.input, voice, given.response_format, given.speed, given.stream_format)


# Messages of these are made for the peer, although the fault is ours.
_TOLD = ("overloaded", "engine_failed")


def error_body(error: GatewayError) -> dict[str, Any]:
    """The vendor's error object. Our own errors show no detail but why there is no capacity."""
    of_peer = error.http_status < 500
    told = of_peer or error.code in _TOLD
    text = str(error) if told else "the server could not do this; retry later"
    return _error(text, error.code, of_peer)


def _error(text: str, code: str, of_peer: bool) -> dict[str, Any]:
    param, colon, _ = text.partition(": ")
    known = colon and param in _Body.__struct_fields__
    return {
        "error": {
            "message": text,
            "type": "invalid_request_error" if of_peer else "server_error",
            "param": param if known else None,
            "code": code,
        }
    }


def _sse_delta(audio: bytes) -> bytes:
    """A server-sent event with sound."""
    return _sse({"type": "speech.audio.delta", "audio": base64.b64encode(audio).decode()})


def _sse_done(done: Done) -> bytes:
    """The last server-sent event. Output tokens are the engine's frames."""
    usage = {
        "input_tokens": done.prompt_tokens,
        "output_tokens": done.frames,
        "total_tokens": done.prompt_tokens + done.frames,
    }
    return _sse({"type": "speech.audio.done", "usage": usage})


def _sse_error(event: Failed) -> bytes:
    """A failure after sound has begun."""
    return _sse({"type": "error", **_error(event.message, event.code, event.code in CLIENT_CODES)})


def _sse(event: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")


def _explain(error: str) -> str:
    """msgspec's `Expected str, got int - at $.input` as `input: expected str, got int`."""
    what, _, where = error.partition(" - at `$")
    field = where.strip("`.")
    what = what[:1].lower() + what[1:]
    for prefix in ("object missing required field ", "object contains unknown field "):
        if what.startswith(prefix):
            name = what.removeprefix(prefix).strip("`")
            got = "expected a value, got none" if "missing" in prefix else "unknown field"
            return f"{name}: {got}"
    return f"{field}: {what}" if field else what


def _has_lone_surrogate(body: bytes) -> bool:
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


ROUTES = (HttpRoute("openai", "/v1/audio/speech", SpeechDialect),)
