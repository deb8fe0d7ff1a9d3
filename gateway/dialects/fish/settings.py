"""Fish Audio's request as settings of ours."""

from __future__ import annotations

from gateway.dialects import Opening
from gateway.dialects.fish.messages import Request
from gateway.errors import InvalidValueError
from gateway.types import (
    AudioFormat,
    Codec,
    Container,
    FileFormat,
    SamplingSettings,
    SettingsPatch,
)

MEDIA_TYPES = {"mp3": "audio/mpeg", "wav": "audio/wav", "pcm": "audio/pcm", "opus": "audio/ogg"}

_CONTAINERS = {
    "mp3": Container.MP3,
    "wav": Container.WAV,
    "pcm": Container.RAW,
    "opus": Container.OGG,
}
_RATE_HZ = 44_100
_MP3_RATES_HZ = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_MP3_KBPS, _LOW_RATE_KBPS = 128, 160  # the default; the most below 32 kHz
_OPUS_KBPS, _OPUS_AUTO_KBPS = 32, 48
# What the SDK sends when its user said nothing: then the checkpoint's own defaults are better.
_UNSAID = 0.7


def format_of(request: Request) -> str:
    """The name of the output format."""
    return request.format or "mp3"


def file_of(request: Request) -> FileFormat:
    """How the sound is packed."""
    name = format_of(request)
    if name != "mp3":
        return FileFormat(_CONTAINERS[name])
    kbps = min(max(request.mp3_bitrate or _MP3_KBPS, 8), 320)
    if _rate_hz(request) < 32_000:
        kbps = min(kbps, _LOW_RATE_KBPS)
    return FileFormat(Container.MP3, 1000 * kbps)


def settings_of(request: Request, opening: Opening) -> SettingsPatch:
    """Raises InvalidValueError for what this gateway does not have."""
    reference = request.reference_id
    name = reference[0] if isinstance(reference, list) and reference else reference
    if request.references and not name:
        raise InvalidValueError("references: expected none, or a reference_id of a known voice")
    speed = request.prosody.speed if request.prosody is not None else None
    return SettingsPatch(
        voice=opening.voices.resolve(name if isinstance(name, str) else ""),
        format=_format(request),
        sampling=SamplingSettings(_said(request.temperature), _said(request.top_p)),
        normalize=request.normalize,
        speed=1.0 if speed is None else speed,
        lead_ms=0,  # the vendor sends as fast as it makes, and its clients keep what is early
    )


def _said(value: float | None) -> float | None:
    return None if value == _UNSAID else value


def _format(request: Request) -> AudioFormat:
    if format_of(request) == "opus":
        kbps = request.opus_bitrate or _OPUS_KBPS
        kbps = _OPUS_AUTO_KBPS if kbps < 0 else min(max(kbps, 6), 256)
        return AudioFormat(Codec.OPUS, bitrate_bps=1000 * kbps)
    return AudioFormat(Codec.PCM_S16LE, _rate_hz(request))


def _rate_hz(request: Request) -> int:
    rate_hz = request.sample_rate or _RATE_HZ
    if format_of(request) == "mp3" and rate_hz not in _MP3_RATES_HZ:
        known = ", ".join(map(str, _MP3_RATES_HZ))
        raise InvalidValueError(f"sample_rate: expected one of {known} for mp3, got {rate_hz}")
    return rate_hz
