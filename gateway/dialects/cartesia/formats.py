"""Cartesia's `output_format`: a container, an encoding, a sample rate."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from gateway.dialects.explain import shown
from gateway.errors import InvalidMessageError, InvalidValueError
from gateway.types import AudioFormat, Codec, Container, FileFormat

RATES_HZ = (8_000, 16_000, 22_050, 24_000, 44_100, 48_000)

_CODECS = {
    "pcm_s16le": Codec.PCM_S16LE,
    "pcm_f32le": Codec.PCM_F32LE,
    "pcm_mulaw": Codec.MULAW,
    "pcm_alaw": Codec.ALAW,
}
_CONTAINERS = {"raw": Container.RAW, "wav": Container.WAV, "mp3": Container.MP3}
_MEDIA_TYPES = {"raw": "audio/pcm", "wav": "audio/wav", "mp3": "audio/mpeg"}


class OutputFormat(Struct):
    """As it is sent. `bit_rate` is MP3's, `encoding` the others'."""

    container: str
    encoding: str | None = None
    sample_rate: int | None = None
    bit_rate: Annotated[int, Meta(ge=8_000, le=320_000)] | None = None

    @property
    def file(self) -> FileFormat:
        """What packets are packed into."""
        return FileFormat(_CONTAINERS[self.container], self.bit_rate)

    @property
    def media_type(self) -> str:
        """Of a response."""
        return _MEDIA_TYPES[self.container]


def check_format(made: OutputFormat, containers: tuple[str, ...]) -> None:
    """Raises InvalidValueError, InvalidMessageError for what cannot be made."""
    _check("container", made.container, containers)
    if made.container != "mp3":
        if made.encoding is None:
            expected = ", ".join(_CODECS)
            raise InvalidMessageError(f"output_format.encoding: expected {expected}, got none")
        _check("encoding", made.encoding, tuple(_CODECS))
    if made.sample_rate is not None:
        _check("sample_rate", made.sample_rate, RATES_HZ)


def _check(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known:
        expected = ", ".join(map(str, known))
        raise InvalidValueError(
            f"output_format.{name}: expected one of {expected}, got {shown(value)}"
        )


def made_of(made: OutputFormat, engine_rate_hz: int) -> AudioFormat:
    """The packets of a checked format. Without a rate: the best that the engine's sound fills."""
    codec = Codec.PCM_S16LE if made.encoding is None else _CODECS[made.encoding]
    if made.container == "mp3":
        codec = Codec.PCM_S16LE
    best = max((rate for rate in RATES_HZ if rate <= engine_rate_hz), default=RATES_HZ[0])
    return AudioFormat(codec, made.sample_rate or best)
