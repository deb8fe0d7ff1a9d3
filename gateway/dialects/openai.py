"""OpenAI's `POST /v1/audio/speech`: a request body to a call, events and errors to theirs.

A pure codec. Fields as in openai-python 2.8; what this gateway cannot do is refused by name.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import msgspec

from gateway.errors import (
    GatewayError,
    InvalidMessageError,
    InvalidTextError,
    InvalidValueError,
)
from gateway.types import Done

RESPONSE_FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
STREAM_FORMATS = ("audio", "sse")
SPEED_RANGE = (0.5, 2.0)
PCM_RATE_HZ = 24_000

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


def parse(body: bytes, voices: tuple[str, ...], max_chars: int) -> SpeechCall:
    """Read a request. Raises ClientError that names the field.

    A vendor's voice that is not registered speaks with the first of `voices`.
    """
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
    if voice in VENDOR_VOICES and voice not in voices and voices:
        voice = voices[0]
    return SpeechCall(given.input, voice, given.response_format, given.speed, given.stream_format)


def error_body(error: GatewayError, message: str | None = None) -> dict[str, Any]:
    """The vendor's error object. Our own errors show no detail unless `message` gives it."""
    of_peer = error.http_status < 500
    text = message or (str(error) if of_peer else "the server could not do this; retry later")
    param, colon, _ = text.partition(": ")
    known = colon and param in _Body.__struct_fields__
    return {
        "error": {
            "message": text,
            "type": "invalid_request_error" if of_peer else "server_error",
            "param": param if known else None,
            "code": error.code,
        }
    }


def sse_delta(audio: bytes) -> bytes:
    """A server-sent event with sound."""
    return _sse({"type": "speech.audio.delta", "audio": base64.b64encode(audio).decode()})


def sse_done(done: Done) -> bytes:
    """The last server-sent event. Output tokens are the engine's frames."""
    usage = {
        "input_tokens": done.prompt_tokens,
        "output_tokens": done.frames,
        "total_tokens": done.prompt_tokens + done.frames,
    }
    return _sse({"type": "speech.audio.done", "usage": usage})


def sse_error(error: GatewayError) -> bytes:
    """A failure after sound has begun."""
    return _sse({"type": "error", **error_body(error)})


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
