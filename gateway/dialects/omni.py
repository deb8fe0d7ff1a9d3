"""sglang-omni's `/v1/audio/speech/stream`: session.config, input.text, input.commit, input.done.

Facts: sglang-omni 0.1.9. What lies between two commits is one context of ours; its segments are the
vendor's sentences. Text is taken while sound is made, however much comes, and silence ends nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from gateway.dialects import Close, Frame, Opening, SocketRoute
from gateway.dialects.explain import explain, parse_json, shown
from gateway.errors import (
    CLIENT_CODES,
    ContextStateError,
    GatewayError,
    InvalidMessageError,
    InvalidValueError,
    MessageTooLargeError,
    wire_message,
)
from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Command,
    Configure,
    Container,
    Done,
    End,
    Event,
    Failed,
    FileFormat,
    Flushed,
    Hello,
    Interrupted,
    Limits,
    Mark,
    SamplingSettings,
    SegmentStarted,
    SettingsPatch,
    Text,
    is_language,
)

_CONTAINERS = {
    "pcm": Container.RAW,
    "wav": Container.WAV,
    "mp3": Container.MP3,
    "flac": Container.FLAC,
    "aac": Container.AAC,
    "opus": Container.OGG,
}
_TYPES = "session.config, input.text, input.commit, input.done"
_MOST_COMMITS = 64


class _Config(Struct):
    """What is known of the vendor's; its other fields are taken and ignored."""

    voice: str | None = None
    speaker: str | None = None
    response_format: str | None = None
    speed: Annotated[float, Meta(ge=0.5, le=2)] | None = None
    stream_audio: bool | None = None
    split_granularity: Literal["sentence", "clause"] | None = None
    language: str | None = None
    ref_audio: str | None = None
    references: list[Any] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=1, le=1000)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None


@dataclass(slots=True)
class _Sentence:
    """One that is being sent, from character `start` of its context on.

    `sound`: of one that is sent whole.
    """

    number: int
    start: int
    text: str
    rate_hz: int
    sent_bytes: int = 0
    sound: bytearray = dataclasses.field(default_factory=bytearray)


