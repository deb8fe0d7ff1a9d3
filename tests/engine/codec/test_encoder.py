from __future__ import annotations

import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.codec.encoder import CHUNK_FRAMES, Encoder
from engine.codec.kernels import dense
from engine.errors import CheckpointError
from tests.engine.codec.conftest import SMALL, random_tensors, write_codec
from tests.golden_data import GOLDEN, TINY, vectors


def read_wav(name: str) -> tuple[NDArray[np.float32], int]:
    """Mono samples, read without the code under test."""
    with wave.open(str(GOLDEN / name)) as file:
        pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
        return pcm.reshape(-1, file.getnchannels()).mean(axis=1), file.getframerate()


@pytest.mark.parametrize(
    ("recording", "golden", "key"),
    [
        ("audio_ref_short_44k1.wav", "codec_short", "enc.codes"),
        ("audio_ref_long_44k1.wav", "codec_long_encode", "codes"),
        ("audio_ref_stereo_24k.wav", "codec_stereo24k_encode", "codes"),
    ],
)
def test_golden_codes(encoder: Encoder, recording: str, golden: str, key: str) -> None:
    codes = encoder.encode(*read_wav(recording))
    assert codes.dtype == np.uint16
    np.testing.assert_array_equal(codes, vectors(golden)[key].T)


def test_golden_codes_the_way_that_a_gpu_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch's own operations, none compiled or packed; here on a CPU."""
    monkeypatch.setattr(dense, "can_fuse", lambda device: False)
    monkeypatch.setattr(dense, "can_pack", lambda device: False)
    codes = Encoder.from_checkpoint(TINY).encode(*read_wav("audio_ref_long_44k1.wav"))
    np.testing.assert_array_equal(codes, vectors("codec_long_encode")["codes"].T)


def test_the_long_recording_spans_several_chunks_and_windows(encoder: Encoder) -> None:
    frames = vectors("codec_long_encode")["codes"].shape[1]
    assert frames > 2 * CHUNK_FRAMES
    assert frames * encoder.config.latent_steps > encoder.config.encoder_window


def test_encoding_is_causal(encoder: Encoder) -> None:
    samples, rate_hz = read_wav("audio_ref_long_44k1.wav")
    frames, frame = 40, encoder.config.frame_samples
    part = encoder.encode(samples[: frames * frame], rate_hz)
    np.testing.assert_array_equal(part, vectors("codec_long_encode")["codes"].T[:frames])


@pytest.mark.parametrize(("samples", "frames"), [(1, 1), (2048, 1), (2049, 2)])
def test_the_last_frame_is_padded(encoder: Encoder, samples: int, frames: int) -> None:
    assert encoder.encode(np.ones(samples, np.float32), 44100).shape == (frames, 10)


def test_other_sizes(small_codec: Path) -> None:
    encoder = Encoder.from_checkpoint(small_codec)
    rng = np.random.default_rng(0)
    codes = encoder.encode(rng.standard_normal(30000).astype(np.float32), SMALL.sample_rate_hz)
    assert codes.shape == (30, SMALL.n_codebooks)
    assert (codes < SMALL.codebook_sizes).all()
    assert len(np.unique(codes, axis=0)) > 1


def test_a_codec_without_an_encoder_says_so(tmp_path: Path) -> None:
    config = replace(SMALL, encoder_dim=0)
    write_codec(tmp_path, config, random_tensors(config))
    with pytest.raises(CheckpointError, match="to clone voices; got one without"):
        Encoder.from_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.zeros((2, 100), np.float32), r"expected mono samples \[n >= 1\], got shape \[2, 100\]"),
        (np.zeros(0, np.float32), r"got shape \[0\]"),
        (np.array([0.0, np.nan], np.float32), "expected finite samples"),
    ],
)
def test_bad_samples(encoder: Encoder, samples: NDArray[np.float32], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encoder.encode(samples, 44100)
