"""mu-law and A-law (ITU-T G.711) by table: 16-bit samples to bytes and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gateway.audio.constants import Samples
from gateway.audio.pcm import from_int16, to_int16

Bytes = NDArray[np.uint8]

# Silence is not 0x00, which is the loudest negative value in mu-law.
MULAW_SILENCE = 0xFF
ALAW_SILENCE = 0xD5

_MULAW_BIAS = 33 << 2  # 14-bit bias at 16-bit scale
_MULAW_CLIP = (8_158 << 2) + 3


def _magnitude(values: NDArray[np.int32]) -> NDArray[np.int32]:
    # Negative values are counted from -1, as in ITU-T G.191: both signs have as many codes.
    return np.where(values < 0, ~values, values)


def _mulaw_bytes(values: NDArray[np.int32]) -> Bytes:
    magnitude = np.minimum(_magnitude(values), _MULAW_CLIP) + _MULAW_BIAS
    exponent = np.floor(np.log2(magnitude)).astype(np.int32) - 7  # 8 chords, from 2^7 on
    mantissa = (magnitude >> (exponent + 3)) & 0x0F
    sign = np.where(values < 0, 0x80, 0)
    return np.asarray(~(sign | exponent << 4 | mantissa) & 0xFF, np.uint8)


def _alaw_bytes(values: NDArray[np.int32]) -> Bytes:
    magnitude = _magnitude(values) >> 3  # 13 bits
    exponent = np.maximum(np.floor(np.log2(np.maximum(magnitude, 1))).astype(np.int32) - 4, 0)
    mantissa = (magnitude >> np.maximum(exponent, 1)) & 0x0F
    sign = np.where(values < 0, 0, 0x80)
    return np.asarray((sign | exponent << 4 | mantissa) ^ 0x55, np.uint8)


def _mulaw_values() -> NDArray[np.int16]:
    code = ~np.arange(256) & 0xFF
    exponent, mantissa = code >> 4 & 0x07, code & 0x0F
    magnitude = ((mantissa << 3) + _MULAW_BIAS << exponent) - _MULAW_BIAS
    return np.where(code & 0x80, -magnitude, magnitude).astype(np.int16)


def _alaw_values() -> NDArray[np.int16]:
    code = np.arange(256) ^ 0x55
    exponent, mantissa = code >> 4 & 0x07, code & 0x0F
    low = (mantissa << 4) + 8  # middle of the step
    magnitude = np.where(exponent, low + 0x100 << np.maximum(exponent - 1, 0), low)
    return np.where(code & 0x80, magnitude, -magnitude).astype(np.int16)


_EVERY_INT16 = np.arange(65_536).astype(np.uint16).view(np.int16).astype(np.int32)
_MULAW_TABLE = _mulaw_bytes(_EVERY_INT16)
_ALAW_TABLE = _alaw_bytes(_EVERY_INT16)
_MULAW_VALUES = _mulaw_values()
_ALAW_VALUES = _alaw_values()


def encode_mulaw(samples: Samples) -> bytes:
    """One byte a sample."""
    return _MULAW_TABLE[to_int16(samples).view(np.uint16)].tobytes()


def encode_alaw(samples: Samples) -> bytes:
    """One byte a sample."""
    return _ALAW_TABLE[to_int16(samples).view(np.uint16)].tobytes()


def decode_mulaw(payload: bytes) -> Samples:
    """float32 samples."""
    return from_int16(_MULAW_VALUES[np.frombuffer(payload, np.uint8)])


def decode_alaw(payload: bytes) -> Samples:
    """float32 samples."""
    return from_int16(_ALAW_VALUES[np.frombuffer(payload, np.uint8)])
