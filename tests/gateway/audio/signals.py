"""Signals and measures that the audio tests share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from gateway.audio import Chain, OpusDecoder
from gateway.audio.constants import Samples
from gateway.audio.g711 import decode_alaw, decode_mulaw
from gateway.audio.pcm import from_int16
from gateway.types import AudioFormat, Codec, Packet

FORMATS = [
    *(AudioFormat(frame_ms=ms) for ms in (10, 20, 40, 60)),
    AudioFormat(fec=True, dtx=True),
    *(AudioFormat(Codec.PCM_S16LE, r) for r in (8_000, 16_000, 22_050, 24_000, 44_100, 48_000)),
    AudioFormat(Codec.PCM_F32LE, 24_000),
    AudioFormat(Codec.MULAW, 8_000),
    AudioFormat(Codec.ALAW, 8_000, frame_ms=60),
]
FORMAT_IDS = [f"{f.codec.value}-{f.sample_rate_hz}-{f.frame_ms}{'-fec' * f.fec}" for f in FORMATS]
PCM = AudioFormat(Codec.PCM_F32LE, 44_100)
all_formats = pytest.mark.parametrize("audio_format", FORMATS, ids=FORMAT_IDS)


def sine(rate_hz: int, seconds: float, hz: float = 220.0, level: float = 0.5) -> Samples:
    t = np.arange(round(rate_hz * seconds)) / rate_hz
    return (level * np.sin(2 * np.pi * hz * t)).astype(np.float32)


def noise(rate_hz: int, seconds: float, seed: int = 0, level: float = 0.1) -> Samples:
    rng = np.random.default_rng(seed)
    return (level * rng.standard_normal(round(rate_hz * seconds))).astype(np.float32)


def speech_like(rate_hz: int, seconds: float, seed: int = 0) -> Samples:
    """Gliding harmonics under syllable-shaped envelopes, with a breath of noise."""
    rng = np.random.default_rng(seed)
    n = round(rate_hz * seconds)
    t = np.arange(n) / rate_hz
    f0 = 120 + 30 * np.sin(2 * np.pi * 0.7 * t + rng.uniform(0, 6))
    phase = 2 * np.pi * np.cumsum(f0) / rate_hz
    voice = sum(np.sin(k * phase + rng.uniform(0, 6)) / k for k in range(1, 20))
    syllables = np.clip(np.sin(2 * np.pi * 2.2 * t), 0.02, None)
    breath = 0.01 * rng.standard_normal(n)
    return (0.2 * syllables * (voice + breath)).astype(np.float32)


def silence(rate_hz: int, seconds: float) -> Samples:
    return np.zeros(round(rate_hz * seconds), np.float32)


def chunked(samples: Samples, sizes: Iterable[int]) -> Iterator[Samples]:
    """Cut into pieces of these sizes; the rest is the last piece."""
    at = 0
    for size in sizes:
        yield samples[at : at + size]
        at += size
    yield samples[at:]


def largest_jump(samples: Samples) -> float:
    return float(np.abs(np.diff(samples)).max()) if len(samples) > 1 else 0.0


def drain(chain: Chain) -> list[Packet]:
    packets = []
    while (packet := chain.pull()) is not None:
        packets.append(packet)
    return packets


def speak(
    chain: Chain, segments: Iterable[Samples], chunk_samples: int = 2048, pull: bool = True
) -> list[Packet]:
    """Push the segments in chunks, pulling in between, and finish."""
    packets = []
    for segment in segments:
        chain.begin_segment()
        for at in range(0, len(segment), chunk_samples):
            chain.push(segment[at : at + chunk_samples].tobytes())
            if pull:
                packets += drain(chain)
        chain.end_segment()
    chain.finish()
    return packets + drain(chain)


def decoded(audio_format: AudioFormat, packets: list[Packet], pre_skip: int = 0) -> Samples:
    """What a listener hears: packets decoded, pre-skip dropped, end trimmed."""
    opus = OpusDecoder() if audio_format.codec is Codec.OPUS else None
    parts = []
    for packet in packets:
        if opus is not None:
            samples = opus.decode(packet.payload)
            assert len(samples) == audio_format.frame_samples
        elif audio_format.codec is Codec.PCM_S16LE:
            samples = from_int16(np.frombuffer(packet.payload, "<i2"))
        elif audio_format.codec is Codec.PCM_F32LE:
            samples = np.frombuffer(packet.payload, "<f4")
        elif audio_format.codec is Codec.MULAW:
            samples = decode_mulaw(packet.payload)
        else:
            samples = decode_alaw(packet.payload)
        if opus is None:
            assert len(samples) == packet.duration_samples
        parts.append(samples[: packet.duration_samples])
    return np.concatenate([*parts, np.zeros(0, np.float32)])[pre_skip:]


def check_time_line(packets: list[Packet]) -> int:
    """Packets follow each other without gap or overlap; returns the end."""
    position = 0
    for packet in packets:
        assert packet.start_samples == position
        assert packet.duration_samples > 0
        position += packet.duration_samples
    return position
