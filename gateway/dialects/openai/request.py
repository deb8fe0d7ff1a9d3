"""The body of `POST /v1/audio/speech`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gateway.dialects.explain import explain, parse_json
from gateway.errors import InvalidTextError, InvalidValueError
from gateway.types import SamplingSettings, plain_name

RESPONSE_FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
STREAM_FORMATS = ("audio", "sse")

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some Windows programs write one


@dataclass(frozen=True, slots=True)
class SpeechCall:
    """One valid request. Names are as they were given; an empty one was not given.

    `ignored`: fields that mean nothing here.
    """

    text: str
    voice: str
    response_format: str
    stream_format: str
    speed: float
    instructions: str
    language: str
    sampling: SamplingSettings
    ignored: tuple[str, ...]


class _Voice(msgspec.Struct):
    id: str


class _Body(msgspec.Struct):
    """The fields that act. A seed below 0 is the usual word for "any"."""

    input: str
    model: str = ""
    voice: str | _Voice = ""
    instructions: str = ""
    response_format: str = "mp3"
    speed: Annotated[float, Meta(ge=0.25, le=4.0)] = 1.0
    stream_format: str = "audio"
    stream: bool = True  # always: a client that does not read on gets the same bytes
    language: str = ""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=1, le=1000)] | None = None
    seed: Annotated[int, Meta(le=2**63 - 1)] | None = None


FIELDS = _Body.__struct_fields__


def parse(body: bytes, max_chars: int) -> SpeechCall:
    """Read a request; null is as good as nothing. Raises ClientError that names the field."""
    message = parse_json(body.removeprefix(_BYTE_ORDER_MARK))
    given = _body({name: value for name, value in message.items() if value is not None})
    if not given.input:
        raise InvalidValueError("input: expected a text, got an empty one")
    if len(given.input) > max_chars:
        raise InvalidTextError(
            f"input: expected at most {max_chars} characters, got {len(given.input)}"
        )
    seed = given.seed if given.seed is not None and given.seed >= 0 else None
    return SpeechCall(
        text=given.input,
        voice=(given.voice if isinstance(given.voice, str) else given.voice.id).strip(),
        response_format=_choice("response_format", given.response_format, RESPONSE_FORMATS),
        stream_format=_choice("stream_format", given.stream_format, STREAM_FORMATS),
        speed=given.speed,
        instructions=given.instructions,
        language=given.language.strip(),
        sampling=SamplingSettings(given.temperature, given.top_p, given.top_k, seed),
        ignored=tuple(name for name in message if name not in FIELDS),
    )


def _body(message: dict[str, Any]) -> _Body:
    try:
        return msgspec.convert(message, _Body)
    except msgspec.ValidationError as error:
        raise explain(error, message, _Body) from None


def _choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    if (found := plain_name(value)) not in choices:
        raise InvalidValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
    return found
