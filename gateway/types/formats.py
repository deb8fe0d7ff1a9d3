"""Output formats, packets, and the sound of one context."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from msgspec import Meta, Struct
from msgspec.structs import force_setattr


class Codec(enum.Enum):
    """What a binary frame's payload is."""

    OPUS = "opus"  # raw packets, 48 kHz time base
    PCM_S16LE = "pcm_s16le"
    PCM_F32LE = "pcm_f32le"
    MULAW = "mulaw"
    ALAW = "alaw"


OPUS_RATE_HZ = 48_000

DEFAULT_RATE_HZ = {
    Codec.OPUS: OPUS_RATE_HZ,
    Codec.PCM_S16LE: 24_000,
    Codec.PCM_F32LE: 24_000,
    Codec.MULAW: 8_000,
    Codec.ALAW: 8_000,
}


# Lowest and highest sample rate of each codec.
RATES_HZ = {
    Codec.OPUS: (OPUS_RATE_HZ, OPUS_RATE_HZ),
    Codec.PCM_S16LE: (8_000, 48_000),
    Codec.PCM_F32LE: (8_000, 48_000),
    Codec.MULAW: (8_000, 8_000),
    Codec.ALAW: (8_000, 8_000),
}


class AudioFormat(Struct, frozen=True, forbid_unknown_fields=True):
    """The output of one context. Opus fields are ignored by the other codecs.

    Ranges hold for what is decoded or converted; a sample rate that is not given is the codec's.
    """

    codec: Codec = Codec.OPUS
    sample_rate_hz: Annotated[int, Meta(ge=1)] = 0
    frame_ms: Literal[10, 20, 40, 60] = 20
    bitrate_bps: Annotated[int, Meta(ge=6_000, le=256_000)] = 48_000
    complexity: Annotated[int, Meta(ge=0, le=10)] = 0
    fec: bool = False
    dtx: bool = False

    def __post_init__(self) -> None:
        if self.sample_rate_hz == 0:
            force_setattr(self, "sample_rate_hz", DEFAULT_RATE_HZ[self.codec])

    @property
    def frame_samples(self) -> int:
        """Samples of one full packet at the output rate."""
        return self.sample_rate_hz * self.frame_ms // 1000

    def rate_mistake(self) -> str | None:
        """What is wrong with the sample rate for this codec, if anything is."""
        low, high = RATES_HZ[self.codec]
        if low <= self.sample_rate_hz <= high:
            return None
        expected = str(low) if low == high else f"{low} to {high}"
        return f"expected {expected} for {self.codec.value}, got {self.sample_rate_hz}"


class Container(enum.Enum):
    """What a context's packets may be packed into, for clients that want a file."""

    RAW = "raw"  # packets as they are
    WAV = "wav"
    OGG = "ogg"  # of Opus packets
    MP3 = "mp3"
    AAC = "aac"  # in ADTS
    FLAC = "flac"


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A container, and the bit rate of those that compress; None: 96 kbit/s.

    `each_segment`: every segment of a context is a file of its own.
    """

    container: Container = Container.RAW
    bitrate_bps: int | None = None
    each_segment: bool = False


@dataclass(slots=True)  # not frozen: see `events.Audio`
class Packet:
    """One encoded packet: `duration_samples` from `start_samples` on, at the output rate."""

    payload: bytes
    start_samples: int
    duration_samples: int


class AudioChain(Protocol):
    """One context's sound, from the engine's PCM to packets. Synchronous; encodes only when pulled.

    Because a packet is encoded when it is due, a fade or a duck acts on the very next packet, and
    what an interrupt drops was never encoded.

    Packet positions (`Packet.start_samples`, `position_samples`) count everything a decoder puts
    out, `pre_skip_samples` at the start included; segment positions (`segment_start_samples`,
    `output_samples`) count what is heard, so sound at h is in the packet that holds
    h + `pre_skip_samples`.
    """

    @property
    def pre_skip_samples(self) -> int:
        """Samples at the output rate that a decoder must drop at the start."""
        ...

    @property
    def buffered_samples(self) -> int:
        """Samples at the output rate that are ready and not yet pulled; after `finish`, all."""
        ...

    @property
    def position_samples(self) -> int:
        """Samples at the output rate pulled so far: the next packet's start."""
        ...

    def set_speed(self, speed: float) -> None:
        """Tempo of the segments begun from now on, 0.25 to 4.0."""
        ...

    def begin_segment(self) -> None:
        """The PCM that follows belongs to the next segment: join it with a crossfade."""
        ...

    def push(self, pcm: bytes) -> None:
        """Take float32 LE mono samples at the engine's rate."""
        ...

    def end_segment(self) -> None:
        """The segment is complete."""
        ...

    def add_silence(self, duration_ms: float) -> None:
        """Append exact silence."""
        ...

    def flush(self) -> None:
        """Nothing follows for a while: let all so far be pulled, the last packet filled up.

        Without effect inside a segment, and when there is nothing that was not pulled.
        """
        ...

    def finish(self) -> None:
        """No more input: `pull` now drains everything, encoder tail included."""
        ...

    def segment_start_samples(self, index: int) -> int | None:
        """Where segment `index` (counted by `begin_segment`) begins on the output time line."""
        ...

    def output_samples(self, index: int, segment_samples: int) -> int | None:
        """Map a position inside a segment (engine rate) to the output time line."""
        ...

    def pull(self) -> Packet | None:
        """Encode and return the next packet, or None while there is too little for one."""
        ...

    def pull_some(self, most: int) -> list[Packet]:
        """The next packets, fewer than `most` when there is too little for more."""
        ...

    def fade_out(self) -> list[Packet]:
        """Barge-in: the last packets, faded to silence; everything behind them is dropped."""
        ...

    @property
    def faded_ms(self) -> float:
        """How long the faded end is that `fade_out` made; 0 while there is none."""
        ...

    def fade_in(self, duration_ms: float) -> None:
        """Before the first packet: begin over another chain's faded end that lasts so long."""
        ...

    def set_gain(self, gain: float) -> None:
        """Ramp the output gain without a click, starting with the next packet."""
        ...
