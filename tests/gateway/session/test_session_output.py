"""Silence, flushes, settings and word times of a conversation, in virtual time."""

from __future__ import annotations

import pytest

from gateway.audio import make_chain
from gateway.text.segment import segmenter_for
from gateway.types import (
    Configure,
    Configured,
    Done,
    End,
    Failed,
    Flush,
    Flushed,
    SegmentStarted,
    SettingsPatch,
    Started,
    Submit,
    Text,
    WarmVoice,
    Words,
)
from tests.gateway.fake_parts import FACTS, PCM, FakeChain
from tests.gateway.fakes import FakeEngine, Harness, settings
from tests.gateway.talk import (
    TEXT,
    expected_samples,
    samples,
    speak,
)

# --- silence ---


@pytest.mark.parametrize("text", ["", "   ", "... ", "\U0001f642. ", "<|speaker:1|>. "])
def test_what_has_no_words_is_a_silent_success(text: str) -> None:
    h = Harness(defaults=settings())
    speak(h, text)
    h.run()
    assert not h.engine.submitted and not h.events(Started)
    assert h.events(Done) == [Done("c1", 0.0, 0, 0, 0, 0, None)]


def test_wordless_segments_between_words_leave_no_gap() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    speak(h, "Hello there. ... How are you today. ")
    h.run()
    assert len(h.engine.submitted) == 2
    (done,) = h.events(Done)
    assert isinstance(done, Done) and done.segments == 2


def test_a_pause_is_exact_silence() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    speak(h, "Hello there.~How are you today.")
    h.run()
    got = samples(h)
    first = expected_samples(h.engine, "Hello there.")
    second = expected_samples(h.engine, "How are you today.")
    assert got == [*first, *[0.0] * 1600, *second]


def test_a_tag_alone_is_spoken() -> None:
    h = Harness(defaults=settings())
    speak(h, "[laughs]")
    h.run()
    assert [s.text for s in h.engine.submitted] == ["[laughs]"]


# --- flush ---


def test_flush_is_answered_when_everything_before_it_has_left() -> None:
    h = Harness(defaults=settings(lead_ms=100))
    h.do(Text("c1", "no end mark"))
    h.do(Flush("c1", 7))
    h.do(Text("c1", " and more"))
    h.do(Flush("c1", "b"))
    h.run()
    assert [s.text for s in h.engine.submitted] == ["no end mark", " and more"]
    flushed = [(t, e) for t, e in h.sent if isinstance(e, Flushed)]
    assert [e.flush_id for _, e in flushed] == [7, "b"]
    assert [e.end_ms for _, e in flushed] == [200.0, 360.0]
    assert flushed[0][0] == max(t for t, p in h.audio("c1") if p.timestamp_samples < 3200)


def test_flush_without_text_is_answered_at_once() -> None:
    h = Harness(defaults=settings())
    h.do(Configure("c1", SettingsPatch()))
    assert h.do(Flush("c1")) == [Flushed("c1", None, 0.0)]


def test_a_flush_lets_out_what_is_too_short_for_a_packet() -> None:
    fmt = settings(format=PCM.__class__(PCM.codec, 16_000, 60), lead_ms=0)
    h = Harness(chain=lambda f, s: FakeChain(f, s, hold=100), defaults=fmt)
    h.do(Text("c1", "Hi all"))  # 3 frames of 40 ms: two packets of 60, but for what is held
    h.do(Flush("c1", 1))
    h.run(500)
    assert len(h.audio("c1")) == 2 and h.events(Flushed)


def test_what_is_held_leaves_before_the_listener_runs_dry() -> None:
    h = Harness(chain=lambda f, s: FakeChain(f, s, hold=100), defaults=settings(lead_ms=0))
    h.do(Text("c1", "Hello there. "))
    h.run(150)
    assert len(h.audio("c1")) == 11  # 240 ms are 12 packets; the last waits for what follows
    h.run(1000)
    assert len(h.audio("c1")) == 12
    h.do(Text("c1", "How are you today. "))
    h.do(End("c1"))
    h.run()
    assert samples(h) == expected_samples(h.engine, "Hello there. ", "How are you today. ")


# --- settings ---


def test_configure_is_answered_and_warms_a_voice_once() -> None:
    h = Harness()
    patch = SettingsPatch(voice="other", lead_ms=0)
    first, again = h.do(Configure(None, patch)), h.do(Configure(None, patch))
    assert first == again and isinstance(first[0], Configured)
    assert first[0].settings.voice == "other"
    assert [e for e in h.effects if isinstance(e, WarmVoice)] == [WarmVoice("other")]
    (own,) = h.do(Configure("c1", SettingsPatch(words=True)))
    assert isinstance(own, Configured)
    assert (own.settings.voice, own.settings.words) == ("other", True)


def test_defaults_do_not_reach_back() -> None:
    h = Harness()
    h.do(Configure("c1", SettingsPatch(lead_ms=5)))
    h.do(Configure(None, SettingsPatch(lead_ms=7)))
    (own,) = h.do(Configure("c1", SettingsPatch()))
    assert isinstance(own, Configured) and own.settings.lead_ms == 5


