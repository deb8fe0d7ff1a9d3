from __future__ import annotations

import io
from pathlib import Path

import av
import numpy as np
import pytest

from engine.codec.audio import load_reference
from engine.errors import AudioError
from tests.engine.codec.test_encoder import read_wav
from tests.golden_data import GOLDEN

SHORT = GOLDEN / "audio_ref_short_44k1.wav"  # 0.88 s


@pytest.mark.parametrize("name", ["audio_ref_short_44k1.wav", "audio_ref_stereo_24k.wav"])
def test_wav_bytes_and_path(name: str) -> None:
    expected, rate_hz = read_wav(name)
    for source in ((GOLDEN / name).read_bytes(), GOLDEN / name, str(GOLDEN / name)):
        samples, rate = load_reference(source, 0.1, 10)
        assert rate == rate_hz
        assert samples.dtype == np.float32
        np.testing.assert_allclose(samples, expected, rtol=0, atol=1e-7)


def _compressed(container: str, codec: str, seconds: float) -> bytes:
    file = io.BytesIO()
    tone = (np.sin(np.arange(int(48000 * seconds)) * 0.05) * 8000).astype(np.int16)
    with av.open(file, "w", format=container) as output:
        stream = output.add_stream(codec, rate=48000, layout="mono")
        frame = av.AudioFrame.from_ndarray(tone[None], format="s16", layout="mono")
        frame.sample_rate = 48000
        for packet in (*stream.encode(frame), *stream.encode(None)):
            output.mux(packet)
    return file.getvalue()


@pytest.mark.parametrize(("container", "codec"), [("ogg", "libopus"), ("flac", "flac")])
def test_other_containers(container: str, codec: str) -> None:
    samples, rate_hz = load_reference(_compressed(container, codec, 1.0), 0.5, 10)
    assert rate_hz == 48000
    assert samples.size == pytest.approx(48000, abs=1000)
    assert 0.1 < np.abs(samples).max() < 0.5


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"", "expected a readable recording, got: Invalid data"),
        (b"this is no recording at all, but long enough to probe" * 100, "Invalid data"),
        (SHORT.read_bytes()[:44], "expected at least 0.5 s of sound, got 0.00 s"),
        (SHORT.read_bytes()[:20000], "expected at least 0.5 s of sound, got 0.23 s"),
        (Path("/does/not/exist.wav"), "expected a readable recording, got: No such file"),
    ],
)
def test_bad_uploads(source: bytes | Path, message: str) -> None:
    with pytest.raises(AudioError, match=message):
        load_reference(source, 0.5, 10)


def test_limits() -> None:
    with pytest.raises(AudioError, match=r"expected at least 1 s of sound, got 0\.88 s"):
        load_reference(SHORT, 1, 10)
    with pytest.raises(AudioError, match=r"expected at most 0\.5 s of sound"):
        load_reference(SHORT, 0.1, 0.5)
    assert load_reference(SHORT, 0.88, 0.89)[0].size == 39000


def test_a_film_without_sound() -> None:
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as output:
        stream = output.add_stream("mpeg4", rate=5)
        stream.width = stream.height = 16
        frame = av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8), format="rgb24")
        for packet in (*stream.encode(frame), *stream.encode(None)):
            output.mux(packet)
    with pytest.raises(AudioError, match="got a file without an audio stream"):
        load_reference(file.getvalue(), 0.5, 10)
