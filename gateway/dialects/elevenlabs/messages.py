"""A client's messages on either socket, as they are sent."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct, field

from gateway.dialects.elevenlabs.settings import GenerationConfig, VoiceSettings
from gateway.dialects.explain import explain, parse_json
from gateway.errors import ClientError, InvalidMessageError, MessageTooLargeError

# May only stand in a context's first message. The second one has two names.
_FIXED = ("voice_settings", "generation_config", "generator_config")
_DICTIONARIES = "pronunciation_dictionary_locators"


class _Body(Struct):
    """Every field may be missing or null; others are ignored. Some are spelt in two ways."""

    text: str | None = None
    context_id: str | None = None
    context_id_too: str | None = field(name="contextId", default=None)
    voice_settings: VoiceSettings | None = None
    generation_config: GenerationConfig | None = None
    generator_config: GenerationConfig | None = None
    flush: bool | None = None
    close_context: bool | None = None
    close_socket: bool | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A client's message. `context`: its id there; `fixed`: settings, as they came."""

    text: str | None = None
    context: str | None = None
    voice: VoiceSettings | None = None
    generation: GenerationConfig | None = None
    flush: bool = False
    close_context: bool = False
    close_socket: bool = False
    fixed: dict[str, Any] = dataclasses.field(default_factory=dict)


def read_message(raw: str | bytes, max_bytes: int) -> Message:
    """Raises InvalidMessageError, InvalidValueError, InvalidTextError, MessageTooLargeError."""
    size = len(raw) if isinstance(raw, bytes) else len(raw.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise MessageTooLargeError(f"expected at most {max_bytes} bytes, got {size}")
    if isinstance(raw, bytes):
        raise InvalidMessageError(f"expected a text frame, got a binary one of {size} bytes")
    fields = parse_json(raw)
    try:
        body = msgspec.convert(fields, _Body)
    except msgspec.ValidationError as error:
        raise explain(error, fields, _Body) from None
    return Message(
        text=body.text,
        context=body.context_id_too if body.context_id is None else body.context_id,
        voice=body.voice_settings,
        generation=body.generation_config or body.generator_config,
        flush=bool(body.flush),
        close_context=bool(body.close_context),
        close_socket=bool(body.close_socket),
        fixed=fixed_settings(fields),
    )


def fixed_settings(body: dict[str, Any]) -> dict[str, Any]:
    """The settings that a context has for good, without those that say nothing."""
    found: dict[str, Any] = {}
    for name in _FIXED:
        given = body.get(name)
        if isinstance(given, dict):
            told = {key: value for key, value in given.items() if value is not None}
            if told:
                found[name.replace("generator", "generation")] = told
    if body.get(_DICTIONARIES):
        found[_DICTIONARIES] = body[_DICTIONARIES]
    return found


def key_in_message(raw: str | bytes) -> str | None:
    """The API key of a first message, where clients without headers put it."""
    if isinstance(raw, bytes):
        return None
    try:
        body = parse_json(raw)
    except ClientError:
        return None
    for name in ("xi_api_key", "xi-api-key"):
        if isinstance(key := body.get(name), str) and key.strip():
            return key.strip()
    authorization = body.get("authorization")
    if isinstance(authorization, str) and authorization.strip():
        return authorization.strip().removeprefix("Bearer ").strip()
    return None
