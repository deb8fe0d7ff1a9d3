"""Deepgram: `/v1/speak` and `/v2/speak`, sockets and requests."""

from __future__ import annotations

import dataclasses
from functools import partial

from gateway.dialects import HttpRoute, Opening, SocketRoute
from gateway.dialects.deepgram.rest import SpeakRequest
from gateway.dialects.deepgram.v1 import SpeakV1
from gateway.dialects.deepgram.v2 import SpeakV2
from gateway.dialects.deepgram.wire import refusal
from gateway.types import Limits

_MOST_TURNS = 64  # flushed and not yet spoken; the vendor allows 20 flushes a minute


def _limits(opening: Opening) -> Limits:
    """Its clients flush sentence by sentence, and do not wait for the sound."""
    limits = opening.limits
    return dataclasses.replace(limits, max_contexts=max(limits.max_contexts, _MOST_TURNS))


ROUTES = (
    SocketRoute("deepgram", "/v1/speak", SpeakV1, limits=_limits, refusal=refusal),
    SocketRoute("deepgram", "/v2/speak", SpeakV2, limits=_limits, refusal=refusal),
    HttpRoute("deepgram", "/v1/speak", SpeakRequest),
    HttpRoute("deepgram", "/v2/speak", partial(SpeakRequest, model_required=True)),
)
