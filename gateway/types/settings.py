"""What can be set: one context's settings, the engine's facts, the gateway's limits."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from gateway.types.formats import AudioFormat

MAX_PRONUNCIATIONS = 200
MAX_PRONUNCIATION_CHARS = 200
MAX_STYLE_CHARS = 200

_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}([-_][a-zA-Z0-9]{1,8})*")


class SamplingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Mirrors `engine.api.Sampling`; None leaves the checkpoint's default."""

    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=1, le=1000)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None


class ContextSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything a context can be configured with, and the only place that spells it.

    The ranges hold for what is decoded or converted; dialects derive their messages from this
    class, and a test holds the protocol's page against it. Times in ms.
    """

    voice: str = "default"
    format: AudioFormat = AudioFormat()
    sampling: SamplingSettings = SamplingSettings()
    segment_mode: Literal["sentence", "clause"] = "sentence"
    max_buffer_delay_ms: Annotated[int, Meta(ge=0, le=10_000)] = 1500
    speakable: bool = True
    normalize: bool = False
    language: str = "en"  # in which `normalize` reads numbers
    style: str = ""  # words of a free-form tag, [whispering], in front of every segment
    speak_thoughts: bool = False  # what stands in <think>, <thinking>, <reasoning>
    speak_directions: bool = True  # *waves* and (laughs)
    pronunciations: dict[str, str] = {}  # word -> respelling
    speed: Annotated[float, Meta(ge=0.25, le=4.0)] = 1.0
    # audio is sent at most this far ahead of playback; 0: as it is made
    lead_ms: Annotated[int, Meta(ge=0, le=30_000)] = 1500
    words: bool = False
    preempt: bool = False  # opening the context interrupts every earlier one
    carry_prosody: bool = True  # go on in the tone of the context before, if the voice is the same

    def mistake(self) -> str | None:
        """What is wrong beyond the ranges of single fields, as `path: expected X, got Y`."""
        if (mistake := self.format.rate_mistake()) is not None:
            return f"format.sample_rate_hz: {mistake}"
        if not is_language(self.language):
            return f"language: expected a code, as en or pt-BR, got {self.language[:60]!r}"
        if self.style and not is_style(self.style):
            return (
                f"style: expected words without brackets on one line, at most {MAX_STYLE_CHARS}"
                f" characters, got {self.style[:60]!r}"
            )
        if len(self.pronunciations) > MAX_PRONUNCIATIONS:
            return (
                f"pronunciations: expected at most {MAX_PRONUNCIATIONS} words,"
                f" got {len(self.pronunciations)}"
            )
        for word, respelling in self.pronunciations.items():
            if not word.strip():
                return f"pronunciations: expected words that are not empty, got {word[:60]!r}"
            if (longest := max(len(word), len(respelling))) > MAX_PRONUNCIATION_CHARS:
                return (
                    f"pronunciations.{word[:60]}: expected at most {MAX_PRONUNCIATION_CHARS}"
                    f" characters, got {longest}"
                )
        return None


def is_language(code: str) -> bool:
    """Whether it is written as an ISO 639 code, with or without a region."""
    return _LANGUAGE.fullmatch(code) is not None


def is_style(words: str) -> bool:
    """Whether a free-form tag can hold it."""
    fits = len(words) <= MAX_STYLE_CHARS and any(char.isalpha() for char in words)
    return fits and not set(words) & set("[]\r\n")


class SettingsPatch:
    """Some fields of a `ContextSettings`, by name; the others, and those given as None, stay.

    Objects (`format`, `sampling`, `pronunciations`) are replaced whole, never merged field by
    field, so that sending the same `configure` twice changes nothing the second time.
    """

    __slots__ = ("given",)

    def __init__(self, **given: Any) -> None:
        unknown = given.keys() - set(ContextSettings.__struct_fields__)
        if unknown:
            raise TypeError(f"expected settings, got {', '.join(sorted(unknown))}")
        self.given: Mapping[str, Any] = {k: v for k, v in given.items() if v is not None}

    def over(self, settings: ContextSettings) -> ContextSettings:
        """Return `settings` with what the patch names replaced."""
        return replace(settings, **self.given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SettingsPatch) and self.given == other.given

    def __hash__(self) -> int:
        return hash(tuple(self.given))

    def __repr__(self) -> str:
        return f"SettingsPatch({', '.join(f'{k}={v!r}' for k, v in self.given.items())})"


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What the session must know of the engine: mirrors `engine.api.EngineInfo`."""

    checkpoint: str = ""
    sample_rate_hz: int = 44_100
    frame_samples: int = 2048
    num_codebooks: int = 1
    max_streams: int = 1
    max_frames: int = 2048
    voices: tuple[str, ...] = ("default",)
    wants_words: bool = False  # figures and short forms are to be words: `normalize` is then on
    speaks_tags: bool = True  # a lone tag, such as `[laugh]`, makes a sound
    languages: tuple[str, ...] = ()  # ISO 639-1 codes that the checkpoint reads; none: any

    @property
    def frame_ms(self) -> float:
        """Duration of one frame."""
        return 1000.0 * self.frame_samples / self.sample_rate_hz

    @property
    def frame_bytes(self) -> int:
        """Size of one frame of the engine's PCM, float32 mono."""
        return 4 * self.frame_samples


@dataclass(frozen=True, slots=True)
class Limits:
    """Every bound of a session. The greeting publishes all of them but the history's."""

    max_message_bytes: int = 65_536
    max_contexts: int = 8  # configured, running and queued ones together
    max_context_chars: int = 100_000
    max_buffered_chars: int = 20_000  # text received and not yet given to the engine, all contexts
    idle_timeout_ms: int = 300_000  # a context that hears nothing for so long is ended
    abort_timeout_ms: int = 250  # an `interrupted` waits at most this long for the engine
    look_ahead_segments: int = 1  # made or in the making before their sound begins to leave
    history_turns: int = 4
    history_ms: int = 20_000
    resume_window_ms: int = 30_000  # how long a resumable session waits for its client; 0: never
    resume_buffer_bytes: int = 512 * 1024  # roughly how much of what was sent is kept

    def published(self) -> dict[str, int | float]:
        """The greeting's `limits`."""
        return {
            f.name: getattr(self, f.name)
            for f in dataclasses.fields(self)
            if not f.name.startswith("history")
        }
