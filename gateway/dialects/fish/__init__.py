"""Fish Audio: the `/v1/tts/live` socket and `/v1/tts`."""

from __future__ import annotations

import dataclasses

from gateway.dialects import HttpRoute, Opening, SocketRoute
from gateway.dialects.fish.http import TtsRequest
from gateway.dialects.fish.live import LiveDialect
from gateway.dialects.fish.messages import refusal
from gateway.types import Limits

_MOST_FLUSHES = 64


def _limits(opening: Opening) -> Limits:
    """Its clients send a whole text and a flush a sentence, and have no word for "wait"."""
    limits = opening.limits
    return dataclasses.replace(
        limits,
        max_contexts=max(limits.max_contexts, _MOST_FLUSHES),
        max_buffered_chars=max(limits.max_buffered_chars, limits.max_context_chars),
    )


ROUTES = (
    SocketRoute("fish", "/v1/tts/live", LiveDialect, limits=_limits, refusal=refusal),
    HttpRoute("fish", "/v1/tts", TtsRequest),
)
