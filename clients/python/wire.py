"""The bytes of `voice-gateway.v1` as a client sees them: events in, commands out. No sockets.

Control messages are JSON objects tagged by `type`; audio comes in binary frames with a header of
24 bytes. Fields this client does not know are skipped, so that a newer gateway can add some.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

SUBPROTOCOL = "voice-gateway.v1"
STREAM_PATH = "/v1/stream"

# version, kind, flags, context number, generation, sequence, timestamp in samples
_HEADER = struct.Struct(">BBHIIIQ")
_VERSION = 1
_KIND_AUDIO = 1
_FLAG_LAST = 1

OPUS_RATE_HZ = 48_000


class WireError(ValueError):
    """The gateway sent something that this protocol does not have."""


class AudioFormat(msgspec.Struct, frozen=True):
    """What a context's packets are; `sample_rate_hz` is also the unit of its time stamps."""

    codec: str = "opus"
    sample_rate_hz: int = OPUS_RATE_HZ
    frame_ms: int = 20


class AudioPacket(msgspec.Struct, frozen=True):
    """One packet of sound. `timestamp_samples`: position of its first sample at the output rate."""

    number: int
    generation: int
    sequence: int
    timestamp_samples: int
    payload: bytes
    last: bool = False


class _Event(msgspec.Struct, frozen=True, tag_field="type"):
    """Base of every control message from the gateway."""


class EngineFacts(msgspec.Struct, frozen=True):
    """What speaks: the checkpoint, and the size of one frame of it."""

    checkpoint: str
    sample_rate_hz: int
    frame_samples: int
    num_codebooks: int = 1
    max_streams: int = 1


class Hello(_Event, frozen=True, tag="hello"):
    """The greeting."""

    protocol: str
    session: str
    voices: tuple[str, ...]
    limits: dict[str, float]
    engine: EngineFacts
    resume_token: str | None = None
    resumed: bool = False
    received: int = 0


class Configured(_Event, frozen=True, tag="configured"):
    """The settings now in force."""

    context: str | None
    settings: dict[str, Any]


class Started(_Event, frozen=True, tag="started"):
    """Audio follows; `number` tags its frames. Drop `pre_skip_samples` after decoding.

    The first `crossfade_ms` are faded in, to be played over the end of the context before it.
    """

    context: str
    number: int
    generation: int
    format: AudioFormat
    pre_skip_samples: int = 0
    crossfade_ms: float = 0.0


class SegmentStarted(_Event, frozen=True, tag="segment"):
    """Characters `start` to `end` of the context's text begin to sound at `start_ms`."""

    context: str
    index: int
    start: int
    end: int
    text: str
    start_ms: float


class Word(msgspec.Struct, frozen=True):
    """One word and when it sounds."""

    start: int
    end: int
    text: str
    start_ms: float
    end_ms: float


class Words(_Event, frozen=True, tag="words"):
    """Word times; `source` says how they were found."""

    context: str
    source: str
    words: tuple[Word, ...]


class Flushed(_Event, frozen=True, tag="flushed"):
    """Everything up to the flush was sent."""

    context: str
    flush_id: int | str | None
    end_ms: float


class Done(_Event, frozen=True, tag="done"):
    """The context is over and all of its sound was sent."""

    context: str
    audio_ms: float
    frames: int
    segments: int
    prompt_tokens: int = 0
    cached_tokens: int = 0
    first_audio_ms: float | None = None
    first_audio_frames: int | None = None
    truncated: bool = False
    skipped_words: int = 0
    retries: int = 0


class Interrupted(_Event, frozen=True, tag="interrupted"):
    """The answer to an interrupt: what the listener heard, and what was never spoken."""

    context: str
    generation: int
    heard_text: str
    unspoken_text: str
    heard_ms: float
    sent_ms: float
    engine_confirmed: bool
    frames_wasted: int = 0


class Ducked(_Event, frozen=True, tag="ducked"):
    """The output is lowered from `at_ms` on."""

    context: str
    at_ms: float


class Resumed(_Event, frozen=True, tag="resumed"):
    """The output goes on from `at_ms`."""

    context: str
    at_ms: float


class Failed(_Event, frozen=True, tag="error"):
    """Something was refused or went wrong; `context` None means the session itself."""

    code: str
    message: str
    context: str | None = None


Event = (
    Hello
    | Configured
    | Started
    | SegmentStarted
    | Words
    | Flushed
    | Done
    | Interrupted
    | Ducked
    | Resumed
    | Failed
)

_event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_encoder = msgspec.json.Encoder()


def decode_event(message: str | bytes) -> Event:
    """Read one JSON message. Raises WireError."""
    try:
        return _event_decoder.decode(message)
    except msgspec.MsgspecError as error:
        raise WireError(
            f"expected an event of {SUBPROTOCOL}, got {message[:80]!r}: {error}"
        ) from error


def decode_audio(frame: bytes) -> AudioPacket:
    """Read one binary frame. Raises WireError."""
    if len(frame) < _HEADER.size:
        raise WireError(f"expected a frame of at least {_HEADER.size} bytes, got {len(frame)}")
    version, kind, flags, number, generation, sequence, timestamp = _HEADER.unpack_from(frame)
    if (version, kind) != (_VERSION, _KIND_AUDIO):
        raise WireError(
            f"expected frame version {_VERSION} kind {_KIND_AUDIO}, got {version} and {kind}"
        )
    return AudioPacket(
        number, generation, sequence, timestamp, frame[_HEADER.size :], bool(flags & _FLAG_LAST)
    )


def encode_command(kind: str, **fields: Any) -> str:
    """Write one command as JSON; fields that are None are left out."""
    given = {name: value for name, value in fields.items() if value is not None}
    return _encoder.encode({"type": kind, **given}).decode()
