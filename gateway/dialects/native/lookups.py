"""`GET /v1/voices`."""

from __future__ import annotations

import msgspec

from gateway.dialects import HttpAnswer, Opening
from gateway.dialects.voice_list import listed_voice
from gateway.errors import ClientError, GatewayError, OverloadedError


def voices(opening: Opening) -> HttpAnswer:
    """Every voice, in the order of the greeting; other vendors' clients ask here, too."""
    names = opening.facts.voices
    body = {"voices": [listed_voice(name) for name in names]}
    return HttpAnswer(200, msgspec.json.encode(body))


def refusal(error: GatewayError) -> HttpAnswer:
    """An error as an object with our code; messages of our own failures stay here."""
    told = isinstance(error, ClientError | OverloadedError)
    message = str(error) if told else "the server could not do this; retry later"
    body = {"error": {"code": error.code, "message": message}}
    return HttpAnswer(error.http_status, msgspec.json.encode(body))
