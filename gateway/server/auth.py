"""Who may connect: keys, in every place a client can put one, and the origins of web pages."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from gateway.dialects import Opening, Route

# A browser cannot set headers on a WebSocket; subprotocols are the usual way round: `bearer.KEY`,
# or `token` (in Deepgram's clients) and then KEY.
_KEY_PREFIX, _KEY_MARKS = "bearer.", ("token", "bearer")
_SCHEMES = ("bearer", "token")


def is_key_subprotocol(name: str) -> bool:
    """Whether an offered subprotocol is no protocol but carries a key."""
    return name.startswith(_KEY_PREFIX)


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
        if name.startswith(_KEY_PREFIX):
            return name.removeprefix(_KEY_PREFIX)
    if len(offered) == 2 and offered[0].lower() in _KEY_MARKS:
        return offered[1]
    return None


def origin_allowed(origin: str | None, host: str | None, allowed: Collection[str]) -> bool:
    """Whether a page of `origin` may use this gateway.

    Programs send no origin. Any page on the gateway's own host may; others only if listed,
    because a gateway on loopback would otherwise speak for every page its user visits.
    """
    if origin is None or "*" in allowed or origin in allowed:
        return True
    own = urlsplit(f"//{host or ''}").hostname
    return own is not None and urlsplit(origin).hostname == own
