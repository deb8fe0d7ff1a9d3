from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.codec.resample import resample
from tests.engine.codec.test_encoder import read_wav
from tests.golden_data import vectors


def test_matches_the_reference_s_resampler() -> None:
    mono = resample(*read_wav("audio_ref_stereo_24k.wav"), 44100)
    golden = vectors("codec_stereo24k_encode")["mono_resampled"]
    np.testing.assert_allclose(mono, golden, rtol=0, atol=1e-5)


@given(
    st.integers(1, 3000),
    st.sampled_from([8000, 11025, 16000, 22050, 44100, 44101, 48000, 96000, 192000]),
    st.sampled_from([22050, 24000, 44100]),
)
def test_length(samples: int, from_hz: int, to_hz: int) -> None:
    out = resample(np.ones(samples, np.float32), from_hz, to_hz)
    assert out.size == -(-samples * to_hz // from_hz)
    assert out.dtype == np.float32


@pytest.mark.parametrize("from_hz", [16000, 24000, 44101, 48000, 96000])
def test_a_tone_keeps_its_pitch_and_level(from_hz: int) -> None:
    hz, to_hz = 1000.0, 44100
    tone = np.sin(2 * np.pi * hz * np.arange(from_hz // 2) / from_hz).astype(np.float32)
    out = resample(tone, from_hz, to_hz)
    expected = np.sin(2 * np.pi * hz * np.arange(out.size) / to_hz)
    inner = slice(2000, -2000)
    np.testing.assert_allclose(out[inner], expected[inner], rtol=0, atol=2e-3)


def test_what_the_new_rate_cannot_hold_is_removed() -> None:
    tone = np.sin(2 * np.pi * 30000 * np.arange(48000) / 96000).astype(np.float32)
    assert np.abs(resample(tone, 96000, 44100)[500:-500]).max() < 0.01


def test_the_same_rate_changes_nothing() -> None:
    samples = np.arange(5, dtype=np.float32)
    assert resample(samples, 44100, 44100) is samples


def test_a_rate_below_one_is_an_error() -> None:
    with pytest.raises(ValueError, match="rates of at least 1 Hz, got 0 and 44100"):
        resample(np.ones(3, np.float32), 0, 44100)
