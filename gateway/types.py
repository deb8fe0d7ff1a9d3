"""Every noun the gateway's modules share: formats, settings, commands, events, packets.

Commands come from a dialect and go to the session; events go the other way. Both are frozen.
Positions on a context's time line are in samples at the context's output rate, first sample 0.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Protocol

# --- formats -----------------------------------------------------------------------------------


class Codec(enum.Enum):
    """What a binary frame's payload is."""

    OPUS = "opus"  # raw packets, 48 kHz time base
    PCM_S16LE = "pcm_s16le"
    PCM_F32LE = "pcm_f32le"
    MULAW = "mulaw"
    ALAW = "alaw"


OPUS_RATE_HZ = 48_000


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """The output of one context. Opus fields are ignored by the other codecs."""

    codec: Codec = Codec.OPUS
    sample_rate_hz: int = OPUS_RATE_HZ
    frame_ms: int = 20
    bitrate_bps: int = 32_000
    complexity: int = 5
    fec: bool = False
    dtx: bool = False

    @property
    def frame_samples(self) -> int:
        """Samples of one full packet at the output rate."""
        return self.sample_rate_hz * self.frame_ms // 1000


# --- settings ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """Mirrors `engine.api.Sampling`; None leaves the checkpoint's default."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Everything a context can be configured with. Times in ms, see PROTOCOL.md for ranges."""

    voice: str = "default"
    format: AudioFormat = field(default_factory=AudioFormat)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    segment_mode: str = "sentence"  # or "clause"
    max_buffer_delay_ms: int = 1500
    speakable: bool = True
    normalize: bool = False
    pronunciations: tuple[tuple[str, str], ...] = ()
    speed: float = 1.0
    lead_ms: int = 1500  # audio is sent at most this far ahead of playback; 0: as fast as it is made
    words: bool = False


# --- commands: dialect -> session ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Configure:
    """Settings for one context, or for all later ones when `context` is None. Repeats are harmless."""

    context: str | None
    settings: ContextSettings


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text, of any size, cut anywhere. Opens the context if it is new."""

    context: str
    text: str


@dataclass(frozen=True, slots=True)
class Flush:
    """Speak what is buffered now."""

    context: str
    flush_id: int | str | None = None


@dataclass(frozen=True, slots=True)
class End:
    """No more text: speak the rest, then `Done`."""

    context: str


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Barge-in: stop one context, or all when None. `played_ms`: the client's playback position."""

    context: str | None = None
    played_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Duck:
    """Tentative barge-in: lower the output to `gain` (0 pauses it)."""

    context: str | None = None
    gain: float = 0.0


@dataclass(frozen=True, slots=True)
class Resume:
    """Take a duck back: go on from the sample where the output stopped."""

    context: str | None = None


@dataclass(frozen=True, slots=True)
class Playback:
    """The client's report: this much of the context has been heard."""

    context: str
    played_ms: float


Command = Configure | Text | Flush | End | Interrupt | Duck | Resume | Playback

# --- events: session -> dialect ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """The greeting, with everything a client must know."""

    session: str
    voices: tuple[str, ...]
    limits: dict[str, int | float]
    engine: dict[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Configured:
    """The settings now in force."""

    context: str | None
    settings: ContextSettings


@dataclass(frozen=True, slots=True)
class Started:
    """The context's first audio follows. `number` tags its binary frames."""

    context: str
    number: int
    generation: int
    format: AudioFormat
    pre_skip_samples: int


@dataclass(frozen=True, slots=True)
class Audio:
    """One packet. `timestamp_samples`: position of its first sample; `sequence` counts from 0."""

    context: str
    number: int
    generation: int
    sequence: int
    timestamp_samples: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class SegmentStarted:
    """Segment `index` (characters `start`..`end` of the context's text) begins at `start_ms`."""

    context: str
    index: int
    start: int
    end: int
    text: str
    start_ms: float


@dataclass(frozen=True, slots=True)
class Word:
    """One word: characters `start`..`end` of the context's text."""

    start: int
    end: int
    text: str
    start_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class Words:
    """Word times. `source`: how they were found (heads, aligner, proportional)."""

    context: str
    words: tuple[Word, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Flushed:
    """Everything up to the flush has been sent."""

    context: str
    flush_id: int | str | None
    end_ms: float


@dataclass(frozen=True, slots=True)
class Done:
    """The context is over, and all of it was sent. `truncated`: a runaway was cut."""

    context: str
    audio_ms: float
    frames: int
    segments: int
    prompt_tokens: int
    cached_tokens: int
    first_audio_ms: float | None  # from the first segment's text to the first packet
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The answer to `Interrupt`: after it, not one frame of the context follows."""

    context: str
    generation: int
    heard_text: str
    unspoken_text: str
    heard_ms: float
    sent_ms: float
    engine_confirmed: bool
    frames_wasted: int


@dataclass(frozen=True, slots=True)
class Ducked:
    """The output is lowered from `at_ms` on."""

    context: str
    at_ms: float


@dataclass(frozen=True, slots=True)
class Resumed:
    """The output goes on from `at_ms`."""

    context: str
    at_ms: float


@dataclass(frozen=True, slots=True)
class Failed:
    """An error, of a context or of the whole session (`context` None)."""

    context: str | None
    code: str
    message: str


Event = (
    Hello
    | Configured
    | Started
    | Audio
    | SegmentStarted
    | Words
    | Flushed
    | Done
    | Interrupted
    | Ducked
    | Resumed
    | Failed
)

# --- session -> shell ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """An earlier segment: mirrors `engine.api.Turn`."""

    text: str
    codes: bytes


@dataclass(frozen=True, slots=True)
class Submit:
    """Ask the engine for a segment."""

    request_id: str
    text: str
    voice: str
    dialogue: str
    history: tuple[HistoryTurn, ...]
    sampling: SamplingSettings
    priority: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Ask the engine to stop a segment; answered by `Session.engine_aborted`."""

    request_id: str


@dataclass(frozen=True, slots=True)
class WarmVoice:
    """Ask the engine to cache a voice's prefix."""

    voice: str


@dataclass(frozen=True, slots=True)
class Send:
    """Give this event to the dialect and the result to the socket, in order."""

    event: Event


@dataclass(frozen=True, slots=True)
class Close:
    """Close the socket."""

    code: int
    reason: str


Effect = Submit | Abort | WarmVoice | Send | Close

# --- audio -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Packet:
    """One encoded packet: `duration_samples` from `start_samples` on, at the output rate."""

    payload: bytes
    start_samples: int
    duration_samples: int


class AudioChain(Protocol):
    """One context's sound, from the engine's PCM to packets. Synchronous; encodes only when pulled.

    Because a packet is encoded when it is due, a fade or a duck acts on the very next packet, and
    what an interrupt drops was never encoded.
    """

    @property
    def pre_skip_samples(self) -> int:
        """Samples at the output rate that a decoder must drop at the start."""
        ...

    @property
    def buffered_samples(self) -> int:
        """Samples at the output rate that are ready and not yet pulled."""
        ...

    @property
    def position_samples(self) -> int:
        """Samples at the output rate pulled so far: the next packet's start."""
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

    def fade_out(self) -> list[Packet]:
        """Barge-in: the last packets, faded to silence; everything behind them is dropped."""
        ...

    def set_gain(self, gain: float) -> None:
        """Ramp the output gain without a click, starting with the next packet."""
        ...
