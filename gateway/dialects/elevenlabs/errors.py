"""ElevenLabs' error shapes: `{message, error, code}` on a socket, `{detail}` over HTTP."""

from __future__ import annotations

from typing import Any

import msgspec

from gateway.dialects import Close, HttpAnswer
from gateway.errors import (
    CLIENT_CODES,
    GatewayError,
    InvalidMessageError,
    InvalidTextError,
    InvalidValueError,
    wire_message,
)

POLICY, TOO_LARGE, INTERNAL, TRY_LATER = 1008, 1009, 1011, 1013

# Our codes by their names there; the others keep ours.
_NAMES = {
    "unauthorized": "invalid_api_key",
    "limit_exceeded": "max_active_conversations",
    "unknown_voice": "voice_not_found",
    "invalid_text": "invalid_text_input",
    "overloaded": "system_busy",
    "engine_failed": "generation_failed",
    "internal": "internal_server_error",
}
_CLOSE_CODES = {
    "overloaded": TRY_LATER,
    "message_too_large": TOO_LARGE,
    "engine_failed": INTERNAL,
    "internal": INTERNAL,
}
_TOLD = ("overloaded", "engine_failed")  # made for the peer, although the fault is ours
_MAX_REASON_BYTES = 123  # RFC 6455, 5.5


def name_of(code: str) -> str:
    """What ElevenLabs calls one of our codes."""
    return _NAMES.get(code, code)


def close_for(code: str, message: str) -> Close:
    """How a connection ends for an error: 1008 unless the fault is ours."""
    ours = code not in CLIENT_CODES and code not in _CLOSE_CODES
    return closed(_CLOSE_CODES.get(code, INTERNAL if ours else POLICY), message)


def closed(code: int, reason: str) -> Close:
    """A close frame with as much of the reason as it holds."""
    return Close(code, reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore"))


def error_message(name: str, message: str, close_code: int, **more: Any) -> str:
    """The frame that says what is wrong."""
    body = {"message": message, "error": name, "code": close_code, **more}
    return msgspec.json.encode(body).decode()


_FIELD_ERRORS = (InvalidMessageError, InvalidValueError, InvalidTextError)


def refusal(error: GatewayError) -> HttpAnswer:
    """A failed request. What is wrong with a field is a 422 that names its place."""
    message = str(error) if error.code in _TOLD else wire_message(error.code, str(error))
    if isinstance(error, _FIELD_ERRORS) or error.code in {e.code for e in _FIELD_ERRORS}:
        return HttpAnswer(422, msgspec.json.encode({"detail": [_field_error(error, message)]}))
    detail = {"status": name_of(error.code), "message": message}
    return HttpAnswer(error.http_status, msgspec.json.encode({"detail": detail}))


def _field_error(error: GatewayError, message: str) -> dict[str, Any]:
    path, colon, what = message.partition(": ")
    if not colon or " " in path:
        path, what = "", message
    place = ["query"] if path == "output_format" else ["body"]
    return {"type": error.code, "loc": [*place, *filter(None, path.split("."))], "msg": what}
