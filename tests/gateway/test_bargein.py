"""Interrupts, tentative ones, failures and ends, in virtual time."""

from __future__ import annotations

import pytest

from gateway.types import (
    Abort,
    Audio,
    Configure,
    Configured,
    Done,
    Duck,
    Ducked,
    End,
    Event,
    Failed,
    Flush,
    Interrupt,
    Interrupted,
    Limits,
    Playback,
    Resume,
    Resumed,
    SegmentStarted,
    SettingsPatch,
    Text,
)
from tests.gateway.fakes import FakeChain, FakeEngine, Harness, settings
from tests.gateway.test_session import expected_samples, samples, speak

LONG = "Hello there. How are you today. All is well here. "


def running(hold: int = 0, **engine: object) -> Harness:
    """A conversation 100 ms after its first packet: 300 ms sent, 100 ms heard."""
    h = Harness(
        FakeEngine(**engine),  # type: ignore[arg-type]
        chain=lambda f, s: FakeChain(f, s, hold=hold),
        defaults=settings(lead_ms=200),
    )
    speak(h, LONG)
    h.run(110.0)
    assert h.audio("c1")
    return h


def only(events: list[Event], kind: type) -> Event:
    (found,) = [e for e in events if isinstance(e, kind)]
    return found


def interrupted(h: Harness, context: str = "c1") -> Interrupted:
    event = only(h.events(Interrupted, context), Interrupted)
    assert isinstance(event, Interrupted)
    return event


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
    h.session.engine_frames(request_id, 3, b"\0" * 2560, b"", (), h.now_ms)
    h.session.engine_aborted(request_id, True, 9, h.now_ms)
    h.session.engine_finished(request_id, "aborted", 3, 0, 0, h.now_ms)
    h.session.engine_failed(request_id, "engine_failed", "late", h.now_ms)
    h.collect()
    assert len(h.sent) == before


def test_late_frames_are_dropped_and_counted_as_wasted() -> None:
    h = running(abort_delay_ms=50.0, frame_delay_ms=20.0)
    h.do(Interrupt("c1"))
    request_id = h.engine.aborted[0]
    made = h.engine.frames_made
    for i in range(7):
        h.session.engine_frames(request_id, made + i, b"\0" * 2560, b"\0" * 6, (), h.now_ms)
    h.collect()
    h.run()
    assert not h.events(Failed)
    assert interrupted(h).frames_wasted >= 7


def test_an_engine_that_fails_while_stopping_has_stopped() -> None:
    h = running(abort_delay_ms=None, frame_delay_ms=20.0)
    h.do(Interrupt("c1"))
    h.session.engine_failed(h.engine.aborted[0], "engine_failed", "gone", h.now_ms)
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


# --- tentative ---


def test_a_pause_goes_on_from_the_sample_where_it_stopped() -> None:
    h = running()
    (*ramp, ducked) = h.do(Duck("c1", 0.0))
    assert len(ramp) == 1 and isinstance(ramp[0], Audio) and isinstance(ducked, Ducked)
    at_samples = ramp[0].timestamp_samples + 320
    assert ducked == Ducked("c1", at_samples / 16)
    assert not [e for e in h.run(5000) if isinstance(e, (Audio, Done))]
    assert h.do(Resume("c1"))[0] == Resumed("c1", at_samples / 16)
    h.run()
    assert h.events(Done)
    packets = [packet for _, packet in h.audio("c1")]
    assert [p.timestamp_samples for p in packets] == [320 * i for i in range(len(packets))]
    assert [p.sequence for p in packets] == list(range(len(packets)))


def test_a_duck_lowers_the_very_next_packet_and_a_resume_raises_it() -> None:
    h = running()
    (ducked,) = h.do(Duck("c1", 0.25))
    position = h.chains[0].position_samples
    assert ducked == Ducked("c1", position / 16)
    h.run(100)
    h.do(Resume("c1"))
    back = h.chains[0].position_samples
    h.run()
    got = samples(h)
    plain = expected_samples(h.engine, "Hello there. ", "How are you today. ", "All is well here. ")
    assert got[:position] == plain[:position] and got[back:] == plain[back:]
    assert got[position:back] == pytest.approx([0.25 * s for s in plain[position:back]])


