"""What clients ask before they speak: models and voices.

Requests may name any model; the checkpoint speaks. It is listed under its own name and under the
vendor's, because many clients only let their user choose among those that are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gateway.dialects import HttpAnswer, Opening
from gateway.dialects.explain import shown
from gateway.dialects.openai.errors import error_object

Answer = Callable[[Opening], HttpAnswer]

_VENDOR_MODELS = ("tts-1", "tts-1-hd", "gpt-4o-mini-tts")


def models(opening: Opening) -> HttpAnswer:
    """`GET /v1/models`."""
    listed = [_model(name) for name in _names(opening)]
    return _answer({"object": "list", "data": listed})


def model(opening: Opening) -> HttpAnswer:
    """`GET /v1/models/{id}`; names may hold slashes."""
    name = opening.path["model"].strip("/")
    if not name:
        return models(opening)
    if name not in _names(opening):
        known = ", ".join(_names(opening))
        text = f"model: expected one of {known}, got {shown(name)}"
        body = {"error": error_object(text, "model_not_found", of_peer=True)}
        return HttpAnswer(404, msgspec.json.encode(body))
    return _answer(_model(name))


def audio_models(opening: Opening) -> HttpAnswer:
    """`GET /v1/audio/models`, as Open WebUI asks."""
    return _answer({"models": [{"id": name, "name": name} for name in _names(opening)]})


def audio_voices(opening: Opening) -> HttpAnswer:
    """`GET /v1/audio/voices`, which has two shapes in the wild.

    Open WebUI takes objects only. OpenReader, and others whose requests without a body announce
    JSON, take names only and go on with a list of their own when they get anything else.
    """
    names = opening.voices.known
    if "json" in opening.headers.get("content-type", ""):
        return _answer({"voices": names})
    return _answer({"voices": [{"id": name, "name": name} for name in names]})


def _names(opening: Opening) -> tuple[str, ...]:
    own = opening.facts.checkpoint
    return (own, *(name for name in _VENDOR_MODELS if name != own))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "voice-gateway"}


def _answer(body: Any) -> HttpAnswer:
    return HttpAnswer(200, msgspec.json.encode(body))
