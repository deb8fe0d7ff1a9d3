"""The engine as the gateway sees it: requests in, PCM frames out. Imports no torch and no SGLang.

One request speaks one segment. Its sound comes back as `Frames`, in order and without gaps, and
ends with exactly one `Finished`; a failure raises an `EngineError` out of the iterator instead.
Nothing is remembered between requests: history travels with each request as text and codes, so any
worker of any machine can take the next segment of a dialogue.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal, Protocol


class EngineError(Exception):
    """The engine could not do what was asked. `retryable`: the same request may succeed later."""

    retryable = False


class InvalidRequestError(EngineError):
    """The request itself is wrong (empty text, too long, bad codes): repeating it cannot help."""


class UnknownVoiceError(InvalidRequestError):
    """No voice of this name is registered."""


class EngineOverloadedError(EngineError):
    """Admission refused: every stream slot and the waiting line are taken."""

    retryable = True


class EngineUnavailableError(EngineError):
    """The worker is not up, or died while it held the request."""

    retryable = True


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What the loaded checkpoint is and what the worker can hold.

    `speaks_tags`: a text that is only a free-form tag, such as `[laugh]`, makes a sound; else, like
    any text in which the checkpoint finds nothing to say, it is over at once, with no frames.
    `languages`: ISO 639-1 codes of the languages it reads; none: no list was made of them.
    """

    checkpoint: str
    sample_rate_hz: int
    frame_samples: int
    num_codebooks: int
    max_streams: int
    max_frames: int
    voices: tuple[str, ...]
    wants_words: bool = False  # reads figures and short forms best as words
    speaks_tags: bool = True
    languages: tuple[str, ...] = ()

    @property
    def frame_ms(self) -> float:
        """Duration of one frame."""
        return 1000.0 * self.frame_samples / self.sample_rate_hz


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn; None leaves the checkpoint's default (s2-pro: T 0.8, p 0.8, k 30).

    `top_k=1` is greedy; at most 64. `residual_temperature` applies to all codebooks but the first,
    and follows `temperature` where it is not given. `seed` makes the codes repeatable, alone or
    batched. `max_frames` caps the segment; None derives a cap from the length of the text. No
    segment ends before `min_frames`. `style`: "fish", the model's authors' sampler, or "omni",
    SGLang-Omni's, whose top_k is at most 30; None leaves the worker's default.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    residual_temperature: float | None = None
    seed: int | None = None
    max_frames: int | None = None
    min_frames: int | None = None
    style: Literal["fish", "omni"] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier segment of the same dialogue: its text and its codes.

    `codes`: little-endian uint16 [frames, num_codebooks], as they came in `Frames.codes`.
    """

    text: str
    codes: bytes


DEFAULT_VOICE = "default"


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """One segment to speak. Greater `priority` is more urgent.

    `dialogue` names the conversation: where there are many workers, it stays on the one that has
    its prefix cached; a single worker does not need it. `lead_ms`: sound that the listener has
    and has not heard yet; for so long the first frame may wait while it is checked.
    """

    request_id: str
    text: str
    voice: str = DEFAULT_VOICE
    dialogue: str = ""
    history: tuple[Turn, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    priority: int = 0
    lead_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class TextTokens:
    """What the indices in `Frames.text_tokens` mean: characters [start, end) of the text, each.

    Comes once, before the first frames, and only where the checkpoint names alignment heads.
    """

    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Frames:
    """One or more consecutive frames of sound.

    `pcm`: little-endian float32 mono, `frames * frame_samples` samples at `sample_rate_hz`.
    `codes`: little-endian uint16 [frames, num_codebooks], for use as `Turn.codes`.
    `text_tokens`: per frame, the index in `TextTokens.spans` of the token that it speaks; empty
    where the checkpoint names no alignment heads.
    """

    first_frame: int
    pcm: bytes
    codes: bytes
    text_tokens: tuple[int, ...] = ()


class FinishReason(enum.Enum):
    """Why a request ended."""

    STOP = "stop"  # the model ended the segment
    LENGTH = "length"  # max_frames was reached: the end may be cut off
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of one request, with its bill.

    `skipped_words`: words of the text that were not said, `retries`: how often a faulty reading was
    drawn again before it was heard; both 0 where the checkpoint names no alignment heads.
    """

    reason: FinishReason
    frames: int
    prompt_tokens: int
    cached_tokens: int
    skipped_words: int = 0
    retries: int = 0


SpeechEvent = TextTokens | Frames | Finished


@dataclass(frozen=True, slots=True)
class AbortResult:
    """`confirmed`: the scheduler gave the slot back. `frames_after`: frames made after the call."""

    confirmed: bool
    frames_after: int


@dataclass(frozen=True, slots=True)
class EngineStats:
    """A snapshot for health checks and metrics.

    `kv_tokens_used`: KV cache held by running requests, as of the last moment that SGLang published
    (a few steps ago, or when it fell idle); prefixes kept for reuse are not in use.
    `retractions_total`: how often a running request was retracted for want of KV cache.
    `retries_total`, `skipped_words_total`: what the guard saw and mended; see `Finished`.
    """

    running: int
    waiting: int
    free_slots: int
    frames_total: int
    prompt_tokens_total: int
    cached_tokens_total: int
    kv_tokens: int = 0
    kv_tokens_used: int = 0
    free_codec_slots: int = 0
    retractions_total: int = 0
    retries_total: int = 0
    skipped_words_total: int = 0


@dataclass(frozen=True, slots=True)
class VoiceSample:
    """A recording to clone. `audio`: bytes of any file PyAV reads; `transcript`: what it says."""

    name: str
    audio: bytes
    transcript: str


class SpeechEngine(Protocol):
    """What every implementation offers: the worker's client, and the fake one for tests."""

    async def start(self) -> EngineInfo:
        """Bring the engine up; return when it can speak. Raises EngineUnavailableError."""
        ...

    async def close(self) -> None:
        """End every process that this engine started. Idempotent; `start` may follow."""
        ...

    async def lost(self) -> str:
        """Wait until a started engine can speak no more, for another reason than `close`: why.

        Its requests have failed by then. `close` and `start` bring it back.
        """
        ...

    def speak(self, request: SpeechRequest) -> AsyncIterator[SpeechEvent]:
        """Speak one segment. Closing the iterator early aborts the request."""
        ...

    async def abort(self, request_id: str) -> AbortResult:
        """Stop a request; idempotent; an unknown id is confirmed at once."""
        ...

    async def warm(self, voice: str) -> None:
        """Put the voice's prefix into the cache before the first text needs it."""
        ...

    async def add_voice(self, sample: VoiceSample) -> None:
        """Encode and register a voice. Raises InvalidRequestError on bad audio."""
        ...

    async def remove_voice(self, name: str) -> None:
        """Forget a voice. Raises UnknownVoiceError."""
        ...

    async def stats(self) -> EngineStats:
        """Counters, as of now."""
        ...