def test_a_duck_becomes_an_interrupt() -> None:
    h = running()
    h.do(Duck("c1", 0.0))
    assert h.do(Interrupt("c1")) == []  # nothing is left to fade
    h.run()
    assert interrupted(h).heard_text + interrupted(h).unspoken_text == LONG


def test_duck_before_the_first_packet_and_after_the_last() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    h.do(Configure("c1", SettingsPatch()))
    assert h.do(Duck("c1", 0.0)) == [Ducked("c1", 0.0)]
    speak(h, "Hello there. ")
    assert not [e for e in h.run(1000) if isinstance(e, Audio)]
    h.do(Resume())
    h.run(100)
    assert h.events(Done)
    assert h.do(Duck("c1", 0.5)) == [Ducked("c1", 240.0)]
    assert h.do(Resume("c1")) == [Resumed("c1", 240.0)]


def test_repeated_ducks_and_resumes_are_harmless() -> None:
    h = running()
    h.do(Resume("c1"))
    h.do(Duck("c1", 0.0))
    first = h.sent[-1][1]
    assert h.do(Duck("c1", 0.0)) == [first]
    h.do(Resume("c1"))
    h.do(Resume("c1"))
    h.run()
    packets = [packet for _, packet in h.audio("c1")]
    assert [p.timestamp_samples for p in packets] == [320 * i for i in range(len(packets))]


# --- failures ---


def test_a_failed_segment_ends_its_context_after_what_was_made() -> None:
    h = Harness(
        FakeEngine(failures={"How are you today. ": "engine_failed"}, fail_after=2),
        defaults=settings(lead_ms=0),
    )
    speak(h, LONG, "c1")
    speak(h, "Fine. ", "c2")
    h.run()
    (failed,) = h.events(Failed)
    assert isinstance(failed, Failed)
    assert (failed.context, failed.code) == ("c1", "engine_failed")
    assert "secret" not in failed.message
    made = expected_samples(h.engine, "Hello there. ", "How are you today. ")
    assert samples(h) == made[: (6 + 2) * 640]
    assert len(h.engine.submitted) == 3  # the third segment of c1 was never asked for
    assert [e.context for e in h.events(Done)] == ["c2"]
    assert [type(e) for e in h.events(SegmentStarted, "c1")] == [SegmentStarted] * 2


def test_a_refused_segment_is_asked_for_again_while_the_listener_has_something_to_hear() -> None:
    h = Harness(FakeEngine(refusals={"How are you today. ": 2}), defaults=settings())
    speak(h, "Hello there. How are you today. ")
    h.run()
    assert not h.events(Failed)
    second = [s.request_id for s in h.engine.submitted if s.text.startswith("How")]
    assert len(second) == len(set(second)) == 3
    assert samples(h) == expected_samples(h.engine, "Hello there. ", "How are you today. ")
    (done,) = h.events(Done)
    assert isinstance(done, Done) and done.segments == 2 and done.underrun_ms == 0.0


@pytest.mark.parametrize("refused", ["Hello there. ", "How are you today. "])
def test_a_segment_that_stays_refused_ends_its_context(refused: str) -> None:
    h = Harness(FakeEngine(refusals={refused: 99}), defaults=settings())
    speak(h, "Hello there. How are you today. ")
    h.run()
    (failed,) = h.events(Failed)
    assert isinstance(failed, Failed) and failed.code == "overloaded"
    assert len(h.engine.submitted) == (1 if refused.startswith("Hello") else 4)


