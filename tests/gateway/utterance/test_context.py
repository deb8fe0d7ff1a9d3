"""The transition table, row by row, and the text side of a context."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import ContextStateError
from gateway.text.segment import segmenter_for
from gateway.types import AudioFormat, ContextSettings, SettingsPatch
from gateway.utterance.context import (
    OVER,
    READ_CHARS,
    TRANSITIONS,
    Context,
    FlushMark,
    State,
    Trigger,
)
from tests.gateway.fake_parts import FakeSegmenter

S, T = State, Trigger
# One row per state; "=" stays, "-" is an error.
TABLE = """
state        configure text flush end   interrupt    duck resume playback drained broken  silenced
IDLE         =         OPEN =     ENDED INTERRUPTING =    =      =        -       -       -
OPEN         =         =    =     ENDED INTERRUPTING =    =      =        -       FAILING -
ENDED        =         -    =     =     INTERRUPTING =    =      =        DONE    FAILING -
FAILING      -         -    -     =     INTERRUPTING =    =      =        FAILED  -       -
INTERRUPTING -         -    -     =     =            =    =      =        -       -       INTERRUPTED
DONE         -         -    -     =     INTERRUPTING =    =      =        -       -       -
INTERRUPTED  -         -    -     =     =            =    =      =        -       -       -
FAILED       -         -    -     =     INTERRUPTING =    =      =        -       -       -
"""  # noqa: E501


def read_table() -> list[tuple[State, Trigger, State | None]]:
    head, *lines = TABLE.strip().splitlines()
    rows = []
    for line in lines:
        name, *cells = line.split()
        for trigger, cell in zip(head.split()[1:], cells, strict=True):
            follows = None if cell == "-" else S[name] if cell == "=" else S[cell]
            rows.append((S[name], T(trigger), follows))
    return rows


ROWS = read_table()


def context(state: State = State.IDLE, **changes: object) -> Context:
    made = Context("c1", ContextSettings(**changes), FakeSegmenter, 0.0)  # type: ignore[arg-type]
    made.state = state
    return made


def test_the_table_is_whole() -> None:
    assert len(ROWS) == len(State) * len(Trigger)
    assert {row[0] for row in ROWS} == set(State) == set(TRANSITIONS)


@pytest.mark.parametrize(("state", "trigger", "follows"), ROWS)
def test_transitions(state: State, trigger: Trigger, follows: State | None) -> None:
    made = context(state)
    if follows is not None:
        made.move(trigger)
        assert made.state is follows
        return
    with pytest.raises(ContextStateError, match=rf"expected .* got {trigger.value}"):
        made.move(trigger)
    assert made.state is state


@pytest.mark.parametrize("state", sorted(OVER, key=lambda s: s.value))
def test_nothing_leads_out_of_the_end_but_an_interrupt(state: State) -> None:
    assert set(TRANSITIONS[state].values()) <= {state, State.INTERRUPTING}


def test_an_error_says_what_would_have_been_legal() -> None:
    made = context(State.DONE)
    with pytest.raises(ContextStateError, match="end.*configure opens it anew.*got text"):
        made.push("more", 0.0, 0.0)


def test_text_is_cut_and_counted() -> None:
    made = context()
    for char in "One. Two. Thr":
        made.push(char, 100.0, 5.0)
    assert [segment.text for segment in made.pending] == ["One. ", "Two. "]
    assert made.text == "One. Two. Thr"
    assert (made.received_chars, made.buffered_chars, made.text_since_ms) == (13, 13, 5.0)
    assert made.take().text == "One. "
    assert made.buffered_chars == 8
    made.flush(7, 100.0, 6.0)
    assert made.flushes.popleft() == FlushMark(7, 3)
    made.end(100.0, 7.0)
    made.end(100.0, 8.0)
    assert made.segments_cut == 3 and made.text_complete
    made.drop_text()
    assert not made.pending and made.buffered_chars == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 1000) | st.just("flush"), max_size=8), st.booleans())
def test_long_text_is_read_over_several_turns_and_comes_out_the_same(
    script: list[int | str], ended: bool
) -> None:
    """Segments, flushes in their places, the end: as if all had been read at once."""
    made, text, marks = Context("c1", ContextSettings(), segmenter_for, 0.0), "", []
    segmenter = segmenter_for(made.settings)
    cut: list[str] = []
    for step in script:
        if isinstance(step, str):
            cut += [segment.text for segment in segmenter.flush()]
            marks.append(FlushMark(len(text), len(cut)))
            made.flush(len(text), 0.0, 0.0)
        else:
            piece = "One. Two is here. "[step % 7 :] * (step // 10) + "x"
            text += piece
            cut += [segment.text for segment in segmenter.push(piece, 0.0)]
            made.push(piece, 0.0, 0.0)
    if ended:
        made.end(0.0, 0.0)
        cut += [segment.text for segment in segmenter.flush()]
    turns = 0
    while made.has_unread:
        before = len(made.pending)
        assert made.next_deadline_ms() == -math.inf and not made.text_complete
        made.tick(0.0, 0.0)
        assert len(made.pending) - before <= READ_CHARS
        turns += 1
    assert [segment.text for segment in made.pending] == cut
    assert list(made.flushes) == marks
    assert made.text_complete is ended and made.text == text
    assert turns <= len(text) * 4 // READ_CHARS + len(marks)


def test_text_without_an_end_mark_is_cut_after_its_delay() -> None:
    made = context(max_buffer_delay_ms=300)
    made.push("no end mark", 0.0, 100.0)
    assert made.next_deadline_ms() == 400.0
    made.tick(0.0, 399.0)
    assert not made.pending
    made.tick(0.0, 400.0)
    assert [segment.text for segment in made.pending] == ["no end mark"]
    assert made.next_deadline_ms() is None


def test_the_segmenter_is_told_how_long_the_listener_can_wait() -> None:
    made = context()
    made.push("a", 123.0, 0.0)
    segmenter = made._segmenter
    assert isinstance(segmenter, FakeSegmenter) and segmenter.leads_ms == [123.0]


def test_settings_merge_and_repeats_change_nothing() -> None:
    made = context(speed=1.5)
    patch = SettingsPatch(words=True, lead_ms=0)
    made.configure(patch)
    once = made.settings
    made.configure(patch)
    assert made.settings == once == ContextSettings(speed=1.5, words=True, lead_ms=0)


def test_what_the_sound_depends_on_is_fixed_by_the_first_text() -> None:
    made = context()
    made.push("Hi", 0.0, 0.0)
    before = made.settings
    with pytest.raises(ContextStateError, match="format: expected no change"):
        made.configure(SettingsPatch(format=AudioFormat(frame_ms=60), words=True))
    assert made.settings == before
    made.configure(SettingsPatch(format=AudioFormat(), speed=2.0, voice="other"))
    assert made.settings.speed == 2.0
