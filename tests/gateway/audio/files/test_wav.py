from __future__ import annotations

import io
import wave

import av
import numpy as np
import pytest

from gateway.audio.encode import make_encoder
from gateway.audio.files.wav import wav_header, wav_padding
from gateway.types import AudioFormat, Codec
from tests.gateway.audio.signals import noise

CODECS = [Codec.PCM_S16LE, Codec.PCM_F32LE, Codec.MULAW, Codec.ALAW]


def read(file: bytes) -> tuple[int, np.ndarray]:
    with av.open(io.BytesIO(file)) as container:
        frames = [frame.to_ndarray().ravel() for frame in container.decode(audio=0)]
        return container.streams.audio[0].rate, np.concatenate(frames)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("known", [True, False], ids=["exact", "streaming"])
@pytest.mark.parametrize("samples", [8_000, 8_001])
def test_ffmpeg_reads_every_codec(codec: Codec, known: bool, samples: int) -> None:
    sound = noise(8_000, 1.1)[:samples]
    data = make_encoder(AudioFormat(codec, 8_000)).encode(sound)
    file = wav_header(8_000, samples if known else None, codec) + data + wav_padding(samples, codec)
    rate, got = read(file)
    assert rate == 8_000
    if known:
        assert len(got) == samples
        assert len(file) % 2 == 0 and int.from_bytes(file[4:8], "little") == len(file) - 8
    else:
        assert samples <= len(got) <= samples + 1  # the padding is all that can be taken for more
    full_scale = 1.0 if codec is Codec.PCM_F32LE else 32_768.0
    assert np.abs(got[:samples] / full_scale - sound).max() < 0.02


def test_the_standard_library_reads_the_exact_header() -> None:
    with wave.open(io.BytesIO(wav_header(24_000, 3) + bytes(6))) as file:
        assert (file.getframerate(), file.getnframes(), file.getsampwidth()) == (24_000, 3, 2)


def test_opus_and_giants_are_refused() -> None:
    with pytest.raises(ValueError, match="got opus"):
        wav_header(48_000, None, Codec.OPUS)
    with pytest.raises(ValueError, match="4 GiB"):
        wav_header(48_000, 2**31)
