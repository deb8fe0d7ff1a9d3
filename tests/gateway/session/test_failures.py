"""Failures, limits and forgotten contexts, in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gateway.text.segment import segmenter_for
from gateway.types import (
    Configure,
    Done,
    Duck,
    Ducked,
    End,
    Failed,
    Finished,
    Flush,
    Frames,
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
from gateway.utterance.word_times import split_words
from tests.gateway.fake_parts import FACTS, PCM
from tests.gateway.fakes import FakeEngine, Harness, settings
from tests.gateway.talk import (
    LONG,
    expected_samples,
    interrupted,
    running,
    samples,
    speak,
)

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
        h.session.report(Frames(request_id, i, b"\0" * 2560, b"\0" * 6, ()), h.now_ms)
    h.session.report(Frames(request_id, first_frame, pcm, b"\0" * 6, ()), h.now_ms)
    h.collect()
    h.run(1000)
    assert [e.code for e in h.events(Failed)] == ["engine_failed"]
    assert h.engine.aborted == [request_id]


@pytest.mark.parametrize(("reason", "frames"), [("aborted", 0), ("stop", 4)])
def test_an_end_that_does_not_fit_fails_the_context(reason: str, frames: int) -> None:
    h = Harness(FakeEngine(prefill_ms=1e9), defaults=settings())
    speak(h)
    h.session.report(Finished(h.engine.submitted[0].request_id, reason, frames, 0, 0), h.now_ms)
    h.collect()
    assert [e.code for e in h.events(Failed)] == ["engine_failed"]


def test_a_segment_without_a_sound_is_no_failure() -> None:
    h = Harness(FakeEngine(prefill_ms=1e9), defaults=settings())
    speak(h, "Hi. ")
    h.session.report(Finished(h.engine.submitted[0].request_id, "stop", 0, 10, 5), h.now_ms)
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
    for command in (Text("c0", "late"), Flush("c0")):
        (failed,) = h.do(command)
        assert isinstance(failed, Failed) and failed.code == "context_state"
    assert h.do(Playback("c0", 1.0)) == [] and h.do(End("c0")) == []
    (failed,) = h.do(Playback("never", 1.0))
    assert isinstance(failed, Failed) and failed.code == "unknown_context"


@given(st.lists(st.sampled_from(["done", "heard", "failed"]), min_size=1, max_size=20), st.data())
@hypothesis_settings(max_examples=40, deadline=None)
def test_what_is_legal_for_a_context_that_is_over_stays_so_however_many_end_after_it(
    ends: list[str], data: st.DataObject
) -> None:
    h = Harness(
        FakeEngine(failures={"boom. ": "engine_failed"}, fail_after=1), defaults=settings(lead_ms=0)
    )
    texts = {}
    for i, end in enumerate(ends):
        texts[f"c{i}"] = "boom. " if end == "failed" else "Hi there. "
        speak(h, texts[f"c{i}"], f"c{i}")
        h.run(50 if end == "heard" else 3000)
        if end == "heard":
            h.do(Interrupt(f"c{i}"))
            h.run(1000)
    for context in data.draw(st.permutations(list(texts))):
        assert h.do(End(context)) == []
        (answer,) = h.do(Interrupt(context))
        assert isinstance(answer, Interrupted)
        assert answer.heard_text + answer.unspoken_text == texts[context]
        assert h.do(Interrupt(context)) == [answer]
        (ducked,) = h.do(Duck(context, 0.5))
        (resumed,) = h.do(Resume(context))
        assert ducked == Ducked(context, answer.sent_ms)
        assert resumed == Resumed(context, answer.sent_ms)
        if ends[int(context[1:])] == "done":
            assert answer.heard_text == texts[context]
        h.do(Configure(context, SettingsPatch()))
        assert h.session._roster.find(context).generation == 1  # type: ignore[union-attr]
        h.do(Interrupt(context))
    assert h.session._roster._answer_chars == 0 or len(ends) > 8


def test_answers_of_what_is_over_are_kept_within_a_bound() -> None:
    h = Harness(limits=Limits(max_context_chars=10**6, max_buffered_chars=10**6))
    h.engine.frames_of = lambda text: 1  # type: ignore[method-assign]
    h.do(Configure(None, SettingsPatch(format=PCM, lead_ms=0)))
    for i in range(15):
        speak(h, "x" * 30_000 + ". ", f"c{i}")
        h.run(500)
    assert len(h.session._roster._answers) == 3
    (answer,) = h.do(Interrupt("c0"))
    assert answer == Interrupted("c0", 0, "", "", 0.0, 0.0, True, 0)
    assert h.do(Interrupt("c0")) == [answer]
    (answer,) = h.do(Interrupt("c5"))
    assert isinstance(answer, Interrupted) and len(answer.heard_text) == 30_002


def test_an_end_without_any_text_is_done_at_once() -> None:
    h = Harness(limits=Limits(max_contexts=1))
    for context in ("c1", "c2"):
        assert h.do(End(context)) == [Done(context, 0.0, 0, 0, 0, 0, None)]
        assert h.do(End(context)) == []
    h.do(Text("c3", "Hi"))
    (failed,) = h.do(End("c4"))
    assert isinstance(failed, Failed) and failed.code == "limit_exceeded"


@pytest.mark.parametrize("speaks_tags", [True, False])
@pytest.mark.parametrize("text", ["[laugh]", "[laugh] [sigh]. ", "Hi. [laugh]", "[laugh] Hi."])
def test_a_lone_tag_is_silent_where_tags_make_no_sound_and_ends_nothing(
    text: str, speaks_tags: bool
) -> None:
    class Strict(FakeEngine):
        """Refuses, as the built-in voice does, what it has no sounds for."""

        def frames_of(self, text: str) -> int:
            assert speaks_tags or split_words(text)
            return super().frames_of(text)

    h = Harness(
        Strict(facts=replace(FACTS, speaks_tags=speaks_tags)),
        defaults=settings(),
        segmenter_factory=segmenter_for,
    )
    speak(h, text)
    h.run()
    (done,) = h.events(Done)
    assert isinstance(done, Done)
    assert (done.audio_ms > 0) is (speaks_tags or "Hi" in text)
    speak(h, "And on. ", "c2")
    h.run()
    assert len(h.events(Done)) == 2 and not h.events(Failed)
