from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.audio.speed import Stretcher, stretched_position
from tests.gateway.audio.signals import chunked, largest_jump, noise, sine, speech_like

RATE = 44_100
SPEEDS = [0.25, 0.4, 0.5, 0.8, 0.95, 1.05, 1.25, 1.5, 2.0, 3.0, 4.0]


def stretch(samples: np.ndarray, speed: float, sizes: list[int], rate_hz: int = RATE) -> np.ndarray:
    stretcher = Stretcher(rate_hz, speed)
    out = [stretcher.push(piece) for piece in chunked(samples, sizes)]
    return np.concatenate([*out, stretcher.finish()])


def pitch_hz(samples: np.ndarray, rate_hz: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 8 * len(samples)))
    return float(spectrum.argmax()) * rate_hz / (8 * len(samples))


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(SPEEDS),
    st.lists(st.integers(0, 5_000), max_size=10),
    st.integers(0, 40_000),
    st.booleans(),
)
@example(0.8, [400], 721, True)
def test_chunks_equal_the_whole_and_the_length_is_exact(
    speed: float, sizes: list[int], length: int, speech: bool
) -> None:
    samples = (speech_like(RATE, 1.0, length) if speech else noise(RATE, 1.0))[:length]
    whole = stretch(samples, speed, [])
    assert len(whole) == stretched_position(length, speed)
    assert np.array_equal(whole, stretch(samples, speed, sizes))


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("rate_hz", [22_050, 24_000, 44_100])
def test_pitch_stays(speed: float, rate_hz: int) -> None:
    got = stretch(sine(rate_hz, 1.0, 220.0), speed, [2048] * 20, rate_hz)
    inside = got[rate_hz // 10 : -rate_hz // 10]
    assert abs(pitch_hz(inside, rate_hz) - 220.0) < 2.0
    assert abs(float(np.sqrt(np.mean(inside**2))) / (0.5 / 2**0.5) - 1) < 0.1


@pytest.mark.parametrize("speed", SPEEDS)
def test_no_clicks(speed: float) -> None:
    tone = sine(RATE, 1.0, 220.0)
    assert largest_jump(stretch(tone, speed, [])[: -RATE // 10]) < 1.5 * largest_jump(tone)


@pytest.mark.parametrize("speed", SPEEDS)
def test_events_are_where_positions_say(speed: float) -> None:
    words = speech_like(RATE, 3.0)
    words[RATE : 2 * RATE] = 0.0
    got = np.abs(stretch(words, speed, []))
    quiet = np.flatnonzero(np.convolve(got, np.ones(2_000), "valid") < 1e-3)
    tolerance = RATE * 0.06 / min(1.0, speed)
    assert abs(quiet[0] - stretched_position(RATE, speed)) < tolerance
    assert abs(quiet[-1] + 2_000 - stretched_position(2 * RATE, speed)) < tolerance


def test_normal_speed_changes_nothing() -> None:
    samples = noise(RATE, 0.3)
    assert np.array_equal(stretch(samples, 1.0, [100, 2048]), samples)


@pytest.mark.parametrize("speed", [0.24, 4.01, 0.0, -1.0, float("nan")])
def test_other_speeds_are_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="speed: expected 0.25 to 4.0, got"):
        Stretcher(RATE, speed)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux")
def test_a_stretcher_starts_no_threads() -> None:
    allowed = os.sched_getaffinity(0)
    before = len(os.listdir("/proc/self/task"))
    stretchers = [Stretcher(RATE, 1.5) for _ in range(10)]
    assert len(os.listdir("/proc/self/task")) == before
    assert len(stretchers) == 10 and os.sched_getaffinity(0) == allowed
