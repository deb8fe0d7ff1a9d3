"""What can be set: one context's settings, the engine's facts, the gateway's limits."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from gateway.types.formats import AudioFormat


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
    lead_ms: int = 1500  # audio is sent at most this far ahead of playback; 0: as it is made
    words: bool = False
    preempt: bool = False  # opening the context interrupts every earlier one
    carry_prosody: bool = True  # go on in the tone of the context before, if the voice is the same


@dataclass(frozen=True, slots=True)
class SettingsPatch:
    """Part of a `ContextSettings`: None leaves the setting as it is.

    Objects (`format`, `sampling`, `pronunciations`) are replaced whole, never merged field by
    field, so that sending the same `configure` twice changes nothing the second time.
    """

    voice: str | None = None
    format: AudioFormat | None = None
    sampling: SamplingSettings | None = None
    segment_mode: str | None = None
    max_buffer_delay_ms: int | None = None
    speakable: bool | None = None
    normalize: bool | None = None
    pronunciations: tuple[tuple[str, str], ...] | None = None
    speed: float | None = None
    lead_ms: int | None = None
    words: bool | None = None
    preempt: bool | None = None
    carry_prosody: bool | None = None

    def over(self, settings: ContextSettings) -> ContextSettings:
        """Return `settings` with what the patch names replaced."""
        given = {
            f.name: value
            for f in dataclasses.fields(self)
            if (value := getattr(self, f.name)) is not None
        }
        return dataclasses.replace(settings, **given)


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
    resume_window_ms: int = 30_000  # so long a resumable session waits for its client; 0: never
    resume_buffer_bytes: int = 512 * 1024  # of what was sent are kept for that, about

    def published(self) -> dict[str, int | float]:
        """The greeting's `limits`."""
        return {
            f.name: getattr(self, f.name)
            for f in dataclasses.fields(self)
            if not f.name.startswith("history")
        }
