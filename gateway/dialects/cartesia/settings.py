"""What Cartesia's clients can set, as settings of a context.

What means nothing here (models, pronunciation dictionaries, volume, emotions, phoneme and
normalised time stamps, saving) is taken and ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from gateway.dialects import Opening
from gateway.dialects.cartesia.formats import OutputFormat, made_of
from gateway.dialects.explain import explain, shown
from gateway.errors import InvalidMessageError, InvalidValueError
from gateway.types import SettingsPatch

DEFAULT_BUFFER_DELAY_MS, MAX_BUFFER_DELAY_MS = 3_000, 5_000
# A buffer of none: a message is a phrase. One that ends in mid-sentence is waited for so long.
_NO_BUFFER_DELAY_MS = 100

_SPEEDS = {"slowest": 0.6, "slow": 0.8, "normal": 1.0, "fast": 1.2, "fastest": 1.5}

T = TypeVar("T", bound=Struct)
Speed = Annotated[float, Meta(ge=0.5, le=2.0)]


class _Controls(Struct):
    """Of the oldest API: a name, or -1 (slowest) to 1 (fastest)."""

    speed: str | Annotated[float, Meta(ge=-1, le=1)] | None = None


class Voice(Struct):
    """`id`, or an `embedding`, which nobody here can speak."""

    id: str | None = None
    controls: _Controls | None = msgspec.field(name="__experimental_controls", default=None)


class GenerationConfig(Struct):
    """Of these only the speed acts."""

    speed: Speed | None = None


class Speech(Struct, kw_only=True):
    """The fields that a request has everywhere; others are ignored."""

    transcript: str | None = None
    voice: str | Voice | None = None
    output_format: OutputFormat | None = None
    language: str | None = None
    locale: str | None = None
    generation_config: GenerationConfig | None = None
    speed: str | Speed | None = None
    normalization: str | None = None
    context_id: str | None = None
    add_timestamps: bool | None = None


class Request(Speech, kw_only=True):
    """A message on the socket."""

    continue_: bool | None = msgspec.field(name="continue", default=None)
    flush: bool | None = None
    cancel: bool | None = None
    max_buffer_delay_ms: Annotated[float, Meta(ge=0, le=MAX_BUFFER_DELAY_MS)] | None = None


def read_fields(fields: dict[str, Any], shape: type[T]) -> T:
    """Raises InvalidMessageError, InvalidValueError."""
    try:
        return msgspec.convert(fields, shape)
    except msgspec.ValidationError as error:
        raise explain(error, fields, shape) from None


def speed_of(speech: Speech) -> float | None:
    """The speed that is asked for, by the newest of the ways. Raises InvalidValueError."""
    if speech.generation_config is not None and speech.generation_config.speed is not None:
        return speech.generation_config.speed
    if speech.speed is not None:
        return _named_speed("speed", speech.speed)
    if isinstance(speech.voice, Voice) and speech.voice.controls is not None:
        given = speech.voice.controls.speed
        if isinstance(given, float):
            return 1 + given * (0.4 if given < 0 else 0.5)
        if given is not None:
            return _named_speed("voice.__experimental_controls.speed", given)
    return None


def _named_speed(path: str, given: str | float) -> float:
    if isinstance(given, float):
        return given
    if (speed := _SPEEDS.get(given.strip().lower())) is None:
        raise InvalidValueError(f"{path}: expected one of {', '.join(_SPEEDS)}, got {shown(given)}")
    return speed


def check_language(speech: Speech, opening: Opening) -> None:
    """Raises InvalidValueError for what the checkpoint does not read."""
    for name, given in (("language", speech.language), ("locale", speech.locale)):
        known = opening.facts.languages
        base = (given or "").strip().replace("_", "-").partition("-")[0].lower()
        if base and known and base not in known:
            raise InvalidValueError(
                f"{name}: expected one of {', '.join(known)}, got {shown(given)}"
            )


def output_format(speech: Speech) -> OutputFormat:
    """Raises InvalidMessageError when there is none."""
    if speech.output_format is None:
        raise InvalidMessageError("output_format: expected an object, got none")
    return speech.output_format


def patch(
    speech: Speech, made: OutputFormat, opening: Opening, buffer_delay_ms: float | None = None
) -> SettingsPatch:
    """The settings of one context. Sound is sent as it is made. Raises ClientError."""
    check_language(speech, opening)
    return SettingsPatch(
        voice=opening.voices.resolve(_voice_name(speech.voice)),
        format=made_of(made, opening.facts.sample_rate_hz),
        words=bool(speech.add_timestamps),
        lead_ms=0,
        speed=speed_of(speech),
        normalize=False if speech.normalization == "off" else None,
        max_buffer_delay_ms=None
        if buffer_delay_ms is None
        else max(round(buffer_delay_ms), _NO_BUFFER_DELAY_MS),
    )


def _voice_name(voice: str | Voice | None) -> str:
    name = voice.id if isinstance(voice, Voice) else voice
    return name or ""
