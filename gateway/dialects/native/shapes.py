"""The shapes of the client's messages. Ranges are checked afterwards, see `ranges.py`."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType


class MessageShape(Struct, forbid_unknown_fields=True):
    type: str


class TextShape(MessageShape):
    context: str
    text: str


class FlushShape(MessageShape):
    context: str
    flush_id: int | str | None = None


class EndShape(MessageShape):
    context: str


class InterruptShape(MessageShape):
    context: str | None = None
    played_ms: float | None = None


class DuckShape(MessageShape):
    context: str | None = None
    gain: float = 0.0


class ResumeShape(MessageShape):
    context: str | None = None


class PlaybackShape(MessageShape):
    context: str
    played_ms: float


class FormatShape(Struct, forbid_unknown_fields=True):
    codec: str = "opus"
    sample_rate_hz: int | UnsetType = UNSET
    frame_ms: int = 20
    bitrate_bps: int = 48_000
    complexity: int = 0
    fec: bool = False
    dtx: bool = False


class SamplingShape(Struct, forbid_unknown_fields=True):
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None


class ConfigureShape(MessageShape):
    context: str | None = None
    voice: str | UnsetType = UNSET
    format: FormatShape | UnsetType = UNSET
    sampling: SamplingShape | UnsetType = UNSET
    segment_mode: str | UnsetType = UNSET
    max_buffer_delay_ms: int | UnsetType = UNSET
    speakable: bool | UnsetType = UNSET
    normalize: bool | UnsetType = UNSET
    pronunciations: dict[str, str] | UnsetType = UNSET
    speed: float | UnsetType = UNSET
    lead_ms: int | UnsetType = UNSET
    words: bool | UnsetType = UNSET
    preempt: bool | UnsetType = UNSET
    carry_prosody: bool | UnsetType = UNSET


# Where the objects inside a message are, for errors about their fields.
INNER: dict[str, type[Struct]] = {"format": FormatShape, "sampling": SamplingShape}
