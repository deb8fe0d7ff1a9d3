"""Conversations, in virtual time: text in, paced audio out."""

from __future__ import annotations

import pytest

from gateway.session.session import BURST_EVENTS
from gateway.types import (
    Configure,
    Done,
    End,
    Failed,
    Hello,
    Interrupt,
    Limits,
    Playback,
    SegmentStarted,
    SettingsPatch,
    Started,
    Text,
)
from gateway.utterance.egress import BURST_PACKETS
from tests.gateway.fake_parts import PCM, FakeChain
from tests.gateway.fakes import FakeEngine, Harness, settings
from tests.gateway.talk import (
    TEXT,
    expected_samples,
    samples,
    speak,
)


def test_the_greeting_publishes_the_limits() -> None:
    (hello,) = Harness().events(Hello)
    assert isinstance(hello, Hello)
    assert hello.session == "s-1" and hello.voices == ("default", "other")
    assert hello.limits["max_contexts"] == 8 and hello.limits["max_buffered_chars"] == 20_000
    assert hello.engine["num_codebooks"] == 3 and "voices" not in hello.engine


def test_text_becomes_audio_whole_and_in_order() -> None:
    # As a real chain does, this one keeps the end back for a crossfade with what may follow.
    h = Harness(chain=lambda f, s: FakeChain(f, s, hold=80), defaults=settings(lead_ms=0))
    speak(h)
    h.run()
    texts = ["Hello there. ", "How are you today. ", "All is well here. "]
    assert [s.text for s in h.engine.submitted] == texts
    assert samples(h) == expected_samples(h.engine, *texts)
    packets = [packet for _, packet in h.audio("c1")]
    assert [p.sequence for p in packets] == list(range(len(packets)))
    assert [p.timestamp_samples for p in packets] == [320 * i for i in range(len(packets))]
    assert [p.last for p in packets] == [False] * (len(packets) - 1) + [True]
    (started,) = h.events(Started)
    assert started == Started("c1", 1, 0, PCM, 0)
    (done,) = h.events(Done)
    frames = sum(map(h.engine.frames_of, texts))
    assert done == Done("c1", 40.0 * frames, frames, 3, 90, 36, h.engine.prefill_ms, 1)
    kinds = [type(event) for _, event in h.sent]
    assert kinds.index(Started) < kinds.index(SegmentStarted) < kinds.index(type(packets[0]))
    assert kinds[-1] is Done


def test_segments_name_their_characters_and_their_place_in_time() -> None:
    h = Harness(defaults=settings())
    speak(h)
    h.run()
    segments = [e for e in h.events(SegmentStarted) if isinstance(e, SegmentStarted)]
    assert "".join(s.text for s in segments) == TEXT
    assert [TEXT[s.start : s.end] for s in segments] == [s.text for s in segments]
    starts = [0.0, 40.0 * 6, 40.0 * (6 + 9)]
    assert [s.start_ms for s in segments] == starts


def test_the_next_segment_is_made_while_the_one_before_plays() -> None:
    h = Harness(defaults=settings(lead_ms=100))
    speak(h)
    submitted_at = []
    while h.session.next_deadline_ms() is not None and not h.events(Done):
        h.run(1.0)
        while len(submitted_at) < len(h.engine.submitted):
            submitted_at.append(h.now_ms)
    # 6 frames of 40 ms: the second is ordered when the first begins to leave, the third when the
    # second does, 100 ms before the first has been heard.
    assert submitted_at[1] - submitted_at[0] <= 10 + 6 * 4 + 2
    assert submitted_at[2] - submitted_at[0] == pytest.approx(10 + 240 - 100, abs=25)


def test_earlier_segments_are_the_history_of_later_ones() -> None:
    h = Harness(defaults=settings())
    speak(h)
    h.run()
    first, second, third = h.engine.submitted
    assert first.history == ()
    assert [turn.text for turn in second.history] == ["Hello there. "]
    assert [turn.text for turn in third.history] == ["Hello there. ", "How are you today. "]
    assert len(second.history[0].codes) == 6 * 3 * 2
    assert len({s.dialogue for s in h.engine.submitted}) == 1


def test_history_is_bounded_and_another_voice_starts_afresh() -> None:
    h = Harness(defaults=settings(lead_ms=0), limits=Limits(history_turns=2))
    h.do(Text("c1", "A aa. B bb. C cc. D dd. "))
    h.run(1000)
    assert [len(s.history) for s in h.engine.submitted] == [0, 1, 2, 2]
    h.do(Configure("c1", SettingsPatch(voice="other")))
    h.do(Text("c1", "E ee. "))
    h.run(1000)
    assert h.engine.submitted[-1].voice == "other" and h.engine.submitted[-1].history == ()


def test_the_tone_is_carried_into_the_next_context_of_the_same_voice() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    speak(h, "Hello there. How are you. ")
    h.run()
    speak(h, "And on it goes. Still. ", context="c2")
    h.run()
    h.do(Configure("c3", SettingsPatch(voice="other")))
    speak(h, "Another voice. ", context="c3")
    h.run()
    h.do(Configure("c4", SettingsPatch(voice="other", carry_prosody=False)))
    speak(h, "By itself. Really. ", context="c4")
    h.run()
    histories = {s.text: [turn.text for turn in s.history] for s in h.engine.submitted}
    assert histories["And on it goes. "] == ["Hello there. ", "How are you. "]
    assert histories["Still. "] == ["Hello there. ", "How are you. ", "And on it goes. "]
    assert histories["Another voice. "] == histories["By itself. "] == []
    assert histories["Really. "] == ["By itself. "]
    assert {s.dialogue for s in h.engine.submitted} == {"s-1"}


