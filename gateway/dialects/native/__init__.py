"""voice-gateway.v1, the protocol of PROTOCOL.md: JSON text frames and tagged binary frames.

A pure codec: `decode` gives a command or raises a `ClientError` that names the field, what was
expected and what came; `encode` gives a text frame (str) or a binary one (bytes).
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.dialects import Close, LookupRoute, Opening, SocketRoute
from gateway.dialects.native.decode import decode
from gateway.dialects.native.encode import HEADER, SUBPROTOCOL, encode
from gateway.dialects.native.lookups import refusal, voices
from gateway.errors import GatewayError
from gateway.types import Command, Event, FileFormat

__all__ = ["HEADER", "ROUTES", "SUBPROTOCOL", "NativeDialect", "decode", "encode"]

_INTERNAL_CLOSE_CODE, _POLICY_CLOSE_CODE = 1011, 1008


class NativeDialect:
    """One connection. It has no state: a message is a command, an event a frame."""

    file = FileFormat()

    def __init__(self, opening: Opening) -> None:
        self._max_bytes = opening.limits.max_message_bytes

    def decode(self, raw: str | bytes) -> Sequence[Command]:
        """See `Dialect`."""
        return (decode(raw, self._max_bytes),)

    def encode(self, event: Event) -> Sequence[str | bytes]:
        """See `Dialect`."""
        return (encode(event),)

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        ours = type(error) is GatewayError
        code = error.close_code or (_INTERNAL_CLOSE_CODE if ours else _POLICY_CLOSE_CODE)
        return Close(code, "internal error" if ours else error.code)


ROUTES = (
    SocketRoute(
        "native",
        "/v1/stream",
        NativeDialect,
        subprotocol=SUBPROTOCOL,
        resumable=True,
        key_queries=("api_key",),
    ),
    LookupRoute("/v1/voices", voices, refusal, key_headers=("xi-api-key",)),
)
