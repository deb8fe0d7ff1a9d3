"""A deterministic `SpeechEngine` without a model, for tests and for measuring the gateway alone.

Each character of the text sounds for a number of frames as a tone of its own pitch, so that a test
can tell from the sound which text it was. Voices differ in loudness. Everything is a function of
the request; nothing depends on time, on other requests, or on chance.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import numpy as np

from engine.api import (
    DEFAULT_VOICE,
    AbortResult,
    EngineError,
    EngineInfo,
    EngineOverloadedError,
    EngineStats,
    EngineUnavailableError,
    Finished,
    FinishReason,
    Frames,
    InvalidRequestError,
    SpeechEvent,
    SpeechRequest,
    UnknownVoiceError,
    VoiceSample,
)

LOWEST_TONE_HZ = 150.0
TONE_STEP_HZ = 10.0
TONES = 64
CODEBOOK_SIZE = 1024


@dataclass(frozen=True, slots=True)
class FakeEngineConfig:
    """How the fake behaves. Delays are in seconds of the event loop's time; 0 only yields to it."""

    sample_rate_hz: int = 44_100
    frame_samples: int = 2048
    num_codebooks: int = 4
    max_streams: int = 16
    max_waiting: int = 64
    max_frames: int = 4096
    frames_per_char: float = 1.4  # about 15 characters a second at the default rates
    frames_per_chunk: int = 1  # frames in each `Frames`
    prefill_delay_s: float = 0.0
    frame_delay_s: float = 0.0
    abort_delay_s: float = 0.0
    with_text_tokens: bool = False  # a token is a character
    voices: tuple[str, ...] = (DEFAULT_VOICE,)
    speaks_tags: bool = True
    languages: tuple[str, ...] = ()


@dataclass
class _Stream:
    """One request in the making."""

    request: SpeechRequest
    frames: int = 0
    aborted: bool = False
    holds_slot: bool = False
    dead: bool = False  # the engine was closed, or lost, under it


@dataclass
class Failure:
    """Raised for every request whose text contains `text`, after `after_frames` frames."""

    text: str
    error: EngineError = field(default_factory=lambda: EngineUnavailableError("worker died"))
    after_frames: int = 0


def tone(char: str, frame_samples: int, sample_rate_hz: int) -> np.ndarray:
    """One frame [frame_samples] of a character's tone: whole periods, so that frames join."""
    hertz = LOWEST_TONE_HZ + TONE_STEP_HZ * (ord(char) % TONES)
    periods = max(round(hertz * frame_samples / sample_rate_hz), 1)
    phase = 2.0 * math.pi * periods / frame_samples * np.arange(frame_samples)
    return np.asarray(0.3 * np.sin(phase), dtype="<f4")


