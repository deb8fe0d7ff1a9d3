"""Who may connect: keys, in every place a client can put one, and the origins of web pages."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection

from gateway.dialects import Opening, Route

# A browser cannot set headers on a WebSocket; subprotocols are the usual way round: `bearer.KEY`,
# OpenAI's clients have a longer word for it, or `token` (in Deepgram's clients) and then KEY.
_KEY_PREFIXES = ("bearer.", "openai-insecure-api-key.")
_KEY_MARKS = ("token", "bearer")
_SCHEMES = ("bearer", "token")

_AUTHORITY = re.compile(r"(?P<name>\[[0-9a-f:.%]+\]|[a-z0-9_.-]+)(?::[0-9]{0,5})?")


def not_keys(offered: tuple[str, ...]) -> tuple[str, ...]:
    """The offered subprotocols that do not carry a key."""
    return tuple(name for name in offered if not name.startswith(_KEY_PREFIXES))


def chosen_subprotocol(offered: tuple[str, ...], ours: str | None) -> str | None:
    """The one to answer with: ours, or the mark before a key, without which browsers hang up."""
    if ours in offered:
        return ours
    return offered[0] if _is_marked_key(offered) else None


def _is_marked_key(offered: tuple[str, ...]) -> bool:
    return len(offered) == 2 and offered[0].lower() in _KEY_MARKS


def authorization_key(authorization: str | None) -> str | None:
    """The key of an `Authorization: Bearer` (or `Token`) header."""
    scheme, _, key = (authorization or "").strip().partition(" ")
    return key.strip() or None if scheme.lower() in _SCHEMES else None


def offered_key(opening: Opening, route: Route) -> str | None:
    """The key of a request: header, else subprotocol, else query, as far as the route takes it."""
    headers = opening.headers
    if (key := authorization_key(headers.get("authorization"))) is not None:
        return key
    for name in route.key_headers:
        if given := headers.get(name, "").strip():
            return given
    return _subprotocol_key(opening.subprotocols) or next(
        (opening.query[name] for name in route.key_queries if opening.query.get(name)), None
    )


def _subprotocol_key(offered: tuple[str, ...]) -> str | None:
    for name in offered:
        for prefix in _KEY_PREFIXES:
            if name.startswith(prefix):
                return name.removeprefix(prefix)
    return offered[1] if _is_marked_key(offered) else None


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
