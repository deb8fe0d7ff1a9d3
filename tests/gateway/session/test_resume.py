"""A session that loses its client, waits, and is resumed: in virtual time, cut anywhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from gateway.errors import InvalidTextError, ResumeExpiredError
from gateway.types import (
    Abort,
    Audio,
    Configure,
    Configured,
    Done,
    End,
    Event,
    Failed,
    Hello,
    Interrupt,
    Interrupted,
    Limits,
    Playback,
    Send,
    SettingsPatch,
    Text,
)
from tests.gateway.fake_parts import FakeChain
from tests.gateway.fakes import FakeEngine, Harness, settings
from tests.gateway.returning_client import Client

WINDOW_MS = 5000
LIMITS = Limits(resume_window_ms=WINDOW_MS)
SENTENCES = "The first sentence. And here is the second one. A third. The last one is this. "


def harness(limits: Limits = LIMITS, token: str | None = "secret", **args: Any) -> Harness:
    return Harness(limits=limits, resume_token=token, **args)


def speak(h: Harness, text: str = SENTENCES, context: str = "a", **changes: Any) -> None:
    h.do(Configure(context, SettingsPatch(format=settings().format, **changes)))
    h.do(Text(context, text))
    h.do(End(context))


def lose(h: Harness) -> None:
    h.session.disconnected(h.now_ms)
    h.collect()


def payloads(events: list[Event], context: str = "a") -> list[tuple[int, int, bytes]]:
    return [
        (e.sequence, e.timestamp_samples, e.payload)
        for e in events
        if isinstance(e, Audio) and e.context == context
    ]


def uninterrupted(**changes: Any) -> list[Event]:
    h = harness(token=None)
    speak(h, **changes)
    h.run()
    return [event for _, event in h.sent]


WHOLE = uninterrupted()


def test_the_greeting_says_what_is_possible() -> None:
    for limits, token, told in (
        (LIMITS, "secret", "secret"),
        (LIMITS, None, None),
        (Limits(resume_window_ms=0), "secret", None),
    ):
        (hello,) = harness(limits, token).events(Hello)
        assert isinstance(hello, Hello)
        assert (hello.resume_token, hello.resumed, hello.received) == (told, False, 0)


@pytest.mark.parametrize("limits", [LIMITS, Limits(resume_window_ms=0)])
def test_without_a_token_or_a_window_a_loss_is_the_end(limits: Limits) -> None:
    h = harness(limits, "secret" if limits.resume_window_ms == 0 else None)
    speak(h)
    h.run(20)
    lose(h)
    assert h.session.closed and h.engine.aborted
    with pytest.raises(ResumeExpiredError):
        h.session.resume(0, h.now_ms)


@examples(max_examples=40)
@given(
    cut_ms=st.floats(0, 4000),
    lost=st.integers(0, 40),
    away_ms=st.floats(0, WINDOW_MS - 1),
    lead_ms=st.sampled_from([0, 200, 1500]),
)
def test_cut_anywhere_nothing_is_lost_or_said_twice(
    cut_ms: float, lost: int, away_ms: float, lead_ms: int
) -> None:
    h = harness()
    client = Client(h)
    speak(h, lead_ms=lead_ms)
    h.run(cut_ms)
    client.take(lost)
    lose(h)
    h.run(away_ms)
    client.come_back()
    h.run()
    client.take()
    assert payloads(client.received) == payloads(WHOLE)
    assert [type(e) for e in client.received].count(Done) == 1
    first, second = client.greetings
    assert not first.resumed and second.resumed
    assert (second.session, second.resume_token, second.received) == ("s-1", "secret", 3)


@examples(max_examples=25)
@given(cuts=st.lists(st.tuples(st.floats(0, 800), st.integers(0, 10)), max_size=5))
def test_many_losses_are_as_good_as_one(cuts: list[tuple[float, int]]) -> None:
    h = harness()
    client = Client(h)
    speak(h, lead_ms=200)
    for run_ms, lost in cuts:
        h.run(run_ms)
        client.take(lost)
        lose(h)
        h.run(50)
        client.come_back()
    h.run()
    client.take()
    assert payloads(client.received) == payloads(WHOLE)


def test_a_client_may_be_back_before_its_loss_is_noticed() -> None:
    h = harness()
    client = Client(h)
    speak(h)
    h.run(300)
    client.take(lost=7)
    client.come_back()
    h.run()
    client.take()
    assert payloads(client.received) == payloads(WHOLE)


def test_nothing_is_sent_meanwhile_and_the_engine_works_up_to_the_lead() -> None:
    text = "A sentence of some length. " * 40
    frames = {}
    for lead_ms in (0, 1000, 8000):
        h = harness()
        speak(h, text, lead_ms=lead_ms)
        h.run(40)
        lose(h)
        before = len(h.sent)
        h.run(WINDOW_MS - 1)
        assert len(h.sent) == before
        assert not h.engine.aborted
        frames[lead_ms] = h.engine.frames_made
    segment_frames = h.engine.frames_of("A sentence of some length. ")
    # lead 0: the segment in the making, and the next one, whose sound cannot begin to leave
    assert frames[0] <= 2 * segment_frames
    for lead_ms in (1000, 8000):
        frame_ms = h.engine.facts.frame_ms
        assert lead_ms <= frames[lead_ms] * frame_ms <= lead_ms + 2.5 * segment_frames * frame_ms
    assert h.engine.frames_made < h.engine.frames_of(text)


def test_the_window_closes_and_everything_stops() -> None:
    h = harness(engine=FakeEngine(frame_delay_ms=400.0))
    speak(h)
    h.run(20)
    lose(h)
    h.run(WINDOW_MS - 1)
    assert not h.session.closed
    lose(h)  # told twice: the window does not begin anew
    h.run(2)
    assert h.session.closed and h.engine.aborted
    assert [e for e in h.effects if isinstance(e, Abort)]
    assert h.session.next_deadline_ms() is None
    with pytest.raises(ResumeExpiredError, match="not over"):
        h.session.resume(0, h.now_ms)


def test_a_client_that_leaves_ends_the_session_at_once() -> None:
    h = harness(engine=FakeEngine(frame_delay_ms=400.0))
    speak(h)
    h.run(20)
    h.session.end()
    h.collect()
    assert h.session.closed and h.engine.aborted


def test_what_was_kept_is_bounded_and_what_is_gone_is_refused() -> None:
    h = harness(Limits(resume_window_ms=WINDOW_MS, resume_buffer_bytes=4000))
    speak(h, lead_ms=0)
    h.run(3000)
    sent = len(h.sent) - 1  # the greeting does not count
    lose(h)
    for wrong in (0, sent - 100, sent + 1):
        with pytest.raises(ResumeExpiredError, match="received: expected"):
            h.session.resume(wrong, h.now_ms)
    told = h.session.resume(sent - 2, h.now_ms)
    assert list(told[1:]) == [event for _, event in h.sent[-2:]]


def test_commands_are_counted_so_that_the_client_knows_which_took_effect() -> None:
    h = harness()
    h.do(Configure(None, SettingsPatch(lead_ms=100)))
    h.do(Text("a", "\0"))  # refused, but it came
    h.session.refuse(InvalidTextError("as bad"))
    h.collect()
    lose(h)
    hello, *told = h.session.resume(0, h.now_ms)
    assert isinstance(hello, Hello) and hello.received == 3
    assert [type(event) for event in told] == [Configured, Failed, Failed]


def test_what_never_arrived_was_not_heard() -> None:
    h = harness()
    client = Client(h)
    speak(h, lead_ms=1500)
    h.run(1000)
    client.take(lost=60)  # of 20 ms each
    audio = [e for e in client.received if isinstance(e, Audio)]
    arrived_ms = 20.0 * len(audio)
    assert 0 < arrived_ms < 1000
    lose(h)
    h.run(2000)
    client.come_back()
    (answer,) = [e for e in h.do(Interrupt("a")) if isinstance(e, Interrupted)] or [
        e for e in h.run(500) if isinstance(e, Interrupted)
    ]
    assert answer.heard_ms == arrived_ms


def test_a_report_after_the_return_is_believed() -> None:
    h = harness()
    client = Client(h)
    speak(h, lead_ms=1500)
    h.run(1000)
    client.take(lost=10)
    lose(h)
    h.run(2000)
    client.come_back()
    h.do(Playback("a", 640.0))
    h.do(Interrupt("a"))
    h.run(500)
    (answer,) = h.events(Interrupted)
    assert isinstance(answer, Interrupted) and answer.heard_ms == 640.0


def test_a_context_that_failed_meanwhile_says_so_afterwards() -> None:
    h = harness(engine=FakeEngine(failures={"A third. ": "engine_failed"}))
    client = Client(h)
    speak(h, lead_ms=200)
    h.run(100)
    client.take()
    lose(h)
    h.run(1000)
    client.come_back()
    h.run()
    client.take()
    whole = payloads(WHOLE)
    assert payloads(client.received) == whole[: len(payloads(client.received))]
    (failed,) = [e for e in client.received if isinstance(e, Failed)]
    assert failed.code == "engine_failed"


def test_a_chain_with_a_pre_skip_is_put_back_to_what_was_received() -> None:
    h = harness(chain=lambda audio_format, speed: FakeChain(audio_format, speed, pre_skip=320))
    client = Client(h)
    speak(h, lead_ms=1500)
    h.run(1000)
    client.take(lost=60)
    arrived_ms = 20.0 * len(payloads(client.received)) - 20.0
    lose(h)
    h.run(2000)
    client.come_back()
    h.do(Interrupt("a"))
    h.run(500)
    (answer,) = h.events(Interrupted)
    assert isinstance(answer, Interrupted) and answer.heard_ms == arrived_ms


def test_a_session_without_a_token_keeps_nothing() -> None:
    h = harness(token=None)
    speak(h)
    h.run()
    assert len(h.session._resume_window._replay) == 0
    assert [e for e in h.effects if isinstance(e, Send)]
