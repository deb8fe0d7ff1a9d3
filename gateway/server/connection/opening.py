"""What a dialect is told of a request or handshake."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from gateway.dialects import Opening
from gateway.engine_link.port import facts_of
from gateway.server.service import Service
from gateway.types import EngineFacts, VoiceNames


def opening_of(connection: HTTPConnection, service: Service) -> Opening:
    """Read the request; of the engine what is known so far."""
    config, info = service.config, service.known_info
    facts = EngineFacts(voices=()) if info is None else facts_of(info)
    return Opening(
        path=dict(connection.path_params),
        query=dict(connection.query_params),
        headers=dict(connection.headers),
        subprotocols=tuple(connection.scope.get("subprotocols", ())),
        facts=facts,
        limits=config.limits,
        voices=VoiceNames(facts.voices, config.voice_names, config.fallback_voice),
    )
