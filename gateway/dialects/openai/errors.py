"""The vendor's error object."""

from __future__ import annotations

from typing import Any

import msgspec

from gateway.dialects import HttpAnswer
from gateway.dialects.openai.request import FIELDS
from gateway.errors import GatewayError

# Messages of these are made for the peer, although the fault is ours.
_TOLD = ("overloaded", "engine_failed")


def error_body(error: GatewayError) -> dict[str, Any]:
    """Our own errors show no detail but why there is no capacity."""
    of_peer = error.http_status < 500
    told = of_peer or error.code in _TOLD
    text = str(error) if told else "the server could not do this; retry later"
    return {"error": error_object(text, error.code, of_peer)}


def error_object(text: str, code: str, of_peer: bool) -> dict[str, Any]:
    """What stands under `error`; `param` is the field that the text names."""
    param, colon, _ = text.partition(": ")
    return {
        "message": text,
        "type": "invalid_request_error" if of_peer else "server_error",
        "param": param if colon and param in FIELDS else None,
        "code": code,
    }


def refusal(error: GatewayError) -> HttpAnswer:
    """A failure before any sound, as a response."""
    return HttpAnswer(error.http_status, msgspec.json.encode(error_body(error)))
