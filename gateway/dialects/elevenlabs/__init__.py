"""ElevenLabs' text-to-speech API: two sockets, four ways over HTTP, and the lists around them.

Facts from elevenlabs 2.78, its JavaScript sibling 2.73, and the plugins of Pipecat 1.14 and
LiveKit 1.8. Settings, closing, idling and the number of contexts are as there. What differs: text
that waits is spoken after a while instead of never; a flush of an unknown context opens none;
contexts count no more once the client has closed them; a second close silences one that is still
being spoken; settings may come late as long as there was no text. Both alignments are of the
text as it was written, and come after its sound. Voice settings but the speed, pronunciation
dictionaries, models and languages are taken and ignored.
"""

from __future__ import annotations

from gateway.dialects import HttpRoute, LookupRoute, Route, SocketRoute
from gateway.dialects.elevenlabs import lookups
from gateway.dialects.elevenlabs.errors import refusal
from gateway.dialects.elevenlabs.http import Speech, TimedSpeech, TimedStream
from gateway.dialects.elevenlabs.messages import key_in_message
from gateway.dialects.elevenlabs.settings import socket_limits
from gateway.dialects.elevenlabs.sockets import MultiStreamInput, StreamInput

_SPEECH = "/v1/text-to-speech/{voice_id}"
_KEY_HEADERS = ("xi-api-key",)
_KEY_QUERIES = ("xi-api-key", "xi_api_key", "single_use_token")


def _socket(name: str, dialect: type[StreamInput] | type[MultiStreamInput]) -> SocketRoute:
    return SocketRoute(
        "elevenlabs",
        f"{_SPEECH}/{name}",
        dialect,
        key_headers=_KEY_HEADERS,
        key_queries=_KEY_QUERIES,
        key_in_message=key_in_message,
        independent_contexts=True,
        limits=socket_limits,
    )


def _http(path: str, dialect: type[Speech]) -> HttpRoute:
    return HttpRoute("elevenlabs", path, dialect, key_headers=_KEY_HEADERS)


ROUTES: tuple[Route, ...] = (
    _socket("stream-input", StreamInput),
    _socket("multi-stream-input", MultiStreamInput),
    _http(_SPEECH, Speech),
    _http(f"{_SPEECH}/stream", Speech),
    _http(f"{_SPEECH}/with-timestamps", TimedSpeech),
    _http(f"{_SPEECH}/stream/with-timestamps", TimedStream),
    LookupRoute("/v2/voices", lookups.voice_page, refusal, _KEY_HEADERS),
    LookupRoute("/v1/voices/{voice_id}", lookups.voice, refusal, _KEY_HEADERS),
    LookupRoute("/v1/models", lookups.models, refusal, _KEY_HEADERS, claims=lookups.asks),
)
