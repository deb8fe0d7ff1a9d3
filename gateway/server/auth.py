"""Who may connect: keys, in every place a client can put one, and the origins of web pages."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping

# A browser cannot set headers on a WebSocket; a subprotocol `bearer.KEY` is the usual way round.
KEY_SUBPROTOCOL_PREFIX = "bearer."
KEY_QUERY = "api_key"

_AUTHORITY = re.compile(r"(?P<name>\[[0-9a-f:.%]+\]|[a-z0-9_.-]+)(?::[0-9]{0,5})?")


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


def host_of(authority: str | None) -> str | None:
    """The name or address in `host:port`, in small letters; None when it is malformed."""
    found = _AUTHORITY.fullmatch((authority or "").lower())
    return None if found is None else found["name"].strip("[]").rstrip(".")


def host_allowed(host: str | None, names: Collection[str]) -> bool:
    """Whether a request's `Host` is one of `names` (in small letters), or a bare address.

    Whoever names an address has asked no DNS, so nobody has led them here. Programs that speak
    HTTP/1.0 send no `Host`; browsers always do.
    """
    if host is None or "*" in names:
        return True
    name = host_of(host)
    return name is not None and (name in names or _is_address(name))


def origin_allowed(origin: str | None, host: str | None, allowed: Collection[str]) -> bool:
    """Whether a page of `origin` may use this gateway.

    Programs send no origin. Any page on the gateway's own host may; others only if listed,
    because a gateway on loopback would otherwise speak for every page its user visits. `host` must
    have been checked: a page chooses the name it reaches us by.
    """
    if origin is None or "*" in allowed or origin in allowed:
        return True
    scheme, separator, authority = origin.partition("://")
    own = host_of(host)
    return bool(scheme and separator) and own is not None and host_of(authority) == own


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
