"""Characters are told once, in order, all of them, and their times never go back."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from gateway.dialects.elevenlabs.alignment import NO_CHARS, Alignment, TimedChars
from gateway.types import SegmentStarted, Word, Words


def words(*spans: tuple[int, int, float, float]) -> Words:
    return Words("1", tuple(Word(a, b, "x" * (b - a), s, e) for a, b, s, e in spans), "heads")


def begin(alignment: Alignment, start: int, end: int) -> None:
    alignment.begin(SegmentStarted("1", 0, start, end, "", 0.0))


def test_a_words_time_is_shared_and_pauses_are_blanks() -> None:
    alignment = Alignment()
    alignment.push("Hi you. ")
    begin(alignment, 0, 8)
    timed = alignment.tell(words((0, 2, 10.0, 30.0), (3, 7, 50.0, 90.0)))
    assert timed.chars == "Hi you. "
    assert timed.starts_ms == (10.0, 20.0, 30.0, 50.0, 60.0, 70.0, 80.0, 90.0)
    assert timed.ends_ms == (20.0, 30.0, 50.0, 60.0, 70.0, 80.0, 90.0, 90.0)
    assert alignment.rest() == NO_CHARS


def test_what_was_not_spoken_is_told_with_what_follows_it() -> None:
    alignment = Alignment()
    alignment.push("*** Hi. ... You. ...")
    begin(alignment, 4, 8)
    assert alignment.tell(words((4, 7, 0.0, 30.0))).chars == "*** Hi. "
    begin(alignment, 12, 17)
    assert alignment.tell(words((12, 16, 100.0, 140.0))).chars == "... You. "
    assert alignment.rest() == TimedChars("...", (140.0,) * 3, (140.0,) * 3)


def test_words_come_after_the_next_segment_has_begun() -> None:
    alignment = Alignment()
    alignment.push("One. Two. ")
    begin(alignment, 0, 5)
    begin(alignment, 5, 10)
    assert alignment.tell(words((0, 4, 0.0, 10.0))).chars == "One. "
    assert alignment.tell(words((5, 9, 20.0, 30.0))).chars == "Two. "


TIMES = st.floats(-10.0, 1000.0) | st.sampled_from([math.inf, math.nan])


@given(st.data(), st.text(max_size=60))
def test_any_words_of_any_text(data: st.DataObject, text: str) -> None:
    alignment = Alignment()
    alignment.push(text)
    told = NO_CHARS
    at = 0
    while at < len(text):
        end = data.draw(st.integers(at + 1, len(text)))
        begin(alignment, at, end)
        cuts = sorted(data.draw(st.lists(st.integers(at, end), min_size=2, max_size=6)))
        spans = [
            (a, b, data.draw(TIMES), data.draw(TIMES))
            for a, b in zip(cuts[::2], cuts[1::2], strict=False)
        ]
        told += alignment.tell(words(*spans))
        at = end
    told += alignment.rest()
    assert told.chars == text
    assert len(told.starts_ms) == len(told.ends_ms) == len(text)
    edges = [edge for pair in zip(told.starts_ms, told.ends_ms, strict=True) for edge in pair]
    assert all(map(math.isfinite, edges))
    assert all(later >= earlier - 1e-6 for earlier, later in zip(edges, edges[1:], strict=False))
