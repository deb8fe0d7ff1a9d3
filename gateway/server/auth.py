"""Who may connect: keys, in every place a client can put one, and the origins of web pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from urllib.parse import urlsplit

# A browser cannot set headers on a WebSocket; a subprotocol `bearer.KEY` is the usual way round.
KEY_SUBPROTOCOL_PREFIX = "bearer."
KEY_QUERY = "api_key"


def bearer_key(authorization: str | None) -> str | None:
    """The key of an `Authorization: Bearer` header."""
    scheme, _, key = (authorization or "").strip().partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def stream_key(
    authorization: str | None, subprotocols: Iterable[str], query: Mapping[str, str]
) -> str | None:
    """The key of a WebSocket handshake: header, else subprotocol, else query."""
    for name in subprotocols:
        if name.startswith(KEY_SUBPROTOCOL_PREFIX):
            return bearer_key(authorization) or name.removeprefix(KEY_SUBPROTOCOL_PREFIX)
    return bearer_key(authorization) or query.get(KEY_QUERY)


def origin_allowed(origin: str | None, host: str | None, allowed: Collection[str]) -> bool:
    """Whether a page of `origin` may use this gateway.

    Programs send no origin. Any page on the gateway's own host may; others only if listed,
    because a gateway on loopback would otherwise speak for every page its user visits.
    """
    if origin is None or "*" in allowed or origin in allowed:
        return True
    own = urlsplit(f"//{host or ''}").hostname
    return own is not None and urlsplit(origin).hostname == own
