"""Deepgram's query: voice, encoding, container, rates and speed, as settings of ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.dialects import Opening
from gateway.dialects.explain import shown
from gateway.errors import InvalidValueError
from gateway.types import (
    AudioFormat,
    Codec,
    Container,
    FileFormat,
    SettingsPatch,
    VoiceNames,
    is_language,
)

DEFAULT_MODEL = "aura-2-thalia-en"  # the vendor's, where its clients may leave it out
SPEED_RANGE = (0.5, 2.0)

_RAW = {"linear16": Codec.PCM_S16LE, "mulaw": Codec.MULAW, "alaw": Codec.ALAW}
_COMPRESSED = {"mp3": Container.MP3, "aac": Container.AAC, "flac": Container.FLAC}
_MEDIA_TYPES = {
    "linear16": "audio/l16",
    "mulaw": "audio/mulaw",
    "alaw": "audio/alaw",
    "mp3": "audio/mpeg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "opus": "audio/ogg;codecs=opus",
}
_FIXED_RATE_HZ = 22_050  # of MP3 and AAC
_FLAC_RATE_HZ = 48_000
_OPUS_BIT_RATE_BPS = 48_000
_BIT_RATE_BPS = 48_000
# What the encoders of each kind can do; the vendor's ranges lie within, or are cut to these.
_BIT_RATES_BPS = {"mp3": (8_000, 160_000), "aac": (4_000, 192_000), "opus": (6_000, 256_000)}


@dataclass(frozen=True, slots=True)
class Options:
    """One request's or connection's query."""

    model: str
    settings: SettingsPatch
    file: FileFormat = FileFormat()
    media_type: str = ""


def model_of(opening: Opening, required: bool) -> str:
    """The model, which is a voice. Raises InvalidValueError."""
    model = opening.query.get("model", "").strip()
    if not model and required:
        raise InvalidValueError("model: expected one such as flux-alexis-en, got none")
    return model or DEFAULT_MODEL


def socket_options(opening: Opening, model_required: bool = False) -> Options:
    """What a socket's query asks for. Raises InvalidValueError."""
    query = opening.query
    model = model_of(opening, model_required)
    encoding = _choice(query, "encoding", tuple(_RAW), "linear16")
    return Options(model, _settings(opening, model, _raw_format(query, encoding)))


def rest_options(opening: Opening, model_required: bool = False) -> Options:
    """What a request's query asks for. Raises InvalidValueError."""
    query = opening.query
    model = model_of(opening, model_required)
    encoding = _choice(query, "encoding", tuple(_MEDIA_TYPES), "mp3")
    container = _container(query, encoding)
    bit_rate = _bit_rate(query, encoding)
    if encoding == "opus":
        audio = AudioFormat(Codec.OPUS, bitrate_bps=bit_rate or _OPUS_BIT_RATE_BPS)
    elif encoding in _COMPRESSED:
        rate_hz = _FLAC_RATE_HZ if encoding == "flac" else _FIXED_RATE_HZ
        if encoding == "flac":
            rate_hz = int(_number(query, "sample_rate", rate_hz, 8_000, 48_000))
        audio = AudioFormat(Codec.PCM_S16LE, rate_hz)
    else:
        audio = _raw_format(query, encoding)
    media_type = "audio/wav" if container is Container.WAV else _MEDIA_TYPES[encoding]
    if encoding == "linear16" and container is Container.RAW:
        media_type += f";rate={audio.sample_rate_hz};channels=1"
    file = FileFormat(container, bit_rate)
    return Options(model, _settings(opening, model, audio), file, media_type)


def voice_of(model: str, voices: VoiceNames) -> str:
    """`aura-2-thalia-en` by that name, else as `thalia`, else whoever stands in."""
    if (found := voices.find(model)) is not None:
        return found
    parts = model.split("-")
    named = "-".join(part for part in parts[1:-1] if not part.isdigit())
    return voices.find(named) or voices.resolve(model) if named else voices.resolve(model)


def _language(model: str, opening: Opening) -> str | None:
    """`es` of `aura-2-celeste-es`, where the checkpoint says what it reads.

    Raises InvalidValueError for another. A voice of ours, or one of the table, is spoken whatever
    its name ends in.
    """
    known, code = opening.facts.languages, model.rpartition("-")[2].lower()
    if not known or not is_language(code) or opening.voices.find(model) is not None:
        return None
    if code not in known:
        raise InvalidValueError(f"model: expected one of {', '.join(known)}, got {shown(code)}")
    return code


def _settings(opening: Opening, model: str, audio: AudioFormat) -> SettingsPatch:
    return SettingsPatch(
        voice=voice_of(model, opening.voices),
        language=_language(model, opening),
        format=audio,
        speed=_number(opening.query, "speed", 1.0, *SPEED_RANGE),
        lead_ms=0,  # the vendor sends as fast as it makes, and its clients keep what is early
    )


def _raw_format(query: Mapping[str, str], encoding: str) -> AudioFormat:
    codec = _RAW[encoding]
    default = AudioFormat(codec).sample_rate_hz
    rate_hz = int(_number(query, "sample_rate", default, 1, 1_000_000))
    audio = AudioFormat(codec, rate_hz)
    if (mistake := audio.rate_mistake()) is not None:
        raise InvalidValueError(f"sample_rate: {mistake}")
    return audio


def _container(query: Mapping[str, str], encoding: str) -> Container:
    """Raw encodings come as WAV unless the client says `none`."""
    if encoding in _RAW:
        given = _choice(query, "container", ("none", "wav"), "wav")
        return Container.WAV if given == "wav" else Container.RAW
    if encoding == "opus":
        _choice(query, "container", ("ogg",), "ogg")
        return Container.OGG
    _choice(query, "container", ("none",), "none")
    return _COMPRESSED[encoding]


def _bit_rate(query: Mapping[str, str], encoding: str) -> int | None:
    """In bits per second; None where the encoding has none."""
    if encoding not in _BIT_RATES_BPS:
        return None
    low, high = _BIT_RATES_BPS[encoding]
    given = _number(query, "bit_rate", _BIT_RATE_BPS, 1, 1_000_000)
    return int(min(max(given, low), high))


def _choice(query: Mapping[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    given = query.get(name, "").strip().lower() or default
    if given not in choices:
        raise InvalidValueError(f"{name}: expected one of {', '.join(choices)}, got {shown(given)}")
    return given


def _number(query: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    given = query.get(name, "").strip()
    if not given:
        return default
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not low <= number <= high:  # nan is nowhere
        raise InvalidValueError(f"{name}: expected {low:g} to {high:g}, got {shown(given)}")
    return number