class FakeEngine:
    """Implements `engine.api.SpeechEngine`. Add to `failures` to make requests fail."""

    def __init__(self, config: FakeEngineConfig | None = None) -> None:
        self.config = config or FakeEngineConfig()
        self.failures: list[Failure] = []
        self.requests: list[SpeechRequest] = []  # every one that was admitted
        self.aborts: list[str] = []
        self.warmed: list[str] = []
        self._voices = list(self.config.voices)
        self._streams: dict[str, _Stream] = {}
        self._running = 0
        self._waiting = 0
        self._freed = asyncio.Condition()
        self._up = False
        self._loss: str | None = None
        self._lost = asyncio.Event()
        self._frames_total = 0
        self._prompt_tokens_total = 0
        self._cached_tokens_total = 0
        self._pcm = functools.lru_cache(maxsize=256)(self._frame_pcm)

    async def start(self) -> EngineInfo:
        """Bring it up."""
        self._up = True
        self._loss = None
        self._lost.clear()
        return self.info

    @property
    def info(self) -> EngineInfo:
        """What it pretends to be."""
        return EngineInfo(
            checkpoint="fake",
            sample_rate_hz=self.config.sample_rate_hz,
            frame_samples=self.config.frame_samples,
            num_codebooks=self.config.num_codebooks,
            max_streams=self.config.max_streams,
            max_frames=self.config.max_frames,
            voices=tuple(self._voices),
            speaks_tags=self.config.speaks_tags,
            languages=self.config.languages,
        )

    async def close(self) -> None:
        """Refuse all further requests; streams in the making fail. Idempotent."""
        self._up = False
        for stream in self._streams.values():
            stream.dead = True
        async with self._freed:
            self._freed.notify_all()

    async def crash(self, reason: str) -> None:
        """As `close`, but nobody has asked for it."""
        self._loss = reason
        await self.close()
        self._lost.set()

    async def lost(self) -> str:
        """Wait for `crash`; its reason."""
        await self._lost.wait()
        assert self._loss is not None
        return self._loss

    def frame_count(self, text: str) -> int:
        """How many frames a text takes."""
        return max(1, round(self.config.frames_per_char * len(text)))

    async def speak(self, request: SpeechRequest) -> AsyncIterator[SpeechEvent]:
        """Speak one segment. See `engine.api.SpeechEngine`."""
        self._check(request)
        stream = _Stream(request)
        await self._admit(stream)
        try:
            if self.config.prefill_delay_s:
                await asyncio.sleep(self.config.prefill_delay_s)
            async for item in self._generate(stream):
                yield item
        finally:
            self._streams.pop(request.request_id, None)
            await self._release(stream)

    async def _generate(self, stream: _Stream) -> AsyncIterator[SpeechEvent]:
        request, config = stream.request, self.config
        wanted = self.frame_count(request.text)
        cap = min(request.sampling.max_frames or config.max_frames, config.max_frames)
        total = min(wanted, cap)
        while stream.frames < total and not stream.aborted:
            await asyncio.sleep(config.frame_delay_s)
            self._fail_if_asked(stream)
            if stream.aborted:
                break
            first = stream.frames
            stream.frames = min(first + config.frames_per_chunk, total)
            self._frames_total += stream.frames - first
            yield self._chunk(request, first, stream.frames, wanted)
        self._fail_if_asked(stream)
        reason = FinishReason.STOP if total == wanted else FinishReason.LENGTH
        if stream.aborted:
            reason = FinishReason.ABORTED
        prompt = len(request.text.encode()) + self._history_frames(request)
        cached = self._history_frames(request)
        self._prompt_tokens_total += prompt
        self._cached_tokens_total += cached
        yield Finished(reason, stream.frames, prompt, cached)

    async def abort(self, request_id: str) -> AbortResult:
        """Stop a request; idempotent; an unknown id is confirmed at once."""
        self.aborts.append(request_id)
        stream = self._streams.get(request_id)
        if stream is None:
            return AbortResult(confirmed=True, frames_after=0)
        before = stream.frames
        if self.config.abort_delay_s:
            await asyncio.sleep(self.config.abort_delay_s)
        stream.aborted = True
        await self._release(stream)
        return AbortResult(confirmed=True, frames_after=stream.frames - before)

    async def warm(self, voice: str) -> None:
        """Remember that the voice was asked for. Raises UnknownVoiceError."""
        self._check_voice(voice)
        self.warmed.append(voice)

    async def add_voice(self, sample: VoiceSample) -> None:
        """Register a voice. Raises InvalidRequestError when there is no audio."""
        if not sample.audio:
            raise InvalidRequestError("audio: expected a recording, got 0 bytes")
        if sample.name not in self._voices:
            self._voices.append(sample.name)

    async def remove_voice(self, name: str) -> None:
        """Forget a voice. Raises UnknownVoiceError."""
        self._check_voice(name)
        self._voices.remove(name)

    async def stats(self) -> EngineStats:
        """Counters, as of now."""
        return EngineStats(
            running=self._running,
            waiting=self._waiting,
            free_slots=self.config.max_streams - self._running,
            frames_total=self._frames_total,
            prompt_tokens_total=self._prompt_tokens_total,
            cached_tokens_total=self._cached_tokens_total,
        )

    # --- inside ---

    def _check(self, request: SpeechRequest) -> None:
        if not self._up:
            raise EngineUnavailableError("expected a started engine")
        self._check_voice(request.voice)
        if not request.text.strip():
            raise InvalidRequestError("text: expected something to say, got none")
        if request.request_id in self._streams:
            raise InvalidRequestError(f"request_id: expected a new one, got {request.request_id}")
        row_bytes = 2 * self.config.num_codebooks
        for turn in request.history:
            if not turn.codes or len(turn.codes) % row_bytes:
                raise InvalidRequestError(
                    f"codes: expected rows of {row_bytes} bytes, got {len(turn.codes)} bytes"
                )

    def _check_voice(self, voice: str) -> None:
        if voice not in self._voices:
            raise UnknownVoiceError(
                f"voice: expected one of {', '.join(self._voices)}, got {voice}"
            )

    async def _admit(self, stream: _Stream) -> None:
        if self._running >= self.config.max_streams and self._waiting >= self.config.max_waiting:
            raise EngineOverloadedError(f"expected a free place of {self.config.max_waiting}")
        self.requests.append(stream.request)
        self._streams[stream.request.request_id] = stream
        self._waiting += 1
        try:
            async with self._freed:
                await self._freed.wait_for(
                    lambda: self._running < self.config.max_streams or stream.aborted
                )
        except BaseException:
            self._streams.pop(stream.request.request_id, None)
            raise
        finally:
            self._waiting -= 1
        if not stream.aborted:
            stream.holds_slot = True
            self._running += 1

    async def _release(self, stream: _Stream) -> None:
        if stream.holds_slot:
            stream.holds_slot = False
            self._running -= 1
        async with self._freed:
            self._freed.notify_all()

    def _fail_if_asked(self, stream: _Stream) -> None:
        if stream.dead:
            raise EngineUnavailableError("the engine was closed")
        for failure in self.failures:
            if failure.text in stream.request.text and stream.frames >= failure.after_frames:
                raise failure.error

    def _chunk(self, request: SpeechRequest, first: int, end: int, wanted: int) -> Frames:
        text = request.text
        spoken = [min(i * len(text) // wanted, len(text) - 1) for i in range(first, end)]
        loudness = 1.0 - 0.1 * (self._voices.index(request.voice) % 8)
        return Frames(
            first_frame=first,
            pcm=b"".join(self._pcm(text[i], loudness) for i in spoken),
            codes=b"".join(self._codes(request, i) for i in range(first, end)),
            text_tokens=tuple(spoken) if self.config.with_text_tokens else (),
        )

    def _frame_pcm(self, char: str, loudness: float) -> bytes:
        frame = tone(char, self.config.frame_samples, self.config.sample_rate_hz)
        return bytes((loudness * frame).astype("<f4").tobytes())

    def _codes(self, request: SpeechRequest, frame: int) -> bytes:
        key = f"{request.voice}\0{request.text}\0{frame}".encode()
        digest = hashlib.shake_128(key).digest(2 * self.config.num_codebooks)
        codes = np.frombuffer(digest, dtype="<u2") % CODEBOOK_SIZE
        return bytes(codes.astype("<u2").tobytes())

    def _history_frames(self, request: SpeechRequest) -> int:
        row_bytes = 2 * self.config.num_codebooks
        return sum(len(turn.codes) // row_bytes for turn in request.history)
