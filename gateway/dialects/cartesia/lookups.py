"""What Cartesia's clients ask before they speak: voices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from gateway.dialects import HttpAnswer, Opening
from gateway.dialects.explain import shown
from gateway.errors import InvalidValueError, UnknownVoiceError
from gateway.types import plain_name

_MAX_PAGE, _DEFAULT_PAGE = 100, 10
_UNKNOWN_DATE = "1970-01-01T00:00:00Z"  # clients parse one, and a voice here has none


def _listed(name: str, opening: Opening) -> dict[str, Any]:
    language = next(iter(opening.facts.languages), "en")
    return {
        "id": name,
        "name": name,
        "access": "public",
        "visibility": "all",
        "created_at": _UNKNOWN_DATE,
        "description": "",
        "tagline": "",
        "is_owner": False,
        "is_public": True,
        "user_id": "",
        "language": language,
        "locales": [{"locale": language, "is_native": True}],
    }


def voice(opening: Opening) -> HttpAnswer:
    """One voice, by its name or another vendor's. Raises UnknownVoiceError."""
    name = opening.path["voice_id"]
    if (found := opening.voices.find(name)) is None:
        known = ", ".join(opening.voices.known)
        raise UnknownVoiceError(f"id: expected one of {known}, got {shown(name)}")
    return HttpAnswer(200, msgspec.json.encode(_listed(found, opening)))


def voice_page(opening: Opening) -> HttpAnswer:
    """Voices whose name holds `q`, in pages by the voice before or after. Raises ClientError."""
    wanted = plain_name(opening.query.get("q", ""))
    names = [name for name in opening.voices.known if wanted in plain_name(name)]
    if opening.query.get("is_owner", "").lower() == "true":
        names = []
    limit = _limit(opening)
    if before := opening.query.get("ending_before"):
        left = names[: _place(names, before)]
        page, more = left[-limit:], len(left) > limit
    else:
        after = opening.query.get("starting_after")
        left = names[_place(names, after) + 1 :] if after else names
        page, more = left[:limit], len(left) > limit
    body = {
        "data": [_listed(name, opening) for name in page],
        "has_more": more,
        "next_page": page[-1] if more else None,
    }
    return HttpAnswer(200, msgspec.json.encode(body))


def _limit(opening: Opening) -> int:
    given = opening.query.get("limit") or str(_DEFAULT_PAGE)
    if not (given.isascii() and given.isdigit() and 1 <= int(given[:4]) <= _MAX_PAGE):
        raise InvalidValueError(f"limit: expected 1 to {_MAX_PAGE}, got {shown(given)}")
    return int(given)


def _place(names: Sequence[str], name: str) -> int:
    if name not in names:
        raise InvalidValueError(f"cursor: expected the id of a listed voice, got {shown(name)}")
    return names.index(name)
