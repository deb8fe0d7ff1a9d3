"""What a peer is told of a failure: the message of its own mistakes, never our detail."""

from __future__ import annotations

from gateway.errors import ClientError

_OWN_MESSAGES = {
    "overloaded": "no capacity for this segment now; retry later",
    "engine_failed": "the engine could not speak this segment",
}
_INTERNAL_MESSAGE = "internal error"


def _client_codes() -> frozenset[str]:
    found: set[str] = set()
    todo: list[type[ClientError]] = [ClientError]
    while todo:
        error = todo.pop()
        found.add(error.code)
        todo += error.__subclasses__()
    return frozenset(found)


CLIENT_CODES = _client_codes()


def wire_message(code: str, message: str) -> str:
    """Return `message` for an error of the peer, and a general one for our own."""
    if code in CLIENT_CODES:
        return message
    return _OWN_MESSAGES.get(code, _INTERNAL_MESSAGE)
