"""Interrupts, in virtual time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gateway.types import (
    Abort,
    Aborted,
    Audio,
    Configure,
    Configured,
    Done,
    End,
    Failed,
    Finished,
    Frames,
    Interrupt,
    Interrupted,
    Limits,
    Playback,
    RequestFailed,
    SettingsPatch,
    Text,
)
from tests.gateway.fakes import FakeEngine, Harness, settings
from tests.gateway.talk import (
    LONG,
    expected_samples,
    interrupted,
    only,
    running,
    samples,
    speak,
)


def test_an_interrupt_answers_when_the_engine_has_stopped_and_nothing_follows() -> None:
    h = running(hold=80, frame_delay_ms=20.0, abort_delay_ms=35.0)
    frames_before = h.engine.frames_made
    at_once = h.do(Interrupt("c1"))
    assert [type(e) for e in at_once] == [Audio]  # the faded tail
    assert isinstance(at_once[0], Audio) and at_once[0].last
    assert at_once[0].payload.startswith(b"fade")
    assert [e for e in h.effects if isinstance(e, Abort)] == [
        Abort(h.engine.submitted[0].request_id)
    ]
    asked_at_ms = h.now_ms
    later = h.run()
    assert [type(e) for e in later] == [Interrupted]
    assert h.sent[-1][0] - asked_at_ms == 35.0
    answer = interrupted(h)
    assert answer.engine_confirmed and answer.generation == 0
    assert answer.frames_wasted <= h.engine.frames_made - frames_before + 2


def test_the_answer_says_what_was_heard_and_what_was_not() -> None:
    h = running(frame_delay_ms=0.0)
    h.do(Interrupt("c1"))
    h.run()
    answer = interrupted(h)
    assert answer.heard_text + answer.unspoken_text == LONG
    assert answer.heard_ms == 100.0 and 300.0 <= answer.sent_ms <= 320.0
    assert answer.heard_text == "Hello "  # of 240 ms, "Hello" takes 120


@pytest.mark.parametrize(
    ("played_ms", "heard"),
    [
        (0.0, ""),
        (59.0, ""),
        (61.0, "Hello "),
        (200.0, "Hello there. "),
        (290.0, "Hello there. How "),
    ],
)
def test_the_clients_position_is_believed(played_ms: float, heard: str) -> None:
    h = running(frame_delay_ms=0.0)
    h.do(Interrupt("c1", played_ms=played_ms))
    h.run()
    assert (interrupted(h).heard_text, interrupted(h).heard_ms) == (heard, played_ms)


def test_a_position_beyond_what_was_sent_is_capped() -> None:
    h = running()
    h.do(Interrupt("c1", played_ms=1e9))
    h.run()
    assert interrupted(h).heard_ms <= interrupted(h).sent_ms


def test_an_engine_that_does_not_answer_is_not_waited_for() -> None:
    h = running(abort_delay_ms=None, frame_delay_ms=20.0)
    h.do(Interrupt("c1"))
    request_id = h.engine.aborted[0]
    asked_at_ms = h.now_ms
    h.run()
    assert h.sent[-1] == (asked_at_ms + 250.0, interrupted(h))
    assert not interrupted(h).engine_confirmed
    before = len(h.sent)
    h.session.report(Frames(request_id, 3, b"\0" * 2560, b"", ()), h.now_ms)
    h.session.report(Aborted(request_id, True, 9), h.now_ms)
    h.session.report(Finished(request_id, "aborted", 3, 0, 0), h.now_ms)
    h.session.report(RequestFailed(request_id, "engine_failed", "late"), h.now_ms)
    h.collect()
    assert len(h.sent) == before


def test_late_frames_are_dropped_and_counted_as_wasted() -> None:
    h = running(abort_delay_ms=50.0, frame_delay_ms=20.0)
    h.do(Interrupt("c1"))
    request_id = h.engine.aborted[0]
    made = h.engine.frames_made
    for i in range(7):
        h.session.report(Frames(request_id, made + i, b"\0" * 2560, b"\0" * 6, ()), h.now_ms)
    h.collect()
    h.run()
    assert not h.events(Failed)
    assert interrupted(h).frames_wasted >= 7


def test_an_engine_that_fails_while_stopping_has_stopped() -> None:
    h = running(abort_delay_ms=None, frame_delay_ms=20.0)
    h.do(Interrupt("c1"))
    h.session.report(RequestFailed(h.engine.aborted[0], "engine_failed", "gone"), h.now_ms)
    h.collect()
    assert interrupted(h).engine_confirmed and not h.events(Failed)


def test_twice_is_answered_once_while_it_is_pending_and_again_afterwards() -> None:
    h = running(frame_delay_ms=20.0)
    h.do(Interrupt("c1"))
    assert h.do(Interrupt("c1")) == []
    h.run()
    answer = interrupted(h)
    assert h.do(Interrupt("c1")) == [answer]
    assert len(h.engine.aborted) == 1


def test_before_the_first_frame() -> None:
    h = Harness(FakeEngine(prefill_ms=1000), defaults=settings())
    speak(h, LONG)
    h.run(10)
    assert h.do(Interrupt("c1")) == []
    h.run()
    answer = interrupted(h)
    assert (answer.heard_text, answer.unspoken_text) == ("", LONG)
    assert (answer.heard_ms, answer.sent_ms) == (0.0, 0.0) and answer.engine_confirmed
    assert not h.audio("c1")


def test_before_any_text() -> None:
    h = Harness()
    h.do(Configure("c1", SettingsPatch()))
    (answer,) = h.do(Interrupt("c1"))
    assert answer == Interrupted("c1", 0, "", "", 0.0, 0.0, True, 0)


def test_after_the_last_packet_while_the_listener_still_hears_it() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    speak(h, "Hello there. ")
    h.run(110)
    assert h.events(Done)
    (answer,) = h.do(Interrupt("c1"))
    assert isinstance(answer, Interrupted)
    assert answer.heard_text == "Hello " and answer.unspoken_text == "there. "
    assert answer.heard_ms == 100.0 and answer.engine_confirmed and answer.frames_wasted == 0
    assert not h.engine.aborted


def test_long_after_the_end_everything_was_heard() -> None:
    h = Harness(defaults=settings())
    speak(h, "Hello there. ... ")
    h.run()
    (answer,) = h.do(Interrupt("c1"))
    assert isinstance(answer, Interrupted)
    assert (answer.heard_text, answer.unspoken_text) == ("Hello there. ... ", "")


SLOW = "One sentence of no great length. "


@pytest.mark.parametrize("tokens", [False, True])
def test_of_a_line_that_failed_all_that_was_made_of_it_was_heard(tokens: bool) -> None:
    h = Harness(
        FakeEngine(failures={SLOW: "engine_failed"}, fail_after=200, with_tokens=tokens),
        defaults=settings(),
    )
    h.engine.frames_of = lambda text: 400  # type: ignore[method-assign]
    speak(h, SLOW + "And another one. ")
    h.run(60_000)
    assert h.events(Failed)
    h.do(Interrupt("c1"))
    assert interrupted(h).heard_ms == interrupted(h).sent_ms == 8_000.0
    # With alignment it is known that half of it was made; else by now all should have been.
    assert interrupted(h).heard_text == ("One sentence of no " if tokens else SLOW)


@pytest.mark.parametrize("tokens", [False, True])
def test_of_a_line_in_the_making_all_that_was_made_of_it_was_heard(tokens: bool) -> None:
    h = Harness(FakeEngine(frame_delay_ms=100.0, with_tokens=tokens), defaults=settings(lead_ms=0))
    h.engine.frames_of = lambda text: 400  # type: ignore[method-assign]
    speak(h, SLOW)
    h.run(20_000)
    h.do(Interrupt("c1"))
    h.run(1000)
    assert interrupted(h).heard_ms == pytest.approx(8_000.0, abs=40.0)
    assert interrupted(h).heard_text == ("One sentence of no " if tokens else SLOW)


@hypothesis_settings(max_examples=150, deadline=None)
@given(
    sentences=st.lists(st.sampled_from(["Hello there. ", "How are you. ", "Boom boom boom. "])),
    fail_after=st.integers(0, 9),
    frame_delay_ms=st.sampled_from([0.0, 15.0, 45.0]),
    lead_ms=st.sampled_from([0, 200]),
    wait_ms=st.floats(0.0, 3000.0),
    share=st.floats(0.0, 1.0),
    ended=st.booleans(),
)
def test_heard_text_follows_the_sound(
    sentences: list[str],
    fail_after: int,
    frame_delay_ms: float,
    lead_ms: int,
    wait_ms: float,
    share: float,
    ended: bool,
) -> None:
    """Whatever the line's fate: complete, failed after some frames or none, or in the making."""
    h = Harness(
        FakeEngine(
            frame_delay_ms=frame_delay_ms,
            failures={"Boom boom boom. ": "engine_failed"},
            fail_after=fail_after,
            with_tokens=True,
        ),
        defaults=settings(lead_ms=lead_ms),
    )
    text = "Oh well. " + "".join(sentences)
    h.do(Text("c1", text))
    if ended:
        h.do(End("c1"))
    h.run(wait_ms)
    sent_ms = h.session._roster.find("c1").playout.sent_ms  # type: ignore[union-attr]
    h.do(Interrupt("c1", played_ms=share * sent_ms))
    h.run(1000)
    answer = interrupted(h)
    assert answer.heard_text + answer.unspoken_text == text
    # What the engine says is two characters a frame: how far it had come when that was heard.
    frames, spoken = answer.heard_ms / 40.0, 0.0
    for request in h.engine.submitted:
        made = h.engine.frames_of(request.text)
        spoken += min(frames / made, 1.0) * len(request.text)
        frames -= made
        if frames <= 0:
            break
        if request.text.startswith("Boom") and made > fail_after:
            break
    longest = max(map(len, text.split())) + 1
    assert spoken - longest - 2 <= len(answer.heard_text) <= spoken + longest + 2


