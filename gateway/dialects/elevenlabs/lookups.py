"""What ElevenLabs' clients ask before they speak: voices and models."""

from __future__ import annotations

from typing import Any

import msgspec

from gateway.dialects import HttpAnswer, Opening
from gateway.dialects.explain import shown
from gateway.dialects.voice_list import listed_voice
from gateway.errors import InvalidValueError, UnknownVoiceError
from gateway.types import plain_name

_MAX_PAGE = 100


def asks(opening: Opening) -> bool:
    """Whether a question at a path of several vendors comes from a client of this one."""
    return "xi-api-key" in opening.headers


def _answer(body: Any) -> HttpAnswer:
    return HttpAnswer(200, msgspec.json.encode(body))


def models(opening: Opening) -> HttpAnswer:
    """The checkpoint. Requests may name any model; this one speaks."""
    name = opening.facts.checkpoint
    model = {
        "model_id": name,
        "name": name,
        "can_do_text_to_speech": True,
        "can_do_voice_conversion": False,
        "can_be_finetuned": False,
        "can_use_style": False,
        "can_use_speaker_boost": False,
        "serves_pro_voices": False,
        "languages": [],
        "maximum_text_length_per_request": opening.limits.max_context_chars,
    }
    return _answer([model])


def voice(opening: Opening) -> HttpAnswer:
    """One voice, by its name or another vendor's. Raises UnknownVoiceError."""
    name = opening.path["voice_id"]
    if (found := opening.voices.find(name)) is None:
        known = ", ".join(opening.voices.known)
        raise UnknownVoiceError(f"voice_id: expected one of {known}, got {shown(name)}")
    return _answer(listed_voice(found))


def voice_page(opening: Opening) -> HttpAnswer:
    """Voices whose name holds `search`, in pages. Raises InvalidValueError."""
    search = plain_name(opening.query.get("search", ""))
    names = [name for name in opening.voices.known if search in plain_name(name)]
    start = _number(opening, "next_page_token", 0)
    end = start + min(max(_number(opening, "page_size", _MAX_PAGE), 1), _MAX_PAGE)
    more = end < len(names)
    return _answer(
        {
            "voices": [listed_voice(name) for name in names[start:end]],
            "has_more": more,
            "total_count": len(names),
            "next_page_token": str(end) if more else None,
        }
    )


def _number(opening: Opening, name: str, default: int) -> int:
    given = opening.query.get(name) or str(default)
    if not (given.isascii() and given.isdigit() and len(given) < 10):
        raise InvalidValueError(f"{name}: expected a number, got {shown(given)}")
    return int(given)
