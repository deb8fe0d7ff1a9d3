"""What ElevenLabs' clients can set, as settings of a context.

What means nothing here (stability, similarity, style, speaker boost, dictionaries, logging, latency
levels, models, languages) is taken and ignored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from gateway.dialects import Opening
from gateway.dialects.elevenlabs.formats import DEFAULT_FORMAT, OUTPUT_FORMATS, OutputFormat
from gateway.dialects.explain import shown
from gateway.errors import InvalidValueError
from gateway.types import Limits, SamplingSettings, SettingsPatch

MAX_CONTEXTS = 5  # that a client has not closed
_DRAINING = 27  # closed ones that are still being spoken, and count here
DEFAULT_INACTIVITY_S, MAX_INACTIVITY_S = 20, 180
_MAX_SEED = 2**32 - 1

# `auto_mode`: a message is a phrase. One without an end mark is waited for so long.
_AUTO_DELAY_MS = 200
# `chunk_length_schedule`: how many characters to wait for, at what an LLM writes in a second.
_WRITTEN_CHARS_PER_S = 80
_MAX_DELAY_MS = 10_000

Seed = Annotated[int, Meta(ge=0, le=_MAX_SEED)]


class VoiceSettings(Struct):
    """Of these only the speed acts."""

    speed: Annotated[float, Meta(ge=0.5, le=2.0)] | None = None


class GenerationConfig(Struct):
    """Text lengths after which the vendor begins to speak; only the first one acts."""

    chunk_length_schedule: list[Annotated[float, Meta(ge=0, le=100_000)]] | None = None


def flag(query: Mapping[str, str], name: str) -> bool:
    """A yes or no in a query."""
    return query.get(name, "").strip().lower() in ("true", "1")


def output_format(query: Mapping[str, str]) -> OutputFormat:
    """The format that is asked for. Raises InvalidValueError."""
    name = query.get("output_format") or DEFAULT_FORMAT
    if (found := OUTPUT_FORMATS.get(name.strip().lower())) is None:
        known = ", ".join(OUTPUT_FORMATS)
        raise InvalidValueError(f"output_format: expected one of {known}, got {shown(name)}")
    return found


def known_format(query: Mapping[str, str]) -> OutputFormat:
    """The same for who may not fail: the default for an unknown one."""
    name = query.get("output_format", "").strip().lower()
    return OUTPUT_FORMATS.get(name, OUTPUT_FORMATS[DEFAULT_FORMAT])


def socket_limits(opening: Opening) -> Limits:
    """A connection's bounds. Raises InvalidValueError for what its address says wrong."""
    output_format(opening.query)
    limits = opening.limits
    return dataclasses.replace(
        limits,
        max_contexts=MAX_CONTEXTS + _DRAINING,
        max_buffered_chars=max(limits.max_buffered_chars, limits.max_context_chars),
        idle_timeout_ms=1000 * inactivity_s(opening.query),
    )


def inactivity_s(query: Mapping[str, str]) -> int:
    """How long a context may hear nothing. Raises InvalidValueError."""
    given = query.get("inactivity_timeout") or str(DEFAULT_INACTIVITY_S)
    try:
        seconds = int(given)
    except ValueError:
        seconds = 0
    if seconds < 1:
        raise InvalidValueError(f"inactivity_timeout: expected 1 or more, got {shown(given)}")
    return min(seconds, MAX_INACTIVITY_S)


def query_seed(query: Mapping[str, str]) -> int | None:
    """The seed of an address; one that is none is left out."""
    given = query.get("seed", "")
    usable = given.isascii() and given.isdigit() and len(given) <= len(str(_MAX_SEED))
    return min(int(given), _MAX_SEED) if usable else None


def patch(
    opening: Opening,
    made: OutputFormat,
    voice: VoiceSettings | None,
    generation: GenerationConfig | None = None,
    *,
    seed: int | None = None,
    normalization: str | None = None,
) -> SettingsPatch:
    """The settings of one context. Sound is sent as it is made."""
    given: dict[str, Any] = {
        "voice": opening.voices.resolve(opening.path.get("voice_id", "")),
        "format": made.packets,
        "words": True,
        "lead_ms": 0,
        "speed": None if voice is None else voice.speed,
        "max_buffer_delay_ms": _delay_ms(opening.query, generation),
        "normalize": {"on": True, "off": False}.get(normalization or ""),
        "sampling": None if seed is None else SamplingSettings(seed=seed),
    }
    return SettingsPatch(**given)


def _delay_ms(query: Mapping[str, str], generation: GenerationConfig | None) -> int | None:
    if flag(query, "auto_mode"):
        return _AUTO_DELAY_MS
    if generation is None or not generation.chunk_length_schedule:
        return None
    wait_ms = 1000 * generation.chunk_length_schedule[0] / _WRITTEN_CHARS_PER_S
    return min(round(wait_ms), _MAX_DELAY_MS)
