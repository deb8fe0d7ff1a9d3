"""Cartesia's text-to-speech API: a socket of many contexts, bytes, server-sent events, voices.

Facts from cartesia 4.2 in Python and JavaScript, and the plugins of Pipecat 1.14 and LiveKit 1.8.
A context keeps the voice, language and format of its first message, as there; the speed may change.
What differs: a cancel stops what is being spoken, not only what was not begun; text for a cancelled
context is refused, so that late tokens are never spoken; contexts that wait for text, and
connections that are idle, live for minutes. Models, dictionaries, phonemes, the volume and emotions
are taken and ignored; embeddings and unknown voices are spoken by the fallback voice.
"""

from __future__ import annotations

from gateway.dialects import HttpRoute, LookupRoute, Route, SocketRoute
from gateway.dialects.cartesia import lookups
from gateway.dialects.cartesia.errors import refusal
from gateway.dialects.cartesia.http import Bytes, Events
from gateway.dialects.cartesia.socket import ContextSocket, socket_limits

_KEY_HEADERS = ("x-api-key",)
_KEY_QUERIES = ("api_key", "access_token")

ROUTES: tuple[Route, ...] = (
    SocketRoute(
        "cartesia",
        "/tts/websocket",
        ContextSocket,
        key_headers=_KEY_HEADERS,
        key_queries=_KEY_QUERIES,
        independent_contexts=True,
        limits=socket_limits,
        refusal=refusal,
    ),
    HttpRoute("cartesia", "/tts/bytes", Bytes, key_headers=_KEY_HEADERS, key_queries=_KEY_QUERIES),
    HttpRoute("cartesia", "/tts/sse", Events, key_headers=_KEY_HEADERS, key_queries=_KEY_QUERIES),
    LookupRoute("/voices", lookups.voice_page, refusal, _KEY_HEADERS, _KEY_QUERIES),
    LookupRoute("/voices/{voice_id}", lookups.voice, refusal, _KEY_HEADERS, _KEY_QUERIES),
)
