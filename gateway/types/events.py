"""Events: session -> dialect."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.types.formats import AudioFormat
from gateway.types.settings import ContextSettings


@dataclass(frozen=True, slots=True)
class Hello:
    """The greeting, with everything a client must know."""

    session: str
    voices: tuple[str, ...]
    limits: dict[str, int | float]
    engine: dict[str, int | float | str | tuple[str, ...]]
    resume_token: str | None = None  # None: a lost connection ends the session
    resumed: bool = False  # what the client lacks follows
    received: int = 0  # the client's messages that were obeyed or refused; it sends the rest again


@dataclass(frozen=True, slots=True)
class Configured:
    """The settings now in force."""

    context: str | None
    settings: ContextSettings


@dataclass(frozen=True, slots=True)
class Started:
    """The context's first audio follows. `number` tags its binary frames.

    `crossfade_ms`: how long it fades in, over the faded tail of the interrupted context before it.
    """

    context: str
    number: int
    generation: int
    format: AudioFormat
    pre_skip_samples: int
    crossfade_ms: float = 0.0


@dataclass(slots=True)  # not frozen, which would triple what making one costs: 50 a second each
class Audio:
    """One packet. `timestamp_samples`: position of its first sample; `sequence` counts from 0.

    `last`: nothing of the context follows. An end that comes after all sound has left sets it on
    no packet; `Done` and `Interrupted` are what counts.
    """

    context: str
    number: int
    generation: int
    sequence: int
    timestamp_samples: int
    payload: bytes
    last: bool = False

    def __str__(self) -> str:
        return f"packet {self.sequence} of {self.context}, {len(self.payload)} bytes"


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
    """The context is over, and all of it was sent. `truncated`: a runaway was cut.

    `skipped_words`: words that were not said; `retries`: faults mended before they were heard.
    """

    context: str
    audio_ms: float
    frames: int
    segments: int
    prompt_tokens: int
    cached_tokens: int
    first_audio_ms: float | None  # from the first segment's text to the first packet
    first_audio_frames: int | None = None  # how many the engine had made when that packet left
    underrun_ms: float = 0.0  # how long the listener had nothing to play although text was there
    truncated: bool = False
    skipped_words: int = 0
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The answer to `Interrupt`: after it, not one frame of the context follows.

    `ended` (ours, not the client's): it ended the context, which was not over and is told once.
    """

    context: str
    generation: int
    heard_text: str
    unspoken_text: str
    heard_ms: float
    sent_ms: float
    engine_confirmed: bool
    frames_wasted: int
    ended: bool = field(default=True, compare=False)


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
    """An error, of a context or of the whole session (`context` None).

    `ended` (ours, not the client's): it ended the context.
    """

    context: str | None
    code: str
    message: str
    ended: bool = field(default=False, compare=False)


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
