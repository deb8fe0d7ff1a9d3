"""Contexts laid on one line: nothing lost, nothing doubled, and what was heard is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.sound.mixer import FADE_MS, KEPT_CONTEXTS, Mixer

RATE_HZ = 8000
FADE = round(FADE_MS * RATE_HZ / 1000)


def ramp(start: int, count: int) -> np.ndarray:
    """Every sample another value, so that a lost or doubled one shows."""
    return np.arange(start, start + count, dtype=np.float32)


def ms(samples: int) -> float:
    return 1000.0 * samples / RATE_HZ


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=5),
    st.lists(st.integers(0, 80), min_size=5, max_size=5),
    st.lists(st.integers(1, 500), max_size=12),
    st.integers(1, 97),
)
def test_any_cut_gives_the_same_line(
    lengths: list[int], overlaps: list[int], takes: list[int], chunk: int
) -> None:
    sounds, at, expected = [], 0, np.zeros(0, np.float32)
    for length, overlap in zip(lengths, overlaps, strict=False):
        sound = ramp(at + 1, length)
        keep = max(len(expected) - overlap, 0)
        both = np.zeros(max(len(expected), keep + length), np.float32)
        both[: len(expected)] += expected
        both[keep : keep + length] += sound
        sounds.append(sound)
        expected, at = both, at + length
    mixer = Mixer(RATE_HZ)
    for number, (sound, overlap) in enumerate(zip(sounds, overlaps, strict=False)):
        mixer.begin(number, ms(overlap))
        for i in range(0, len(sound), chunk):
            mixer.push(number, sound[i : i + chunk])
    taken = [mixer.take(count) for count in takes]
    taken.append(mixer.take(max(len(expected) - sum(takes), 0)))
    line = np.concatenate(taken)
    assert np.array_equal(line[: len(expected)], expected)
    assert not line[len(expected) :].any() and mixer.queued_ms == 0.0
    assert [mixer.played_ms(n) for n in range(len(sounds))] == [ms(len(s)) for s in sounds]


def test_what_was_heard_is_counted_per_context() -> None:
    mixer = Mixer(RATE_HZ)
    mixer.begin(1)
    mixer.push(1, ramp(1, 100))
    mixer.begin(2, ms(20))
    mixer.push(2, ramp(1000, 100))
    assert mixer.queued_ms == ms(180)
    for count, first, second in [(50, 50, 0), (40, 90, 10), (10, 100, 20), (200, 100, 100)]:
        mixer.take(count)
        assert (mixer.played_ms(1), mixer.played_ms(2)) == (ms(first), ms(second))


def test_a_gap_is_silence_and_no_sound_of_it_is_lost() -> None:
    mixer = Mixer(RATE_HZ)
    mixer.begin(1)
    mixer.push(1, ramp(1, 10))
    assert list(mixer.take(15)) == [*range(1, 11), *[0] * 5]
    mixer.push(1, ramp(11, 10))
    assert mixer.played_ms(1) == ms(10)
    assert list(mixer.take(10)) == list(range(11, 21))
    assert mixer.played_ms(1) == ms(20)


@pytest.mark.parametrize("queued", [0, 1, 7, FADE, FADE + 1, 800])
def test_stop_fades_what_is_playing_and_the_next_is_mixed_over_it(queued: int) -> None:
    mixer = Mixer(RATE_HZ)
    mixer.begin(1)
    mixer.push(1, np.full(160 + queued, 0.5, np.float32))
    mixer.take(160)
    mixer.stop()
    mixer.push(1, np.ones(50, np.float32))  # it was on its way
    assert mixer.played_ms(1) == ms(160)
    mixer.begin(2, FADE_MS)
    mixer.push(2, np.full(400, 0.25, np.float32))
    line = mixer.take(500)
    fade = line[:400] - 0.25
    tail = min(queued, FADE)
    assert not fade[tail:].any() and not line[400:].any()
    assert np.all(np.diff(fade[:tail]) < 0) and np.all(fade[:tail] < 0.5)
    if tail == FADE:
        assert np.abs(np.diff(np.concatenate(([0.5], fade)))).max() < 0.02
    assert (mixer.played_ms(1), mixer.played_ms(2)) == (ms(160), ms(400))


def test_padding_behind_the_end_is_not_played() -> None:
    mixer = Mixer(RATE_HZ)
    mixer.begin(1)
    mixer.push(1, ramp(1, 160))
    mixer.finish(1, ms(100))
    mixer.finish(1, ms(50))  # over is over
    mixer.begin(2)
    mixer.push(2, ramp(200, 10))
    assert list(mixer.take(110)) == [*range(1, 101), *range(200, 210)]
    assert mixer.played_ms(1) == ms(100)


def test_memory_of_contexts_is_bounded_and_unknown_ones_are_ignored() -> None:
    mixer = Mixer(RATE_HZ)
    for number in range(3 * KEPT_CONTEXTS):
        mixer.begin(number)
        mixer.push(number, ramp(1, 1))
    mixer.push(0, ramp(1, 100))
    mixer.finish(0, 0.0)
    assert mixer.played_ms(0) == 0.0 and len(mixer._placed) == KEPT_CONTEXTS
    assert mixer.queued_ms == ms(3 * KEPT_CONTEXTS)