@pytest.mark.parametrize("context", [None, "c1"])
def test_an_unknown_voice_changes_nothing(context: str | None) -> None:
    h = Harness()
    (failed,) = h.do(Configure(context, SettingsPatch(voice="nobody", lead_ms=1)))
    assert failed == Failed(
        context, "unknown_voice", "voice: expected one of default, other, got nobody"
    )
    (after,) = h.do(Configure(None, SettingsPatch()))
    assert isinstance(after, Configured) and after.settings.lead_ms == 1500


def test_sampling_and_speed_reach_the_engine_and_the_chain() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    h.do(Configure("c1", SettingsPatch(speed=1.5)))
    h.do(Text("c1", "Hello there. "))
    h.run(200)
    h.do(Configure("c1", SettingsPatch(speed=0.5)))
    h.do(Text("c1", "How are you today. "))
    assert h.chains[0].speeds == [1.5, 1.5, 0.5]


# --- words ---


def words_of(h: Harness) -> list[Words]:
    return [e for e in h.events(Words) if isinstance(e, Words)]


@pytest.mark.parametrize(("tokens", "source"), [(False, "proportional"), (True, "heads")])
def test_words_are_in_order_and_cover_the_text(tokens: bool, source: str) -> None:
    h = Harness(FakeEngine(with_tokens=tokens), defaults=settings(words=True))
    speak(h)
    h.run()
    assert {e.source for e in words_of(h)} == {source}
    words = [word for e in words_of(h) for word in e.words]
    assert [w.text for w in words] == TEXT.split()
    assert all(TEXT[w.start : w.end] == w.text for w in words)
    at = 0.0
    for w in words:
        assert at <= w.start_ms <= w.end_ms
        at = w.end_ms
    (done,) = h.events(Done)
    assert isinstance(done, Done) and at <= done.audio_ms
    kinds = [type(e) for _, e in h.sent if isinstance(e, (Words, SegmentStarted))]
    assert kinds == [SegmentStarted, Words] * 3


def test_words_are_only_sent_when_asked_for() -> None:
    h = Harness(defaults=settings())
    speak(h)
    h.run()
    assert not words_of(h)


def test_urgency_falls_as_the_lead_grows() -> None:
    h = Harness(defaults=settings(lead_ms=0))
    speak(h, "A sentence that takes quite a while to say. " * 6)
    h.run()
    urgencies = [s.priority for s in h.engine.submitted if isinstance(s, Submit)]
    assert urgencies[0] == 100 and urgencies[-1] == 0
    assert urgencies == sorted(urgencies, reverse=True)


@pytest.mark.parametrize(("lead_ms", "group"), [(200, 1), (640, 4), (1500, 9)])
def test_packets_leave_in_groups_that_keep_the_lead(lead_ms: int, group: int) -> None:
    h = Harness(FakeEngine(frame_delay_ms=1.0), defaults=settings(lead_ms=lead_ms))
    speak(h, "A sentence of some length, which goes on and on until it ends. " * 4)
    h.run()
    packets = h.audio("c1")
    first_ms = packets[0][0]
    ahead = [(p.sequence + 1) * 20.0 - (at - first_ms) for at, p in packets]
    assert max(ahead) <= lead_ms
    paced = [
        (at, lead) for (at, _), lead in zip(packets, ahead, strict=True) if at > first_ms + 300
    ]
    assert len(paced) > 50
    assert min(lead for _, lead in paced[:-group]) >= lead_ms * 7 / 8 - 20.0
    times = [at for at, _ in paced[: len(paced) // group * group]]
    assert len(set(times)) <= len(times) / group + 2


def test_sound_is_the_more_urgent_the_sooner_the_listener_runs_dry() -> None:
    engine = FakeEngine(prefill_ms=0.0, frame_delay_ms=1.0)
    h = Harness(engine, defaults=settings(lead_ms=200))
    speak(h, "A sentence that takes quite a while to say, and is made at once. ")
    request_id = h.engine.submitted[0].request_id
    assert h.session.dry_at_ms(request_id, h.now_ms) == h.now_ms  # nothing has come yet
    dry_at_ms = []
    for _ in range(10):
        h.run(1.0)
        dry_at_ms.append(h.session.dry_at_ms(request_id, h.now_ms))
    assert dry_at_ms == sorted(dry_at_ms)
    assert dry_at_ms[-1] - h.now_ms > 200.0  # what may not leave yet counts, too
    assert h.session.dry_at_ms("nobody's", h.now_ms) == h.now_ms


@pytest.mark.parametrize("lead_ms", [0, 300, 1500])
@pytest.mark.parametrize("frames", [1, 2, 3])
def test_segments_shorter_than_their_crossfades_do_not_stall(frames: int, lead_ms: int) -> None:
    """What is held back for the next one's crossfade must not keep the next one from being made."""

    class Curt(FakeEngine):
        def frames_of(self, text: str) -> int:
            return frames

    h = Harness(
        Curt(),
        chain=lambda f, s: make_chain(f, FACTS.sample_rate_hz, s),  # type: ignore[arg-type, return-value]
        segmenter_factory=segmenter_for,
    )
    h.do(Configure("c", SettingsPatch(lead_ms=lead_ms)))
    h.do(Text("c", "Yes. No. Why? Oh! When? Red. " * 5))
    h.do(End("c"))
    h.run(120_000.0)
    assert [event.context for event in h.events(Done)] == ["c"]