def test_an_interrupt_while_a_segment_waits_for_room() -> None:
    h = Harness(FakeEngine(refusals={"How are you today. ": 99}), defaults=settings())
    speak(h, "Hello there. How are you today. ")
    h.run(80)
    h.do(Interrupt("c1"))
    h.run()
    assert interrupted(h).engine_confirmed and not h.events(Failed)


def test_an_engine_that_is_too_slow_shows_as_underrun_and_a_slow_writer_does_not() -> None:
    slow = Harness(FakeEngine(frame_delay_ms=50.0), defaults=settings())
    speak(slow, "Hello there. ")
    slow.run()
    (done,) = slow.events(Done)
    assert isinstance(done, Done) and done.underrun_ms == pytest.approx(5 * 10.0)
    waiting = Harness(defaults=settings())
    waiting.do(Text("c1", "Hello there. "))
    waiting.run(5000)
    speak(waiting, "How are you today. ")
    waiting.run()
    (done,) = waiting.events(Done)
    assert isinstance(done, Done) and done.underrun_ms <= waiting.engine.prefill_ms


def test_the_engines_word_on_a_mistake_of_the_peer_is_passed_on() -> None:
    h = Harness(FakeEngine(failures={"Hi. ": "unknown_voice"}), defaults=settings())
    speak(h, "Hi. ")
    h.run()
    assert h.events(Failed) == [Failed("c1", "unknown_voice", "secret detail")]


def test_a_failed_context_can_be_interrupted_and_takes_no_text() -> None:
    h = Harness(FakeEngine(failures={"Hi. ": "overloaded"}), defaults=settings())
    speak(h, "Hi. ")
    h.run()
    (failed,) = h.do(Text("c1", "more"))
    assert isinstance(failed, Failed) and failed.code == "context_state"
    (answer,) = h.do(Interrupt("c1"))
    assert isinstance(answer, Interrupted) and answer.unspoken_text == "Hi. "


@pytest.mark.parametrize(
    ("first_frame", "pcm"), [(5, b"\0" * 2560), (0, b"\0" * 2560), (2, b"\0" * 100)]
)
def test_frames_that_do_not_follow_fail_the_context(first_frame: int, pcm: bytes) -> None:
    h = Harness(FakeEngine(prefill_ms=1e9), defaults=settings())
    speak(h)
    request_id = h.engine.submitted[0].request_id
    for i in range(2):
        h.session.engine_frames(request_id, i, b"\0" * 2560, b"\0" * 6, (), h.now_ms)
    h.session.engine_frames(request_id, first_frame, pcm, b"\0" * 6, (), h.now_ms)
    h.collect()
    h.run(1000)
    assert [e.code for e in h.events(Failed)] == ["engine_failed"]
    assert h.engine.aborted == [request_id]


@pytest.mark.parametrize(("reason", "frames"), [("aborted", 0), ("stop", 4)])
def test_an_end_that_does_not_fit_fails_the_context(reason: str, frames: int) -> None:
    h = Harness(FakeEngine(prefill_ms=1e9), defaults=settings())
    speak(h)
    h.session.engine_finished(h.engine.submitted[0].request_id, reason, frames, 0, 0, h.now_ms)
    h.collect()
    assert [e.code for e in h.events(Failed)] == ["engine_failed"]


def test_a_segment_without_a_sound_is_no_failure() -> None:
    h = Harness(FakeEngine(prefill_ms=1e9), defaults=settings())
    speak(h, "Hi. ")
    h.session.engine_finished(h.engine.submitted[0].request_id, "stop", 0, 10, 5, h.now_ms)
    h.collect()
    assert h.events(Done) == [Done("c1", 0.0, 0, 0, 10, 5, None)]


# --- limits and orphans ---


