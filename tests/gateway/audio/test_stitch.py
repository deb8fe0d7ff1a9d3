from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.audio.constants import (
    CROSSFADE_MS,
    FIRST_PAUSE_MS,
    ONSET_MS,
    PAUSE_MS,
    SILENCE_PEAK,
    samples_of,
)
from gateway.audio.stitch import Stitcher
from tests.gateway.audio.signals import chunked, largest_jump, noise, silence, sine, speech_like

RATE = 44_100
HOLD, PAUSE, ONSET, FIRST = (
    samples_of(ms, RATE) for ms in (CROSSFADE_MS, PAUSE_MS, ONSET_MS, FIRST_PAUSE_MS)
)


def stitch(segments: list[np.ndarray], sizes: list[int]) -> tuple[np.ndarray, Stitcher]:
    stitcher, out = Stitcher(RATE), []
    for segment in segments:
        out.append(stitcher.begin())
        out += [stitcher.push(piece) for piece in chunked(segment, sizes)]
        out.append(stitcher.end())
    out.append(stitcher.close())
    return np.concatenate(out), stitcher


def loud_span(line: np.ndarray) -> tuple[int, int]:
    loud = np.flatnonzero(np.abs(line) > SILENCE_PEAK)
    return int(loud[0]), int(loud[-1]) + 1


parts = st.lists(
    st.tuples(st.sampled_from(["sound", "silence"]), st.integers(0, 20_000)), max_size=4
)


def build(spec: list[tuple[str, int]]) -> np.ndarray:
    out = [np.zeros(0, np.float32)]
    for seed, (kind, length) in enumerate(spec):
        out.append(
            noise(RATE, 1.0, seed)[:length] if kind == "sound" else silence(RATE, length / RATE)
        )
    return np.concatenate(out)


@settings(max_examples=60, deadline=None)
@given(st.lists(parts, min_size=1, max_size=3), st.lists(st.integers(0, 5_000), max_size=10))
def test_chunks_equal_the_whole(specs: list[list[tuple[str, int]]], sizes: list[int]) -> None:
    segments = [build(spec) for spec in specs]
    whole, stitcher = stitch(segments, [])
    pieces, _ = stitch(segments, sizes)
    assert len(whole) == stitcher.length
    assert np.array_equal(whole, pieces)


@settings(max_examples=60, deadline=None)
@given(st.lists(parts, min_size=1, max_size=3), st.lists(st.integers(0, 5_000), max_size=10))
def test_positions_never_run_backwards_and_never_change(
    specs: list[list[tuple[str, int]]], sizes: list[int]
) -> None:
    segments = [build(spec) for spec in specs]
    stitcher = Stitcher(RATE)
    answers: dict[tuple[int, int], int] = {}
    asked = [(i, s) for i, seg in enumerate(segments) for s in range(0, len(seg) + 1, 997)]

    def ask() -> None:
        for key in asked:
            place = stitcher.position(*key)
            if place is not None:
                assert answers.setdefault(key, place) == place

    for segment in segments:
        stitcher.begin()
        for piece in chunked(segment, sizes):
            stitcher.push(piece)
            ask()
        stitcher.end()
        ask()
    stitcher.close()
    ask()
    places = [answers[key] for key in asked]
    assert places == sorted(places)
    assert all(0 <= place <= stitcher.length for place in places)


def test_a_sample_is_where_its_position_says() -> None:
    first = np.concatenate([silence(RATE, 0.2), speech_like(RATE, 0.5), silence(RATE, 1.0)])
    second = np.concatenate([silence(RATE, 0.5), noise(RATE, 0.3, 5)])
    line, stitcher = stitch([first, second], [])
    for index, segment, at in [(0, first, 20_000), (0, first, 12_345), (1, second, 30_000)]:
        place = stitcher.position(index, at)
        assert place is not None
        assert np.array_equal(line[place : place + 500], segment[at : at + 500])


def test_silence_of_one_engine_frame_goes_out_at_once() -> None:
    stitcher = Stitcher(RATE)
    stitcher.begin()
    assert len(stitcher.push(np.zeros(2048, np.float32))) == 2048 - HOLD


def test_long_silence_before_the_first_sound_is_trimmed_and_the_onset_kept() -> None:
    onset = np.linspace(0, SILENCE_PEAK * 0.9, ONSET - 100, dtype=np.float32)
    sound = np.concatenate([onset, sine(RATE, 0.3)])
    line, _ = stitch([np.concatenate([silence(RATE, 2.0), sound])], [])
    start, source = loud_span(line)[0], loud_span(sound)[0]
    assert start == FIRST + ONSET - HOLD
    kept = ONSET - HOLD  # the rest of the onset is crossfaded with the silence before it
    assert np.array_equal(line[start - kept : -1_000], sound[source - kept : -1_000])


