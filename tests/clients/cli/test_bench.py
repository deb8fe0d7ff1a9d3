"""The load: what its listeners count, on numbers, and a small one on a real gateway."""

from __future__ import annotations

import json

import pytest

from clients.cli import bench
from clients.cli.bench import Load, Turn, _Listener
from clients.python.wire import AudioPacket, Interrupted, SegmentStarted
from engine.fake import Failure, FakeEngine, FakeEngineConfig
from tests.gateway.shell import gateway

PACKET = AudioPacket(1, 0, 0, 0, bytes([0xF8]))  # 20 ms of Opus


def segment(end: int) -> SegmentStarted:
    return SegmentStarted("c", 0, 0, end, "x" * end, 0.0)


def test_first_audio_counts_from_the_text_that_completes_the_first_segment() -> None:
    listener = _Listener(Turn())
    listener.sent = [(6, 1.0), (13, 1.1), (20, 1.2), (26, 1.3)]
    listener.take(segment(13), 1.4)
    listener.take(PACKET, 1.25)
    listener.take(segment(26), 1.5)
    listener.take(PACKET, 1.5)
    assert listener.turn.first_audio_ms == pytest.approx(50)


def test_a_segment_that_the_end_completes_counts_from_the_last_text() -> None:
    listener = _Listener(Turn())
    listener.sent = [(6, 1.0), (13, 1.1)]
    listener.take(segment(13), 1.2)
    listener.take(PACKET, 1.2)
    assert listener.turn.first_audio_ms == pytest.approx(100)


def test_gaps_are_what_a_loudspeaker_would_have_lacked() -> None:
    listener = _Listener(Turn())
    for now_s in (1.0, 1.0, 1.03, 1.18, 1.25):  # dry at 1.06 and at 1.20
        listener.take(PACKET, now_s)
    turn = listener.turn
    assert turn.audio_ms == pytest.approx(100)
    assert turn.longest_gap_ms == pytest.approx(120)
    assert turn.gap_ms == pytest.approx(170)
    assert listener.played_ms(1.26) == pytest.approx(90)
    assert listener.played_ms(9.0) == pytest.approx(100)


def test_a_summary_names_what_failed_and_leaves_it_out() -> None:
    answer = Interrupted("c", 0, "a", "b", 1.0, 2.0, engine_confirmed=True)
    turns = [
        Turn(first_audio_ms=10.0, audio_ms=1000.0, answer_ms=3.0, answer=answer),
        Turn(first_audio_ms=30.0, audio_ms=2000.0, longest_gap_ms=500.0),
        Turn(error="engine_failed", first_audio_ms=9999.0),
    ]
    report = bench.summary(Load(), turns, 4.0)
    assert report["first_audio_ms"] == {"p50": 20.0, "p95": 30.0, "max": 30.0}
    assert (report["without_audible_gap"], report["audio_s"]) == (0.5, 3.0)
    assert (report["interrupts"], report["interrupts_confirmed"]) == (1, 1.0)
    assert report["errors"] == {"engine_failed": 1} and report["turns"] == 3
    json.dumps(report)


def test_a_summary_of_nothing_has_no_figures() -> None:
    report = bench.summary(Load(), [Turn(error="x")], 1.0)
    assert report["first_audio_ms"] is None and report["without_audible_gap"] is None


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "TEXTS", ("Hello there, my friend. ",))


@pytest.mark.usefixtures("short")
async def test_conversations_run_side_by_side_to_their_end() -> None:
    engine = FakeEngine(FakeEngineConfig(frames_per_char=0.5))
    load = Load(conversations=3, turns=2, interrupts=0.0, tokens_per_s=0.0)
    async with gateway(engine) as served:
        report = await bench.run(served.url, load)
    assert (report["turns"], report["errors"], report["interrupts"]) == (6, {}, 0)
    assert report["first_audio_ms"]["p50"] > 0
    assert report["wall_s"] < report["audio_s"]  # three at a time, each at the pace of speech
    assert report["checkpoint"] == "fake"


@pytest.mark.usefixtures("short")
async def test_interrupts_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    load = Load(conversations=2, turns=2, interrupts=1.0, tokens_per_s=0.0, seed=3)
    monkeypatch.setattr("clients.cli.bench._LATEST_INTERRUPT_S", 0.3)
    async with gateway(FakeEngine()) as served:
        report = await bench.run(served.url, load)
    assert report["interrupts"] == 4 and report["interrupts_confirmed"] == 1.0
    assert 0 < report["interrupt_answer_ms"]["max"] < 5000


@pytest.mark.usefixtures("short")
async def test_what_fails_is_counted_and_the_others_go_on() -> None:
    engine = FakeEngine(FakeEngineConfig(frames_per_char=0.2))
    engine.failures.append(Failure("Hello"))
    async with gateway(engine) as served:
        report = await bench.run(served.url, Load(1, turns=2, interrupts=0.0, tokens_per_s=0.0))
        assert sum(report["errors"].values()) == report["turns"] == 2
        report = await bench.run(served.url, Load(1, 1, 0.0, 0.0, voice="nobody"))
        assert report["errors"] == {"unknown_voice": 1}
    with pytest.raises(OSError):
        await bench.run("ws://127.0.0.1:1", Load())
