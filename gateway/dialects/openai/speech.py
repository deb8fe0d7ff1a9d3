"""`POST /v1/audio/speech`: a request's body to commands, events and errors to theirs."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gateway.dialects import Close, HttpAnswer, Opening
from gateway.dialects.openai.errors import error_object, refusal
from gateway.dialects.openai.request import SpeechCall, parse
from gateway.dialects.openai.voices import voice_named
from gateway.errors import CLIENT_CODES, GatewayError
from gateway.types import (
    MAX_STYLE_CHARS,
    Audio,
    AudioFormat,
    Codec,
    Command,
    Configure,
    Container,
    Done,
    End,
    EngineFacts,
    Event,
    Failed,
    FileFormat,
    SettingsPatch,
    Text,
    is_language,
    is_style,
)

IGNORED_HEADER = "X-Voice-Gateway-Ignored"
PCM_RATE_HZ = 24_000
_CONTEXT = "speech"

# How each response format is packed, and what the response is then.
_FILES = {
    "mp3": (Container.MP3, "audio/mpeg"),
    "opus": (Container.OGG, "audio/ogg"),
    "aac": (Container.AAC, "audio/aac"),
    "flac": (Container.FLAC, "audio/flac"),
    "wav": (Container.WAV, "audio/wav"),
    "pcm": (Container.RAW, "audio/pcm"),
}

_NAME_CHARS = re.compile(r"[^A-Za-z0-9_.-]")
_MAX_NAMED, _MAX_NAME_CHARS = 30, 60  # a header has no room for everything


class SpeechDialect:
    """One request. `sse` in `stream_format` gives events with sound in base64, else a file."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._call: SpeechCall | None = None
        self._ignored: list[str] = []

    @property
    def file(self) -> FileFormat:
        """See `Dialect`."""
        assert self._call is not None
        return FileFormat(_FILES[self._call.response_format][0])

    @property
    def media_type(self) -> str:
        """See `HttpDialect`."""
        assert self._call is not None
        return "text/event-stream" if self._streams else _FILES[self._call.response_format][1]

    @property
    def headers(self) -> Mapping[str, str]:
        """What of the request had no meaning."""
        names = [_NAME_CHARS.sub("?", name[:_MAX_NAME_CHARS]) for name in self._ignored]
        return {IGNORED_HEADER: ", ".join(names[:_MAX_NAMED])} if names else {}

    @property
    def _streams(self) -> bool:
        return self._call is not None and self._call.stream_format == "sse"

    def decode(self, raw: str | bytes) -> Sequence[Command]:
        """The body: one context with all its text. Raises ClientError that names the field."""
        body = raw.encode() if isinstance(raw, str) else raw
        call = parse(body, self._opening.limits.max_context_chars)
        self._call, facts = call, self._opening.facts
        language, style = language_for(call.language, facts), style_for(call.instructions, facts)
        self._ignored = list(call.ignored)
        if call.language and language is None:
            self._ignored.append("language")
        if call.instructions and style is None:
            self._ignored.append("instructions")
        patch = SettingsPatch(
            voice=voice_named(call.voice, self._opening.voices),
            format=_packets(call.response_format, facts.sample_rate_hz),
            sampling=call.sampling,
            speed=call.speed,
            lead_ms=0,
            language=language,
            normalize=True if language is not None else None,
            style=style,
        )
        return Configure(_CONTEXT, patch), Text(_CONTEXT, call.text), End(_CONTEXT)

    def encode(self, event: Event) -> Sequence[bytes | Close]:
        """See `Dialect`."""
        match event:
            case Audio():
                return (_sse_delta(event.payload) if self._streams else event.payload,)
            case Done():
                return (_sse_done(event), Close()) if self._streams else (Close(),)
            case Failed() if self._streams:
                return _sse_error(event), Close()
        return ()

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        return Close()

    def refusal(self, error: GatewayError) -> HttpAnswer:
        """See `HttpDialect`."""
        return refusal(error)


def language_for(language: str, facts: EngineFacts) -> str | None:
    """The language in which numbers are read; None where the checkpoint does not have it."""
    code = language.replace("_", "-").partition("-")[0].lower()
    if not is_language(language) or facts.languages and code not in facts.languages:
        return None
    return language


def style_for(instructions: str, facts: EngineFacts) -> str | None:
    """The words of a free-form tag, as many as it holds; None where no tag can say it."""
    words = " ".join(instructions.replace("[", "(").replace("]", ")").split())
    if len(words) > MAX_STYLE_CHARS:
        words = words[: MAX_STYLE_CHARS + 1].rpartition(" ")[0] or words[:MAX_STYLE_CHARS]
    return words if facts.speaks_tags and is_style(words) else None


def _packets(response_format: str, engine_rate_hz: int) -> AudioFormat:
    """The packets that a file is made of. WAV keeps the engine's rate: nothing is resampled."""
    if response_format == "opus":
        return AudioFormat(Codec.OPUS)
    if response_format == "wav":
        return AudioFormat(Codec.PCM_S16LE, min(engine_rate_hz, 48_000))
    if response_format != "pcm" and engine_rate_hz >= 44_100:
        return AudioFormat(Codec.PCM_S16LE, 44_100)
    return AudioFormat(Codec.PCM_S16LE, PCM_RATE_HZ)


def _sse_delta(audio: bytes) -> bytes:
    """A server-sent event with sound."""
    return _sse({"type": "speech.audio.delta", "audio": base64.b64encode(audio).decode()})


def _sse_done(done: Done) -> bytes:
    """The last server-sent event. Output tokens are the engine's frames."""
    usage = {
        "input_tokens": done.prompt_tokens,
        "output_tokens": done.frames,
        "total_tokens": done.prompt_tokens + done.frames,
    }
    return _sse({"type": "speech.audio.done", "usage": usage})


def _sse_error(event: Failed) -> bytes:
    """A failure after sound has begun."""
    error = error_object(event.message, event.code, event.code in CLIENT_CODES)
    return _sse({"type": "error", "error": error})


def _sse(event: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"
