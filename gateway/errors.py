"""Every error the gateway raises or reports: ours and the peer's are different trees.

Each class has one wire code (JSON `error.code`) and one HTTP status; some also close the socket.
Internal detail never goes on the wire: only the message of a `ClientError` does.
"""

from __future__ import annotations


class GatewayError(Exception):
    """Root of everything below."""

    code = "internal"
    http_status = 500
    close_code: int | None = None


class ClientError(GatewayError):
    """The peer did something wrong; the message says what was expected and what came."""

    code = "invalid_request"
    http_status = 400
    context: str | None = None  # the context it is about, where a dialect knows


class InvalidMessageError(ClientError):
    """Not JSON, not an object, an unknown type, an unknown or missing field, or a wrong type."""

    code = "invalid_message"


class InvalidValueError(ClientError):
    """A field of the right type whose value is outside its range."""

    code = "invalid_value"


class InvalidTextError(ClientError):
    """Text that cannot be spoken: lone surrogates, NUL, or over the limit."""

    code = "invalid_text"


class MessageTooLargeError(ClientError):
    """A message over `limits.max_message_bytes`."""

    code = "message_too_large"
    http_status = 413
    close_code = 1009


class UnknownVoiceError(ClientError):
    """No such voice."""

    code = "unknown_voice"
    http_status = 404


class UnknownContextError(ClientError):
    """The message needs a context that does not exist."""

    code = "unknown_context"


class ContextStateError(ClientError):
    """The message is not legal in the context's present state (text after end, ...)."""

    code = "context_state"
    http_status = 409


class MethodNotAllowedError(ClientError):
    """An HTTP method that the path does not know."""

    code = "method_not_allowed"
    http_status = 405


class LimitExceededError(ClientError):
    """A published limit was exceeded: contexts per session, buffered text, ..."""

    code = "limit_exceeded"
    http_status = 429


class UnauthorizedError(ClientError):
    """Missing or wrong credentials."""

    code = "unauthorized"
    http_status = 401
    close_code = 4401


class ForbiddenError(ClientError):
    """A web page of another host, or a name that is not the gateway's: see `server/guard.py`."""

    code = "forbidden"
    http_status = 403


class SlowClientError(ClientError):
    """The client does not read; its queue is full."""

    code = "slow_client"
    close_code = 4408


class ResumeExpiredError(ClientError):
    """The session is unknown or over, or too much of what the client lacks was sent long ago."""

    code = "resume_expired"
    http_status = 410
    close_code = 4410


class TakenOverError(ClientError):
    """Another connection has resumed the session."""

    code = "taken_over"
    http_status = 409
    close_code: int = 4409


class OverloadedError(GatewayError):
    """No capacity now; retry later."""

    code = "overloaded"
    http_status = 503
    close_code = 1013


class EngineFailedError(GatewayError):
    """The engine failed this segment; the context ends, the session lives."""

    code = "engine_failed"
    http_status = 502


_OWN_MESSAGES = {
    "overloaded": "no capacity for this segment now; retry later",
    "engine_failed": "the engine could not speak this segment",
}
_INTERNAL_MESSAGE = "internal error"


def family(root: type[GatewayError]) -> list[type[GatewayError]]:
    """A class of errors and all below it."""
    return [root, *(error for child in root.__subclasses__() for error in family(child))]


CLIENT_CODES = frozenset(error.code for error in family(ClientError))


def wire_message(code: str, message: str) -> str:
    """Return `message` for an error of the peer, and a general one for our own."""
    if code in CLIENT_CODES:
        return message
    return _OWN_MESSAGES.get(code, _INTERNAL_MESSAGE)