def test_long_silence_after_the_last_sound_is_cut_to_a_pause() -> None:
    line, _ = stitch([np.concatenate([sine(RATE, 0.3), silence(RATE, 3.0)])], [])
    assert abs(len(line) - loud_span(line)[1] - PAUSE) <= 2


def test_a_pause_inside_a_segment_is_the_speakers() -> None:
    segment = np.concatenate([sine(RATE, 0.3), silence(RATE, 2.0), sine(RATE, 0.3)])
    line, _ = stitch([segment], [])
    assert len(line) == len(segment)
    assert np.array_equal(line[200:-300], segment[200:-300])


@pytest.mark.parametrize(("after", "before"), [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.1, 0.25)])
def test_between_two_segments_stays_one_natural_pause(after: float, before: float) -> None:
    tone = sine(RATE, 0.3, 441.0)
    line, _ = stitch(
        [
            np.concatenate([tone, silence(RATE, after)]),
            np.concatenate([silence(RATE, before), tone]),
        ],
        [],
    )
    loud = np.flatnonzero(np.abs(line) > SILENCE_PEAK)
    gap = int(np.diff(loud).max())
    assert gap <= PAUSE + ONSET
    assert gap >= min(PAUSE, (after + before) * RATE) - HOLD


def test_no_natural_pause_is_added() -> None:
    a, b = noise(RATE, 0.2, 1), noise(RATE, 0.2, 2)
    line, stitcher = stitch([a, b], [])
    assert len(line) == len(a) + len(b) - HOLD
    assert stitcher.segment_start(1) == len(a)
    assert stitcher.segment_start(2) is None


@pytest.mark.parametrize("make", [noise, speech_like], ids=["noise", "speech"])
def test_across_a_seam_no_larger_jump_than_inside(make) -> None:  # type: ignore[no-untyped-def]
    for seed in range(20):
        a, b = make(RATE, 0.31, seed), make(RATE, 0.27, seed + 100)
        line, _ = stitch([a, b], [])
        seam = line[len(a) - HOLD - 2 : len(a) + 2]
        assert largest_jump(seam) <= max(largest_jump(a), largest_jump(b))


@pytest.mark.parametrize("hz", [60.0, 220.0, 1000.0])
@pytest.mark.parametrize("cut", range(6_000, 6_200, 23))
def test_across_a_seam_in_a_tone_no_larger_jump_than_inside(hz: float, cut: int) -> None:
    tone = sine(RATE, 0.3, hz)
    line, _ = stitch([tone[:cut], tone[cut - HOLD :]], [])
    assert largest_jump(line[cut - HOLD - 2 : cut + 2]) <= largest_jump(tone) * 1.001


def test_tones_of_opposite_phase_are_not_torn() -> None:
    tone = sine(RATE, 0.3)
    line, _ = stitch([tone, -tone], [])
    assert largest_jump(line) < 1.5 * largest_jump(tone)


def test_exact_silence_between_segments() -> None:
    stitcher, tone = Stitcher(RATE), sine(RATE, 0.2)
    out = [stitcher.begin(), stitcher.push(tone), stitcher.end(), stitcher.silence(4_410)]
    out += [stitcher.begin(), stitcher.push(tone), stitcher.end(), stitcher.close()]
    line = np.concatenate(out)
    assert len(line) == 2 * len(tone) + 4_410 == stitcher.length
    assert not line[len(tone) : len(tone) + 4_410].any()
    assert largest_jump(line) <= 1.3 * largest_jump(tone)
    assert stitcher.segment_start(1) == len(tone) + 4_410


def test_a_silent_segment_leaves_at_most_a_pause() -> None:
    line, stitcher = stitch([silence(RATE, 5.0)], [])
    assert len(line) == FIRST
    assert stitcher.position(0, 5 * RATE) == FIRST
    tone = sine(RATE, 0.2)
    line, _ = stitch([tone, silence(RATE, 5.0), silence(RATE, 5.0), tone], [])
    assert len(line) <= 2 * len(tone) + PAUSE + ONSET


def test_calls_out_of_order_are_refused() -> None:
    stitcher = Stitcher(RATE)
    with pytest.raises(ValueError, match="begin_segment"):
        stitcher.push(np.zeros(1, np.float32))
    with pytest.raises(ValueError, match="begin_segment"):
        stitcher.end()
    stitcher.begin()
    with pytest.raises(ValueError, match="end_segment"):
        stitcher.begin()
    with pytest.raises(ValueError, match="end_segment"):
        stitcher.silence(1)