class OmniDialect:
    """See `Dialect`."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._max_bytes = opening.limits.max_message_bytes
        self._session = ""
        self._config: _Config | None = None
        self._unsaid: tuple[Command, ...] = ()
        self._names = (f"segment-{number}" for number in itertools.count(1))
        self._context: str | None = None  # takes text
        self._chars = 0  # that it has
        self._open: deque[str] = deque()  # not over, in order
        self._committed: set[str] = set()
        self._rate_hz = 0
        self._sentence: _Sentence | None = None
        self._sentences = 0
        self._before_segment = 0  # sentences of the segments that are over
        self._segments = 0
        self._done = False

    @property
    def file(self) -> FileFormat:
        """See `Dialect`."""
        return FileFormat(_CONTAINERS[self._format], each_segment=True)

    def decode(self, raw: str | bytes) -> Sequence[Command | Frame]:
        """See `Dialect`."""
        message = self._read(raw)
        if self._done:
            return ()
        kind = message.get("type")
        if kind == "session.config":
            return self._configure(message)
        if self._config is None:
            raise ContextStateError(f"type: expected session.config first, got {shown(kind)}")
        match kind:
            case "input.text":
                return self._text(message.get("text"))
            case "input.commit":
                return self._commit()
            case "input.done":
                return self._finish()
        raise InvalidMessageError(f"type: expected one of {_TYPES}, got {shown(kind)}")

    def encode(self, event: Event) -> Sequence[Frame]:
        """See `Dialect`."""
        match event:
            case Hello():
                self._session = event.session
            case SegmentStarted():
                return (*self._end_sentence(False), *self._begin_sentence(event))
            case Flushed(flush_id=int(mark)):
                return self._marked(mark)
            case Audio():
                return self._audio(event.payload)
            case Done() | Interrupted():
                return (*self._end_sentence(isinstance(event, Interrupted)), *self._over(event))
            case Failed():
                return self._failed(event)
        return ()

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        if error.close_code == MessageTooLargeError.close_code:
            return Close(1009, error.code)
        return Close(1008 if error.code in CLIENT_CODES else 1011, error.code)

    # --- what the client asks for ---

    def _read(self, raw: str | bytes) -> dict[str, Any]:
        if isinstance(raw, bytes):
            raise InvalidMessageError(
                f"expected a text frame, got a binary one of {len(raw)} bytes"
            )
        if len(raw) > self._max_bytes or len(raw.encode(errors="replace")) > self._max_bytes:
            raise MessageTooLargeError(f"expected at most {self._max_bytes} bytes, got more")
        return parse_json(raw)

    def _configure(self, message: dict[str, Any]) -> Sequence[Command | Frame]:
        """Again, it holds from the next commit on; the format stays."""
        given = message.get("session", message)
        if not isinstance(given, dict):
            raise InvalidMessageError(f"session: expected an object, got {shown(given)}")
        try:
            config = msgspec.convert(given, _Config)
        except msgspec.ValidationError as error:
            raise explain(error, given, _Config) from None
        name, streams = _format_of(config), bool(config.stream_audio)
        self._check(config, name, streams)
        if self._config is not None and (name, streams) != (self._format, self._streams):
            raise ContextStateError("response_format: expected no change in a session")
        self._config = config
        self._unsaid = (Configure(None, self._settings(config, name)),)
        return (self._configured(config),)

    def _check(self, config: _Config, name: str, streams: bool) -> None:
        if name not in _CONTAINERS:
            known = ", ".join(_CONTAINERS)
            raise InvalidValueError(f"response_format: expected one of {known}, got {shown(name)}")
        if streams and name != "pcm":
            raise InvalidValueError(f"response_format: expected pcm to stream audio, got {name}")
        languages, language = self._opening.facts.languages, _language_of(config)
        if language is not None and languages and language not in languages:
            known = ", ".join(languages)
            raise InvalidValueError(f"language: expected one of {known}, got {shown(language)}")
        if config.ref_audio or config.references:
            raise InvalidValueError("ref_audio: expected none; this gateway has its own voices")

    def _settings(self, config: _Config, name: str) -> SettingsPatch:
        audio = _packets(name, self._opening.facts.sample_rate_hz)
        self._rate_hz = audio.sample_rate_hz
        sampling = SamplingSettings(config.temperature, config.top_p, config.top_k, config.seed)
        return SettingsPatch(
            voice=self._opening.voices.resolve(config.voice or config.speaker or ""),
            format=audio,
            language=_language_of(config),
            sampling=sampling,
            segment_mode=config.split_granularity or "sentence",
            speed=1.0 if config.speed is None else config.speed,
            lead_ms=0,  # the vendor sends as fast as it makes, and its clients keep what is early
        )

    def _configured(self, config: _Config) -> str:
        return self._frame(
            "session.configured",
            response_format=self._format,
            stream_audio=self._streams,
            split_granularity=config.split_granularity or "sentence",
        )

    def _text(self, text: object) -> Sequence[Command]:
        if not isinstance(text, str):
            got = "none" if text is None else type(text).__name__
            raise InvalidMessageError(f"text: expected str, got {got}")
        if not text:
            return ()
        context = self._current()
        self._chars += len(text)
        commands = (*self._settle(), Text(context, text))
        # a sentence that nothing follows yet is told to be over all the same
        ends = not text.rstrip()[-1:].isalnum()
        return (*commands, Mark(context, self._chars)) if ends else commands

    def _commit(self) -> Sequence[Command]:
        """A commit of nothing is answered as well, in its turn."""
        context, self._context = self._current(), None
        self._committed.add(context)
        return (*self._settle(), End(context))

    def _finish(self) -> Sequence[Command | Frame]:
        self._done = True
        if not self._open:
            return self._farewell()
        context, self._context = self._context, None
        return () if context is None else (End(context),)

    def _current(self) -> str:
        if self._context is None:
            self._context, self._chars = next(self._names), 0
            self._open.append(self._context)
        return self._context

    def _settle(self) -> Sequence[Command]:
        settings, self._unsaid = self._unsaid, ()
        return settings

    # --- what the client is told ---

    @property
    def _format(self) -> str:
        return "pcm" if self._config is None else _format_of(self._config)

    @property
    def _streams(self) -> bool:
        return self._config is not None and bool(self._config.stream_audio)

    def _frame(self, kind: str, **fields: object) -> str:
        told = {"type": kind, "session_id": self._session, **fields}
        return msgspec.json.encode(told).decode()

    def _begin_sentence(self, event: SegmentStarted) -> Sequence[Frame]:
        text, number = event.text.strip(), self._sentences
        self._sentence = _Sentence(number, event.start, text, self._rate_hz)
        self._sentences += 1
        return (self._start_of(self._sentence),) if self._streams else ()

    def _start_of(self, sentence: _Sentence) -> str:
        return self._frame(
            "audio.start",
            id=f"{self._session}-{sentence.number}",
            sentence_index=sentence.number,
            sentence_text=sentence.text,
            format=self._format,
            sample_rate=sentence.rate_hz,
        )

    def _audio(self, payload: bytes) -> Sequence[Frame]:
        if self._sentence is None:
            return ()
        self._sentence.sent_bytes += len(payload)
        if self._streams:
            return (payload,)
        self._sentence.sound += payload
        return ()

    def _end_sentence(self, failed: bool) -> Sequence[Frame]:
        """The vendor's sound is whole before it is sent, unless the client wants it streamed."""
        sentence, self._sentence = self._sentence, None
        if sentence is None:
            return ()
        whole: list[Frame] = []
        if not self._streams and sentence.sound:
            whole = [self._start_of(sentence), bytes(sentence.sound)]
        done = self._frame(
            "audio.done",
            id=f"{self._session}-{sentence.number}",
            sentence_index=sentence.number,
            total_bytes=sentence.sent_bytes,
            error=failed,
        )
        return (*whole, done)

    def _marked(self, mark: int) -> Sequence[Frame]:
        """All before the mark has left. A file of an encoder is only whole with what follows."""
        sentence = self._sentence
        encoded = self._format not in ("pcm", "wav")
        if sentence is None or encoded or sentence.start >= mark:
            return ()
        return self._end_sentence(False)

    def _over(self, event: Done | Interrupted | Failed) -> Sequence[Frame]:
        context = event.context
        if context is None or context not in self._open:
            return ()
        self._open.remove(context)
        if context == self._context:
            self._context = None
        frames: list[Frame] = []
        if context in self._committed:
            self._committed.discard(context)
            frames.append(self._committed_frame())
        return (*frames, *self._farewell()) if self._done and not self._open else frames

    def _committed_frame(self) -> str:
        spoken = self._sentences - self._before_segment
        told = self._frame(
            "input.committed",
            segment_index=self._segments,
            segment_sentences=spoken,
            total_sentences=self._sentences,
        )
        self._before_segment = self._sentences
        self._segments += 1
        return told

    def _farewell(self) -> Sequence[Frame]:
        return self._frame("session.done", total_sentences=self._sentences), Close()

    def _failed(self, event: Failed) -> Sequence[Frame]:
        client = event.code in CLIENT_CODES
        told: dict[str, object] = {
            "message": wire_message(event.code, event.message),
            "error_type": "BadRequestError" if client else "server_error",
        }
        if client:
            param, colon, _ = event.message.partition(": ")
            told |= {"param": param, "code": 400} if colon and " " not in param else {"code": 400}
        error = self._frame("error", **told)
        # after a commit nothing is asked of a context but its end: what fails is that
        ended = event.ended or event.context in self._committed or self._done
        if not ended:
            return (error,) if self._config is not None else (error, Close(1008, event.code))
        return (error, *self._end_sentence(True), *self._over(event))


def _format_of(config: _Config) -> str:
    return (config.response_format or "pcm").strip().lower()


def _language_of(config: _Config) -> str | None:
    """None for what is no code, such as `Auto`."""
    code = (config.language or "").strip().lower()
    return code.partition("-")[0] if is_language(code) else None


def _packets(name: str, engine_rate_hz: int) -> AudioFormat:
    """The engine's own rate where the format has it: nothing is resampled."""
    if name == "opus":
        return AudioFormat(Codec.OPUS)
    if name in ("mp3", "aac"):
        return AudioFormat(Codec.PCM_S16LE, 44_100 if engine_rate_hz >= 44_100 else 24_000)
    return AudioFormat(Codec.PCM_S16LE, min(engine_rate_hz, 48_000))


def _limits(opening: Opening) -> Limits:
    """Its clients send whole texts and commits, and have no word for "wait"."""
    limits = opening.limits
    return dataclasses.replace(
        limits,
        max_contexts=max(limits.max_contexts, _MOST_COMMITS),
        max_buffered_chars=max(limits.max_buffered_chars, limits.max_context_chars),
    )


ROUTES = (SocketRoute("omni", "/v1/audio/speech/stream", OmniDialect, limits=_limits),)
