from __future__ import annotations

import av
import numpy as np
import pytest

from gateway.audio.g711 import (
    ALAW_SILENCE,
    MULAW_SILENCE,
    decode_alaw,
    decode_mulaw,
    encode_alaw,
    encode_mulaw,
)
from gateway.audio.pcm import from_int16, to_int16

EVERY = np.arange(-32768, 32768).astype(np.int16)
EVERY_BYTE = bytes(range(256))


def reference_decoded(codec: str) -> np.ndarray:
    context = av.CodecContext.create(codec, "r")
    context.sample_rate, context.layout = 8_000, "mono"
    return np.concatenate([f.to_ndarray()[0] for f in context.decode(av.Packet(EVERY_BYTE))])


@pytest.mark.parametrize(
    ("codec", "decode"), [("pcm_mulaw", decode_mulaw), ("pcm_alaw", decode_alaw)]
)
def test_every_byte_decodes_as_the_reference_does(codec, decode) -> None:  # type: ignore[no-untyped-def]
    assert np.array_equal(to_int16(decode(EVERY_BYTE)), reference_decoded(codec))


@pytest.mark.filterwarnings("ignore:'audioop' is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "encode"), [("lin2ulaw", encode_mulaw), ("lin2alaw", encode_alaw)]
)
def test_encoding_is_the_standards(name, encode) -> None:  # type: ignore[no-untyped-def]
    audioop = pytest.importorskip("audioop")  # gone from Python 3.13 on
    positive, negative = from_int16(EVERY[EVERY >= 0]), from_int16(~EVERY[EVERY >= 0])
    assert encode(positive) == getattr(audioop, name)(EVERY[EVERY >= 0].tobytes(), 2)
    # both signs have the same codes but for one bit
    assert encode(negative) == bytes(byte ^ 0x80 for byte in encode(positive))


@pytest.mark.parametrize(
    ("encode", "decode"), [(encode_mulaw, decode_mulaw), (encode_alaw, decode_alaw)]
)
def test_codes_come_back_and_are_monotonic(encode, decode) -> None:  # type: ignore[no-untyped-def]
    values = decode(EVERY_BYTE)
    assert np.array_equal(decode(encode(values)), values)
    assert np.all(np.diff(decode(encode(from_int16(EVERY)))) >= 0)


def test_known_values() -> None:
    values = from_int16(np.array([0, 32767, -32768, 1000, -1000], np.int16))
    assert encode_mulaw(values).hex() == "ff8000ce4e"
    assert encode_alaw(values).hex() == "d5aa2afa7a"
    assert decode_mulaw(bytes([MULAW_SILENCE])).tolist() == [0.0]
    assert abs(decode_alaw(bytes([ALAW_SILENCE]))[0]) <= 8 / 32768
    assert decode_mulaw(b"\0")[0] < -0.97  # the byte that must never stand for silence
