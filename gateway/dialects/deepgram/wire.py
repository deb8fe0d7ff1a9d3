"""Deepgram's JSON messages, errors and close codes. Facts: deepgram-sdk 7.17, and its service."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gateway.dialects import Close, HttpAnswer
from gateway.dialects.explain import parse_json, shown
from gateway.errors import (
    CLIENT_CODES,
    GatewayError,
    InvalidMessageError,
    MessageTooLargeError,
    wire_message,
)

# The vendor's reasons of a close frame.
UNDECODABLE, BAD_MESSAGE, TOO_BIG, BROKEN = "DATA-0000", "MESSAGE-0000", "BIG-0000", "NET-0000"

# Our code -> the vendor's, and its HTTP status.
_REFUSALS = {
    "unauthorized": ("INVALID_AUTH", 401),
    "forbidden": ("FORBIDDEN", 403),
    "overloaded": ("TOO_MANY_REQUESTS", 429),
    "message_too_large": ("PAYLOAD_TOO_LARGE", 413),
    "invalid_value": ("INVALID_QUERY_PARAMETER", 400),
}

# Pronunciations in IPA, which this voice does not read: the word itself is spoken.
_PRONUNCIATION = re.compile(
    r'\\*\{\s*"word"\s*:\s*"(?P<word>(?:[^"\\]|\\.)*)"\s*,\s*'
    r'"pronounce"\s*:\s*"(?:[^"\\]|\\.)*"\s*\\*\}'
)


_UNDECODABLE_CODE = 1008


def read(raw: str | bytes, max_bytes: int) -> tuple[str, dict[str, Any]]:
    """A message and its type. Raises ClientError."""
    if isinstance(raw, bytes):
        raise _undecodable(f"expected a text frame, got a binary one of {len(raw)} bytes")
    if len(raw) > max_bytes or len(raw.encode("utf-8", "surrogatepass")) > max_bytes:
        raise MessageTooLargeError(f"expected at most {max_bytes} bytes, got more")
    try:
        message = parse_json(raw)
    except InvalidMessageError as error:
        raise _undecodable(str(error)) from None
    kind = message.get("type")
    if not isinstance(kind, str):
        raise InvalidMessageError(f"type: expected str, got {shown(kind)}")
    return kind, message


def _undecodable(text: str) -> InvalidMessageError:
    """Not a JSON object in a text frame: the vendor hangs up."""
    error = InvalidMessageError(text)
    error.close_code = _UNDECODABLE_CODE
    return error


def text_of(message: dict[str, Any]) -> str:
    """What a `Speak` wants spoken. Raises InvalidMessageError."""
    text = message.get("text")
    if not isinstance(text, str):
        got = "none" if text is None else type(text).__name__
        raise InvalidMessageError(f"text: expected str, got {got}")
    return spoken(text)


def spoken(text: str) -> str:
    """The text without the vendor's inline controls."""
    return _PRONUNCIATION.sub(lambda found: found["word"], text) if '"pronounce"' in text else text


def frame(kind: str, **fields: object) -> str:
    """A message to the client."""
    return msgspec.json.encode({"type": kind, **fields}).decode()


def warning(code: str, description: str) -> str:
    """`warn_*`: what clients of before SDK 5 read."""
    return frame(
        "Warning", code=code, description=description, warn_code=code, warn_msg=description
    )


def failure(code: str, message: str) -> str:
    """Something that was not spoken; the connection goes on or not, as the close frame says."""
    text = wire_message(code, message)
    return frame("Error", code=reason_of(code), description=text, err_code=code, err_msg=text)


def reason_of(code: str) -> str:
    """The vendor's code for one of ours, on a socket."""
    if code == "message_too_large":
        return TOO_BIG
    if code == "invalid_message":
        return BAD_MESSAGE
    return UNDECODABLE if code in CLIENT_CODES else BROKEN


def closing(error: GatewayError) -> Close:
    """How a connection ends that cannot go on."""
    if error.code == "message_too_large":
        return Close(1009, TOO_BIG)
    if error.code in CLIENT_CODES:
        undecodable = error.close_code == _UNDECODABLE_CODE
        return Close(1008, UNDECODABLE if undecodable else error.code)
    return Close(1011, BROKEN)


def refusal(error: GatewayError, request_id: str = "") -> HttpAnswer:
    """An HTTP response of a request or handshake that is refused.

    `dg-error` is where clients find the reason of a refused handshake.
    """
    client = error.code in CLIENT_CODES
    code, status = _REFUSALS.get(
        error.code, ("PAYLOAD_ERROR", 400) if client else ("INTERNAL_SERVER_ERROR", 500)
    )
    text = wire_message(error.code, str(error))
    body = msgspec.json.encode({"err_code": code, "err_msg": text, "request_id": request_id})
    header = text.encode("ascii", "replace").decode()
    return HttpAnswer(status, body, headers={"dg-error": " ".join(header.split())[:500]})
