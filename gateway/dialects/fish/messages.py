"""Fish Audio's msgpack events and its request. Facts: fish-audio-sdk 1.3, both of its faces."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from gateway.dialects import Close, HttpAnswer
from gateway.dialects.explain import explain, parse_json, shown
from gateway.errors import (
    CLIENT_CODES,
    GatewayError,
    InvalidMessageError,
    InvalidValueError,
    MessageTooLargeError,
    wire_message,
)


class Prosody(Struct):
    """`volume` is taken and means nothing here: players have a knob for it."""

    speed: Annotated[float, Meta(ge=0.5, le=2)] | None = None


class Request(Struct):
    """What is known of the vendor's; its other fields are taken and ignored."""

    text: str = ""
    format: Literal["mp3", "wav", "pcm", "opus"] | None = None
    sample_rate: Annotated[int, Meta(ge=8_000, le=48_000)] | None = None
    mp3_bitrate: int | None = None  # in kbit/s, as the next
    opus_bitrate: int | None = None
    reference_id: str | list[str] | None = None
    references: list[Any] | None = None
    normalize: bool | None = None
    prosody: Prosody | None = None
    temperature: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None


class Start(Struct):
    """The first event."""

    request: Request


class Text(Struct):
    """A piece of text."""

    text: str


_EVENTS: dict[str, type[Struct] | None] = {
    "start": Start,
    "text": Text,
    "flush": None,
    "stop": None,
}


def read_event(raw: str | bytes, max_bytes: int) -> tuple[str, Struct | None]:
    """An event's name, and its fields where it has some. Raises ClientError."""
    if isinstance(raw, str):
        raise InvalidMessageError(f"expected a binary frame, got a text one of {len(raw)} chars")
    if len(raw) > max_bytes:
        raise MessageTooLargeError(f"expected at most {max_bytes} bytes, got {len(raw)}")
    message = _unpack(raw)
    name = message.get("event")
    if not isinstance(name, str) or name not in _EVENTS:
        raise InvalidMessageError(f"event: expected one of {', '.join(_EVENTS)}, got {shown(name)}")
    shape = _EVENTS[name]
    return name, None if shape is None else _convert(message, shape)


def read_request(body: bytes, content_type: str) -> Request:
    """A body of `POST /v1/tts`. Raises ClientError."""
    packed = "msgpack" in content_type
    request = _convert(_unpack(body) if packed else parse_json(body), Request)
    assert isinstance(request, Request)
    if not request.text:
        raise InvalidValueError("text: expected a text, got an empty one")
    return request


def audio_event(sound: bytes) -> bytes:
    """A piece of sound."""
    return msgspec.msgpack.encode({"event": "audio", "audio": sound})


def finish_event(message: str | None = None) -> bytes:
    """The last event; `message`: what went wrong."""
    if message is None:
        return msgspec.msgpack.encode({"event": "finish", "reason": "stop"})
    return msgspec.msgpack.encode({"event": "finish", "reason": "error", "message": message})


def closing(error: GatewayError) -> Close:
    """How a connection ends that cannot go on."""
    if error.close_code == MessageTooLargeError.close_code:
        return Close(1009, error.code)
    return Close(1008 if error.code in CLIENT_CODES else 1011, error.code)


def refusal(error: GatewayError) -> HttpAnswer:
    """Both of the SDK's faces read `message`, the older one takes no other field but `status`."""
    status = 422 if error.http_status == 400 else error.http_status
    text = wire_message(error.code, str(error))
    return HttpAnswer(status, msgspec.json.encode({"status": status, "message": text}))


def _unpack(raw: bytes) -> dict[str, Any]:
    try:
        message = msgspec.msgpack.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidMessageError(f"expected msgpack, got other bytes: {error}") from None
    except (ValueError, TypeError, OverflowError):  # keys that cannot be keys, times beyond 9999
        raise InvalidMessageError("expected a msgpack map of text keys, got others") from None
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        raise InvalidMessageError(f"expected a msgpack map, got {shown(type(message).__name__)}")
    return message


def _convert(message: dict[str, Any], shape: type[Struct]) -> Struct:
    try:
        return msgspec.convert(message, shape)
    except msgspec.ValidationError as error:
        raise explain(error, message, shape) from None
