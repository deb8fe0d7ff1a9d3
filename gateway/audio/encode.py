"""The last link: samples at the output rate -> one packet's payload, for every codec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from gateway.audio.constants import Samples
from gateway.audio.g711 import encode_alaw, encode_mulaw
from gateway.audio.opus import OpusEncoder
from gateway.audio.pcm import to_int16
from gateway.types import AudioFormat, Codec

RATE_MIN_HZ, RATE_MAX_HZ = 8_000, 48_000


class PacketEncoder(Protocol):
    """A stream's encoder."""

    @property
    def pre_skip_samples(self) -> int:
        """Samples a decoder puts out before the stream's first."""
        ...

    def encode(self, samples: Samples) -> bytes:
        """The payload of one frame; only the last may be shorter than the format's."""
        ...


class SampleEncoder:
    """Codecs that turn each sample into bytes by itself: no state, no delay, no padding."""

    pre_skip_samples = 0

    def __init__(self, encode: Callable[[Samples], bytes]) -> None:
        self.encode = encode


class OpusPackets:
    """Opus; a short last frame is padded with silence."""

    def __init__(self, audio_format: AudioFormat) -> None:
        self._encoder = OpusEncoder(audio_format)
        self.pre_skip_samples = self._encoder.lookahead_samples

    def encode(self, samples: Samples) -> bytes:
        """One packet."""
        missing = self._encoder.frame_samples - len(samples)
        if missing:
            samples = np.concatenate((samples, np.zeros(missing, np.float32)))
        return self._encoder.encode(samples)


def _encode_s16le(samples: Samples) -> bytes:
    return to_int16(samples).tobytes()


def _encode_f32le(samples: Samples) -> bytes:
    return samples.astype("<f4", copy=False).tobytes()


_SAMPLE_CODECS: dict[Codec, Callable[[Samples], bytes]] = {
    Codec.PCM_S16LE: _encode_s16le,
    Codec.PCM_F32LE: _encode_f32le,
    Codec.MULAW: encode_mulaw,
    Codec.ALAW: encode_alaw,
}


def make_encoder(audio_format: AudioFormat) -> PacketEncoder:
    """The encoder of a new stream.

    Raises:
        ValueError: a setting is out of its range.
    """
    if audio_format.codec is Codec.OPUS:
        return OpusPackets(audio_format)
    if not RATE_MIN_HZ <= audio_format.sample_rate_hz <= RATE_MAX_HZ:
        raise ValueError(
            f"sample_rate_hz: expected {RATE_MIN_HZ} to {RATE_MAX_HZ}, "
            f"got {audio_format.sample_rate_hz}"
        )
    if audio_format.frame_samples < 1:
        raise ValueError(f"frame_ms: expected 1 or more, got {audio_format.frame_ms}")
    return SampleEncoder(_SAMPLE_CODECS[audio_format.codec])