def test_an_unknown_context_is_an_error_of_that_context() -> None:
    h = Harness()
    (failed,) = h.do(Interrupt("never"))
    assert isinstance(failed, Failed)
    assert (failed.context, failed.code) == ("never", "unknown_context")
    assert h.do(Interrupt()) == []


def test_all_at_once() -> None:
    h = Harness(FakeEngine(frame_delay_ms=20.0), defaults=settings(lead_ms=0))
    speak(h, "Hello there. ", "c0")
    h.run(135)
    speak(h, LONG, "c1")
    speak(h, LONG, "c2")
    h.run(15)
    assert h.events(Done, "c0")  # sent, and still heard
    h.do(Interrupt())
    h.run()
    assert [e.context for e in h.events(Interrupted)] == ["c0", "c2", "c1"]  # c1 had a request
    assert interrupted(h, "c0").heard_text == "Hello "
    assert interrupted(h, "c2").heard_text == ""


def test_one_that_failed_and_is_still_heard_is_stopped_too_and_gets_the_position() -> None:
    h = Harness(
        FakeEngine(failures={"How are you today. ": "engine_failed"}, fail_after=5),
        defaults=settings(lead_ms=0),
    )
    speak(h, "Hello there. How are you today. ", "c1")
    h.run(150)
    assert h.events(Failed, "c1")
    speak(h, LONG, "c2")
    h.run(50)
    assert h.audio("c2")
    h.do(Interrupt(played_ms=130.0))
    h.run()
    assert interrupted(h, "c1").heard_ms == 130.0 and interrupted(h, "c2").heard_ms == 0.0
    assert interrupted(h, "c1").heard_text == "Hello "


