"""OpenAI's text-to-speech API, as wide as the clients of self-hosted servers need it.

Fields as in openai-python 2.8, and those that clients of other servers with this shape send: what
has a meaning here acts, the rest is ignored and named in the response's header `IGNORED_HEADER`.
"""

from __future__ import annotations

from gateway.dialects import HttpRoute, LookupRoute, Route, SocketRoute
from gateway.dialects.openai import lookups
from gateway.dialects.openai.errors import error_body, refusal
from gateway.dialects.openai.realtime import RealtimeDialect
from gateway.dialects.openai.request import SpeechCall, parse
from gateway.dialects.openai.speech import IGNORED_HEADER, SpeechDialect

__all__ = ["IGNORED_HEADER", "ROUTES", "SpeechCall", "SpeechDialect", "error_body", "parse"]

_KEY_HEADERS = ("api-key",)  # where Azure's clients put it


def _lookup(path: str, answer: lookups.Answer) -> LookupRoute:
    return LookupRoute(path, answer, refusal, _KEY_HEADERS)


ROUTES: tuple[Route, ...] = (
    HttpRoute("openai", "/v1/audio/speech", SpeechDialect, key_headers=_KEY_HEADERS),
    SocketRoute(
        "openai-realtime",
        "/v1/realtime",
        RealtimeDialect,
        subprotocol="realtime",
        key_headers=_KEY_HEADERS,
    ),
    _lookup("/v1/models", lookups.models),
    _lookup("/v1/models/{model:path}", lookups.model),
    _lookup("/v1/audio/models", lookups.audio_models),
    _lookup("/v1/audio/voices", lookups.audio_voices),
)
