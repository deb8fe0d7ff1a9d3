from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.audio.constants import STARTUP_MS, samples_of, scale_position
from gateway.audio.resample import Resampler
from tests.gateway.audio.signals import chunked, noise, sine

ENGINE_RATES = [22_050, 24_000, 44_100]
OUT_RATES = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]
PAIRS = [(i, o) for i in ENGINE_RATES for o in OUT_RATES]


def resample(samples: np.ndarray, in_hz: int, out_hz: int, sizes: list[int]) -> np.ndarray:
    resampler = Resampler(in_hz, out_hz)
    out = [resampler.push(piece) for piece in chunked(samples, sizes)]
    return np.concatenate([*out, resampler.finish()])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PAIRS), st.lists(st.integers(0, 4_000), max_size=12), st.integers(0, 20_000))
def test_chunks_equal_the_whole_and_the_length_is_exact(
    pair: tuple[int, int], sizes: list[int], length: int
) -> None:
    samples = noise(44_100, 1.0)[:length]
    whole = resample(samples, *pair, [])
    assert len(whole) == scale_position(length, *pair)
    assert np.array_equal(whole, resample(samples, *pair, sizes))


@pytest.mark.parametrize(("in_hz", "out_hz"), PAIRS)
def test_a_tone_stays_in_tune_and_in_time(in_hz: int, out_hz: int) -> None:
    got = resample(sine(in_hz, 0.4, 440.0), in_hz, out_hz, [2048] * 10)
    want = sine(out_hz, 0.4, 440.0)
    inside = slice(out_hz // 20, -out_hz // 20)
    assert np.abs(got[inside] - want[inside]).max() < 5e-4


@pytest.mark.parametrize(("in_hz", "out_hz"), PAIRS)
def test_a_packet_is_ready_within_one_engine_frame(in_hz: int, out_hz: int) -> None:
    ready = Resampler(in_hz, out_hz).push(noise(in_hz, STARTUP_MS / 1000))
    assert len(ready) >= samples_of(20, out_hz)


def test_nothing_above_the_lower_band_folds_back() -> None:
    got = resample(sine(44_100, 0.5, 5_000.0), 44_100, 8_000, [])
    assert np.abs(got[400:-400]).max() < 1e-4


def test_equal_rates_change_nothing() -> None:
    samples = noise(24_000, 0.3)
    assert np.array_equal(resample(samples, 24_000, 24_000, [7, 100]), samples)


def test_an_unusual_rate_is_exact_too() -> None:
    assert len(resample(noise(44_100, 0.3), 44_100, 11_111, [500])) == 3_333


def test_bad_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="expected positive, got 0"):
        Resampler(0, 8_000)