def test_the_position_is_not_that_of_one_which_is_being_stopped_already() -> None:
    h = running(abort_delay_ms=None, frame_delay_ms=20.0)
    speak(h, LONG, "c2")
    h.do(Interrupt("c1"))
    h.run(100)
    assert h.audio("c2")
    h.do(Interrupt(played_ms=20.0))
    h.run()
    assert interrupted(h, "c2").heard_ms == 20.0


@pytest.mark.parametrize("queued", [1, 3])
def test_one_that_is_cut_in_the_queue_does_not_start_the_next_ones_clock(queued: int) -> None:
    h = Harness(FakeEngine(frame_delay_ms=0.0), defaults=settings(lead_ms=0))
    speak(h, "A sentence of ten seconds. " * 20, "c1")
    h.run(1000)
    (done,) = h.events(Done)
    assert isinstance(done, Done) and done.audio_ms > 10_000.0
    for i in range(queued):
        h.do(Text(f"q{i}", "Hi"))
    for i in range(queued):
        h.do(Interrupt(f"q{i}"))
    speak(h, LONG, "last")
    h.run(3000)
    h.do(Interrupt("last"))
    assert interrupted(h, "last").heard_ms == 0.0 and interrupted(h, "last").sent_ms > 0.0


def test_the_utterance_behind_goes_on() -> None:
    h = running()
    speak(h, LONG, "c2")
    h.do(Interrupt("c1"))
    h.run()
    assert only(h.events(Done), Done) and h.events(Done)[0].context == "c2"
    assert samples(h, "c2") == expected_samples(
        h.engine, "Hello there. ", "How are you today. ", "All is well here. "
    )


