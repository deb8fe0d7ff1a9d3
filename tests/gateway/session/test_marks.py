"""Marks: told when the text before them has been spoken, and nothing is cut for them."""

from __future__ import annotations

from gateway.text.segment import segmenter_for
from gateway.types import Audio, Done, End, Event, Failed, Flush, Flushed, Interrupt, Mark, Text
from tests.gateway.fakes import Harness


def flushed(events: list[Event]) -> list[int | str | None]:
    return [event.flush_id for event in events if isinstance(event, Flushed)]


def spoken(h: Harness) -> list[str]:
    return [submit.text for submit in h.engine.submitted]


def test_a_mark_waits_for_its_text_and_cuts_nothing() -> None:
    h = Harness(segmenter_factory=segmenter_for)
    h.do(Text("c", "It costs 3."))
    assert h.do(Mark("c", 1)) == []
    h.do(Text("c", "14 euros. And"))
    events = h.run(20_000)
    assert flushed(events) == [1]
    assert spoken(h)[0].strip() == "It costs 3.14 euros."


def test_marks_are_told_after_the_sound_before_them() -> None:
    h = Harness(segmenter_factory=segmenter_for)
    for number in (1, 2):
        h.do(Text("c", "Hello there, how are you today? "))
        h.do(Mark("c", number))
    h.do(Flush("c", "f"))
    events = h.run(20_000)
    assert flushed(events) == [1, 2, "f"]
    assert any(isinstance(event, Audio) for event in events)
    last = max(i for i, event in enumerate(events) if isinstance(event, Audio))
    assert all(i > last for i, e in enumerate(events) if isinstance(e, Flushed) and e.flush_id != 1)


def test_the_end_answers_marks_and_an_interrupt_forgets_them() -> None:
    h = Harness(segmenter_factory=segmenter_for)
    h.do(Text("a", "Hello there"))
    h.do(Mark("a", 1))
    h.do(End("a"))
    events = h.run(20_000)
    assert flushed(events) == [1] and isinstance(events[-1], Done)
    h.do(Text("b", "Hello there. And more of it."))
    h.do(Mark("b", 2))
    h.do(Interrupt("b"))
    assert flushed(h.run(20_000)) == []


def test_a_mark_at_the_very_beginning_and_one_of_nobody() -> None:
    h = Harness(segmenter_factory=segmenter_for)
    (error,) = h.do(Mark("c", 1))
    assert isinstance(error, Failed) and error.code == "unknown_context"
    h.do(Text("c", "  "))
    assert flushed(h.do(Mark("c", 2)) + h.run(2_000)) == [2]
