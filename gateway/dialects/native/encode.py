"""Events to frames: JSON text, and binary audio behind a header of 24 bytes."""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Configured,
    ContextSettings,
    Done,
    Ducked,
    Event,
    Failed,
    Flushed,
    Hello,
    Interrupted,
    Resumed,
    SegmentStarted,
    Started,
    Words,
)

SUBPROTOCOL = "voice-gateway.v1"

# version, kind, flags, context number, generation, sequence, timestamp in samples
HEADER = struct.Struct(">BBHIIIQ")
VERSION = 1
KIND_AUDIO = 1
FLAG_LAST = 1

_JSON = msgspec.json.Encoder()

# The events whose fields go on the wire as they are.
_PLAIN: dict[type[Event], str] = {
    SegmentStarted: "segment",
    Words: "words",
    Flushed: "flushed",
    Done: "done",
    Interrupted: "interrupted",
    Ducked: "ducked",
    Resumed: "resumed",
    Failed: "error",
}
_OURS = frozenset({"ended"})  # fields that no client is told
_TIME_DIGITS = 3  # a microsecond: finer than a sample


def encode(event: Event) -> str | bytes:
    """Return the frame of an event: str for a text frame, bytes for a binary one."""
    if isinstance(event, Audio):
        return encode_audio(event)
    return _JSON.encode(_message(event)).decode()


def encode_audio(event: Audio) -> bytes:
    """Return the binary frame of a packet."""
    header = HEADER.pack(
        VERSION,
        KIND_AUDIO,
        FLAG_LAST if event.last else 0,
        event.number,
        event.generation,
        event.sequence,
        event.timestamp_samples,
    )
    return header + event.payload


def _message(event: Event) -> dict[str, Any]:
    if isinstance(event, Hello):
        return {"type": "hello", "protocol": SUBPROTOCOL, **_fields(event)}
    if isinstance(event, Configured):
        settings = settings_fields(event.settings)
        return {"type": "configured", "context": event.context, "settings": settings}
    if isinstance(event, Started):
        return {"type": "started", **_fields(event), "format": format_fields(event.format)}
    return {"type": _PLAIN[type(event)], **_fields(event)}


def _fields(event: object) -> dict[str, Any]:
    """The fields of an event, times rounded."""
    names = (name for name in event.__slots__ if name not in _OURS)  # type: ignore[attr-defined]
    return {name: _rounded(getattr(event, name)) for name in names}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _TIME_DIGITS)
    if isinstance(value, tuple) and value and not isinstance(value[0], str):
        return [_fields(item) for item in value]
    return value


def format_fields(audio_format: AudioFormat) -> dict[str, Any]:
    """The wire's `format`; what only Opus has is left out for the others."""
    fields: dict[str, Any] = {
        "codec": audio_format.codec.value,
        "sample_rate_hz": audio_format.sample_rate_hz,
        "frame_ms": audio_format.frame_ms,
    }
    if audio_format.codec is Codec.OPUS:
        for name in ("bitrate_bps", "complexity", "fec", "dtx"):
            fields[name] = getattr(audio_format, name)
    return fields


def settings_fields(settings: ContextSettings) -> dict[str, Any]:
    """The wire's `settings`: what `configure` takes, all of it."""
    fields = msgspec.structs.asdict(settings)
    sampling = msgspec.structs.asdict(settings.sampling)
    return {
        **fields,
        "format": format_fields(settings.format),
        "sampling": {name: value for name, value in sampling.items() if value is not None},
    }
