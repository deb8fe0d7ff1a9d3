"""voice-gateway.v1, the protocol of PROTOCOL.md: JSON text frames and tagged binary frames.

A pure codec: `decode` gives a command or raises a `ClientError` that names the field, what was
expected and what came; `encode` gives a text frame (str) or a binary one (bytes).
"""

from gateway.dialects.native.decode import decode
from gateway.dialects.native.encode import HEADER, SUBPROTOCOL, encode

__all__ = ["HEADER", "SUBPROTOCOL", "decode", "encode"]
