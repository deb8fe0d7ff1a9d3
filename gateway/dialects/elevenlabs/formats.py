"""ElevenLabs' output formats, by name: `codec_rate` or `codec_rate_kilobits`."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.types import AudioFormat, Codec, Container, FileFormat

DEFAULT_FORMAT = "mp3_44100_128"


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """The packets that are asked for, what they are packed into, and its media type."""

    packets: AudioFormat
    file: FileFormat
    media_type: str


_PCM_RATES_HZ = (8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_MP3 = (
    *((22_050, 32), (24_000, 48)),
    *((44_100, kbps) for kbps in (32, 64, 96, 128, 192)),
)
_OPUS_KBPS = (32, 64, 96, 128, 192)


def _pcm(rate_hz: int, container: Container, media_type: str) -> OutputFormat:
    return OutputFormat(AudioFormat(Codec.PCM_S16LE, rate_hz), FileFormat(container), media_type)


def _mp3(rate_hz: int, kbps: int) -> OutputFormat:
    packets = AudioFormat(Codec.PCM_S16LE, rate_hz)
    return OutputFormat(packets, FileFormat(Container.MP3, 1000 * kbps), "audio/mpeg")


def _opus(kbps: int) -> OutputFormat:
    packets = AudioFormat(Codec.OPUS, bitrate_bps=1000 * kbps)
    return OutputFormat(packets, FileFormat(Container.OGG), "audio/ogg")


def _phone(codec: Codec, media_type: str) -> OutputFormat:
    return OutputFormat(AudioFormat(codec), FileFormat(), media_type)


OUTPUT_FORMATS: dict[str, OutputFormat] = {
    **{f"mp3_{rate}_{kbps}": _mp3(rate, kbps) for rate, kbps in _MP3},
    **{f"pcm_{rate}": _pcm(rate, Container.RAW, "audio/pcm") for rate in _PCM_RATES_HZ},
    **{f"wav_{rate}": _pcm(rate, Container.WAV, "audio/wav") for rate in _PCM_RATES_HZ},
    **{f"opus_48000_{kbps}": _opus(kbps) for kbps in _OPUS_KBPS},
    "ulaw_8000": _phone(Codec.MULAW, "audio/basic"),
    "alaw_8000": _phone(Codec.ALAW, "audio/x-alaw-basic"),
}