def test_what_was_cut_off_is_no_model_for_the_next_context() -> None:
    h = Harness(FakeEngine(frame_delay_ms=20.0), defaults=settings(lead_ms=0))
    speak(h, "First. This one is cut off in the middle. ")
    h.run(250)
    h.do(Interrupt("c1"))
    h.run()
    speak(h, "Next. ", context="c2")
    h.run()
    assert [s.text.split()[0] for s in h.engine.submitted] == ["First.", "This", "Next."]
    assert [turn.text for turn in h.engine.submitted[-1].history] == ["First. "]


def test_a_runaway_is_reported_and_is_no_history() -> None:
    h = Harness(FakeEngine(runaways=frozenset({"Hello there. "})), defaults=settings())
    speak(h)
    h.run()
    assert h.engine.submitted[1].history == ()
    (done,) = h.events(Done)
    assert isinstance(done, Done) and done.truncated


@pytest.mark.parametrize("lead_ms", [20, 200, 1000])
def test_audio_leaves_at_most_so_far_ahead(lead_ms: int) -> None:
    h = Harness(defaults=settings(lead_ms=lead_ms))
    speak(h)
    h.run()
    packets = h.audio("c1")
    start_ms = packets[0][0]
    for at_ms, packet in packets:
        end_ms = (packet.timestamp_samples + 320) / 16
        assert end_ms - (at_ms - start_ms) <= lead_ms + 1e-6
    # ... and never so late that the listener would run dry, once the engine has delivered.
    for at_ms, packet in packets:
        assert at_ms - start_ms <= packet.timestamp_samples / 16 + 1e-6


def test_a_lead_of_zero_sends_as_it_is_made() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    speak(h)
    h.run(200)
    assert h.events(Done)


def test_playback_reports_steer_the_pacing() -> None:
    h = Harness(FakeEngine(frame_delay_ms=0), defaults=settings(lead_ms=200))
    speak(h)
    h.run(100)
    before = len(h.audio("c1"))
    assert before == 14  # 200 ms ahead, and 80 to 100 ms were played
    h.do(Playback("c1", 0.0))  # nothing has been played yet
    h.run(80)
    assert len(h.audio("c1")) == before
    h.do(Playback("c1", 200.0))
    assert len(h.audio("c1")) == 20


def test_a_backlog_leaves_in_bursts_so_that_the_socket_can_object() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    h.session.set_writable(False, h.now_ms)
    h.do(Text("a", "A rather long sentence, made while nothing could be sent. " * 2))
    h.run(5000)
    before = len(h.audio("a"))
    h.session.set_writable(True, h.now_ms)
    h.collect()
    burst = len(h.audio("a")) - before
    assert 0 < burst <= BURST_EVENTS + BURST_PACKETS
    assert h.session.next_deadline_ms() == 0.0
    h.session.set_writable(False, h.now_ms)
    h.run(1000)
    assert len(h.audio("a")) == before + burst
    h.session.set_writable(True, h.now_ms)
    h.run(1000)
    assert len(h.audio("a")) > before + 2 * burst


def test_nothing_is_pulled_while_the_socket_takes_nothing() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    h.session.set_writable(False, h.now_ms)
    speak(h)
    h.run(1000)
    assert not h.audio("c1") and len(h.engine.submitted) == 1
    assert h.chains[0].position_samples == 0
    h.session.set_writable(True, h.now_ms)
    h.collect()
    h.run()
    assert h.events(Done) and len(h.engine.submitted) == 3


def test_text_is_taken_while_audio_is_made() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    for char in TEXT * 4:
        h.do(Text("c1", char))
        h.run(1.0)
    h.do(End("c1"))
    h.run()
    assert not h.events(Failed)
    assert "".join(s.text for s in h.engine.submitted) == TEXT * 4


# --- several contexts ---


def test_contexts_are_played_in_the_order_of_opening() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    for name in ("c1", "c2", "c3"):
        speak(h, TEXT, name)
    h.run()
    assert [e.context for e in h.events(Started)] == ["c1", "c2", "c3"]
    assert [e.number for e in h.events(Started)] == [1, 2, 3]
    order = [e.context for _, e in h.sent if type(e).__name__ == "Audio"]
    assert order == sorted(order)


def test_the_next_context_is_made_ahead_and_does_not_keep_the_front_one_waiting() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    h.do(Text("c1", "Hello there. "))
    h.run(500)
    speak(h, TEXT, "c2")
    h.run(500)
    assert [s.text for s in h.engine.submitted] == ["Hello there. ", "Hello there. "]
    assert not h.audio("c2")
    h.do(Text("c1", "How are you today. "))
    assert h.engine.submitted[-1].text == "How are you today. "
    h.do(End("c1"))
    h.run()
    assert [e.context for e in h.events(Done)] == ["c1", "c2"]


def test_the_lead_is_the_sessions_not_the_contexts() -> None:
    h = Harness(FakeEngine(frame_delay_ms=0), defaults=settings(lead_ms=200))
    speak(h, "Hello there. ", "c1")  # 240 ms
    speak(h, TEXT, "c2")
    h.run()
    start_ms = h.audio("c1")[0][0]
    for at_ms, packet in h.audio("c2"):
        end_ms = 240 + (packet.timestamp_samples + 320) / 16
        assert end_ms - (at_ms - start_ms) <= 200 + 1e-6