def test_a_new_utterance_is_not_kept_waiting_by_the_abort() -> None:
    h = running(abort_delay_ms=200.0)
    h.do(Interrupt("c1"))
    asked_at_ms = h.now_ms
    speak(h, "New text. ", "c2")
    h.run()
    assert h.audio("c2")[0][0] - asked_at_ms <= h.engine.prefill_ms + h.engine.frame_delay_ms


def test_text_that_will_not_be_spoken_makes_room_at_once() -> None:
    text = "One more sentence here. " * 6
    h = Harness(
        FakeEngine(frame_delay_ms=20.0, abort_delay_ms=None),
        limits=Limits(max_buffered_chars=len(text)),
        defaults=settings(lead_ms=200),
    )
    h.do(Text("c1", text))
    h.run(50.0)
    assert only(h.do(Text("c2", text)), Failed)
    h.do(Interrupt("c1"))
    assert not h.events(Interrupted)  # the engine has not answered
    assert not [e for e in h.do(Text("c2", text)) if isinstance(e, Failed)]
    h.run(1000.0)
    assert "".join(s.text for s in h.engine.submitted[1:]).startswith("One more sentence here. ")
    assert interrupted(h, "c1").unspoken_text.endswith("One more sentence here. ")


def test_preempting_interrupts_what_came_before() -> None:
    h = running()
    speak(h, LONG, "c2")
    h.do(Configure("c3", SettingsPatch(preempt=True)))
    h.do(Text("c3", "Now this. "))
    h.do(End("c3"))
    h.run()
    assert {e.context for e in h.events(Interrupted)} == {"c1", "c2"}
    assert [e.context for e in h.events(Done)] == ["c3"]


def test_late_tokens_do_not_open_an_interrupted_context_again() -> None:
    h = running()
    h.do(Interrupt("c1"))
    (pending,) = h.do(Text("c1", "late "))
    h.run()
    (over,) = h.do(Text("c1", "later "))
    for failed in (pending, over):
        assert isinstance(failed, Failed)
        assert (failed.context, failed.code) == ("c1", "context_state")
    assert h.do(End("c1")) == [] and h.do(Playback("c1", 3.0)) == []
    assert not h.run()


def test_configure_opens_a_context_anew_under_a_new_number_and_generation() -> None:
    h = running()
    h.do(Interrupt("c1"))
    h.run()
    (configured,) = h.do(Configure("c1", SettingsPatch()))
    assert isinstance(configured, Configured)
    before = len(h.audio("c1"))
    speak(h, "Once more. ")
    h.run()
    again = [packet for _, packet in h.audio("c1")][before:]
    assert {(p.number, p.generation) for p in again} == {(2, 1)}
    assert [p.sequence for p in again] == list(range(len(again)))
    assert h.events(Done)
