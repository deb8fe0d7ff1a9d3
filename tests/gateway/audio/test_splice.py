from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.audio.constants import CROSSFADE_MS, FADE_IN_MS, FADE_TAIL_MS, samples_of
from gateway.audio.splice import Splicer, crossfade, rising
from tests.gateway.audio.signals import chunked, largest_jump, noise, sine

RATE = 44_100
HOLD = samples_of(CROSSFADE_MS, RATE)


def splice(runs: list[np.ndarray], sizes: list[int]) -> tuple[np.ndarray, int]:
    splicer, out = Splicer(RATE), []
    for i, run in enumerate(runs):
        if i:
            out.append(splicer.cut())
        out += [splicer.append(piece) for piece in chunked(run, sizes)]
    out.append(splicer.close())
    return np.concatenate(out), splicer.length


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 900), min_size=1, max_size=5),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_chunks_equal_the_whole_and_the_length_is_exact(
    lengths: list[int], sizes: list[int]
) -> None:
    runs = [noise(RATE, 1.0, seed)[:n] for seed, n in enumerate(lengths)]
    whole, length = splice(runs, [])
    pieces, _ = splice(runs, sizes)
    assert len(whole) == length
    assert np.array_equal(whole, pieces)


def test_no_sample_is_lost_or_doubled_around_a_seam() -> None:
    a, b = noise(RATE, 0.1, 1), noise(RATE, 0.1, 2)
    line, length = splice([a, b], [])
    assert length == len(a) + len(b) - HOLD
    fade_in, fade_tail = samples_of(FADE_IN_MS, RATE), samples_of(FADE_TAIL_MS, RATE)
    assert np.array_equal(line[fade_in : len(a) - HOLD], a[fade_in:-HOLD])
    assert np.array_equal(line[len(a) : -fade_tail], b[HOLD:-fade_tail])


@pytest.mark.parametrize("cut", [2_000, 2_011, 2_057, 2_100])
def test_a_tone_cut_in_two_with_its_overlap_comes_back_whole(cut: int) -> None:
    tone = sine(RATE, 0.2)
    line, _ = splice([tone[:cut], tone[cut - HOLD :]], [])
    inside = slice(samples_of(FADE_IN_MS, RATE), -samples_of(FADE_TAIL_MS, RATE))
    assert len(line) == len(tone)
    assert np.abs(line[inside] - tone[inside]).max() < 1e-6


def test_power_is_constant_over_a_crossfade_of_unrelated_sounds() -> None:
    blends = [crossfade(noise(RATE, 0.005, i), noise(RATE, 0.005, 1000 + i)) for i in range(400)]
    power = np.mean(np.square(blends), axis=0) / 0.01
    assert np.abs(10 * np.log10(np.convolve(power, np.ones(20) / 20, "valid"))).max() < 1.0


def test_alike_sounds_do_not_swell() -> None:
    constant = np.full(HOLD, 0.8, np.float32)
    assert np.allclose(crossfade(constant, constant), 0.8, atol=1e-6)


def test_a_step_of_direct_current_is_spread_over_the_crossfade() -> None:
    low, high = np.full(4_000, -0.4, np.float32), np.full(4_000, 0.4, np.float32)
    line, _ = splice([low, high], [])
    assert largest_jump(line) < 0.025  # the step itself is 0.8


def test_starts_and_stops_at_zero() -> None:
    line, _ = splice([np.full(4_000, 0.5, np.float32)], [])
    assert abs(line[0]) < 1e-3 and abs(line[-1]) < 1e-3
    assert largest_jump(line) < 0.02


@pytest.mark.parametrize("length", [1, 5, HOLD - 1, HOLD, HOLD + 1])
def test_a_run_shorter_than_the_crossfade_does_not_click(length: int) -> None:
    low = sine(RATE, 0.1, 100.0)
    line, total = splice([low, np.full(length, 0.5, np.float32), low], [])
    assert len(line) == total
    assert largest_jump(line) < 0.05


def test_rising_is_a_smooth_way_from_0_to_1() -> None:
    ramp = rising(100)
    assert 0 < ramp[0] < 0.01 and 0.99 < ramp[-1] < 1
    assert np.all(np.diff(ramp) > 0)
    assert len(rising(0)) == 0