def test_too_many_contexts() -> None:
    h = Harness(limits=Limits(max_contexts=2))
    for name in ("c1", "c2"):
        h.do(Text(name, "Hi"))
    for command in (Text("c3", "Hi"), Configure("c3", SettingsPatch())):
        (failed,) = h.do(command)
        assert isinstance(failed, Failed)
        assert (failed.context, failed.code) == ("c3", "limit_exceeded")
    h.do(Interrupt("c1"))
    assert h.do(Text("c3", "Hi")) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x" * 101, "limit_exceeded"),
        ("x" * 1001, "invalid_text"),
        ("a\0b", "invalid_text"),
        ("a\ud800b", "invalid_text"),
    ],
)
def test_bad_text_is_refused_and_leaves_nothing_behind(text: str, code: str) -> None:
    h = Harness(limits=Limits(max_buffered_chars=100, max_context_chars=1000))
    (failed,) = h.do(Text("c1", text))
    assert isinstance(failed, Failed) and failed.code == code and "expected" in failed.message
    (unknown,) = h.do(Flush("c1"))
    assert isinstance(unknown, Failed) and unknown.code == "unknown_context"


def test_refused_text_can_be_sent_again_when_there_is_room() -> None:
    h = Harness(limits=Limits(max_buffered_chars=60), defaults=settings(lead_ms=0))
    h.do(Text("c1", LONG))
    refused = "And this is the rest of it. "
    (failed,) = h.do(Text("c1", refused))
    assert isinstance(failed, Failed) and failed.code == "limit_exceeded"
    h.run(1000)
    assert h.do(Text("c1", refused)) == []
    h.do(End("c1"))
    h.run()
    assert "".join(s.text for s in h.engine.submitted) == LONG + refused


def test_a_forgotten_context_is_ended_and_lets_the_next_one_speak() -> None:
    h = Harness(limits=Limits(idle_timeout_ms=5000), defaults=settings())
    h.do(Text("c1", "Hello there. "))
    speak(h, LONG, "c2")
    h.run(4000)
    assert not h.audio("c2")
    h.run()
    assert [e.context for e in h.events(Done)] == ["c1", "c2"]


def test_a_context_that_was_only_configured_is_reaped() -> None:
    h = Harness(limits=Limits(idle_timeout_ms=5000))
    h.do(Configure("c1", SettingsPatch()))
    h.run()
    assert h.events(Done) == [Done("c1", 0.0, 0, 0, 0, 0, None)]


def test_a_context_paused_for_ever_is_interrupted() -> None:
    h = Harness(limits=Limits(idle_timeout_ms=5000), defaults=settings())
    speak(h, LONG)
    h.run(50)
    h.do(Duck("c1", 0.0))
    h.run()
    assert interrupted(h).unspoken_text


def test_an_engine_that_says_nothing_is_given_up() -> None:
    h = Harness(FakeEngine(prefill_ms=1e9), Limits(idle_timeout_ms=5000), defaults=settings())
    speak(h, LONG)
    h.run()
    assert [e.code for e in h.events(Failed)] == ["engine_failed"] and h.engine.aborted


def test_a_lost_socket_stops_all_work_and_says_nothing_more() -> None:
    h = running(frame_delay_ms=20.0)
    speak(h, LONG, "c2")
    before = len(h.sent)
    h.session.disconnected(h.now_ms)
    h.collect()
    h.session.disconnected(h.now_ms)
    h.do(Text("c3", "Hi. "))
    h.run()
    assert len(h.sent) == before
    assert len(h.engine.aborted) == 1 and h.session.next_deadline_ms() is None


def test_memory_of_what_is_over_is_bounded() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    for i in range(50):
        speak(h, "Hi. ", f"c{i}")
        h.run(500)
    assert len(h.session._roster._over) == 8
    (failed,) = h.do(Text("c0", "late"))
    assert isinstance(failed, Failed) and failed.code == "context_state"
    (unknown,) = h.do(Interrupt("c0"))
    assert isinstance(unknown, Failed) and unknown.code == "unknown_context"
    assert h.do(Playback("c0", 1.0)) == []
    (failed,) = h.do(Playback("never", 1.0))
    assert isinstance(failed, Failed)
