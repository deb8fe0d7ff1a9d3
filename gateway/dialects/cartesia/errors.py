"""Cartesia's error shape: title, message, error code, status and the id of the request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.dialects import Close, HttpAnswer
from gateway.errors import CLIENT_CODES, GatewayError, family, wire_message

POLICY, TOO_LARGE, INTERNAL, TRY_LATER = 1008, 1009, 1011, 1013
_MAX_REASON_BYTES = 123  # RFC 6455, 5.5

# Our codes by their names there; the others keep ours.
_NAMES = {
    "unknown_voice": "voice_not_found",
    "limit_exceeded": "concurrency_limited",
    "internal": "internal_server_error",
    "engine_failed": "internal_server_error",
    "overloaded": "service_unavailable",
}
_TITLES = {
    "unauthorized": "Unauthorized",
    "unknown_voice": "Voice not found",
    "limit_exceeded": "Too many requests",
    "internal": "Internal server error",
    "engine_failed": "Generation failed",
    "overloaded": "Service unavailable",
    "context_state": "Context closed",
}
_STATUS = {error.code: error.http_status for error in family(GatewayError)}
_TOLD = ("overloaded", "engine_failed")  # made for the peer, although the fault is ours

# Before this one an error on a socket was a text in `error`.
_FIRST_VERSION_WITH_TITLES = "2026"


def new_request_id() -> str:
    """What an error names, for whoever reads two logs."""
    return str(uuid.uuid4())


def has_titles(query: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Whether a client of the version that it names knows errors with a title."""
    version = query.get("cartesia_version") or headers.get("cartesia-version") or ""
    return not version or version >= _FIRST_VERSION_WITH_TITLES


def error_fields(code: str, message: str, request_id: str) -> dict[str, Any]:
    """What every error says. Internal detail is left out."""
    told = message if code in _TOLD else wire_message(code, message)
    status = 400 if code == "context_state" else _STATUS.get(code, 500)
    return {
        "title": _TITLES.get(code, "Invalid request" if status < 500 else "Internal server error"),
        "message": told,
        "error_code": _NAMES.get(code, code),
        "status_code": status,
        "request_id": request_id,
    }


def refusal(error: GatewayError) -> HttpAnswer:
    """A failed request or handshake."""
    body = error_fields(error.code, str(error), new_request_id())
    return HttpAnswer(body["status_code"], msgspec.json.encode(body))


def closing(error: GatewayError) -> Close:
    """How a connection ends that cannot go on."""
    codes = {"overloaded": TRY_LATER, "message_too_large": TOO_LARGE}
    ours = error.code not in CLIENT_CODES
    reason = wire_message(error.code, str(error)).encode()[:_MAX_REASON_BYTES]
    code = codes.get(error.code, INTERNAL if ours else POLICY)
    return Close(code, reason.decode(errors="ignore"))
