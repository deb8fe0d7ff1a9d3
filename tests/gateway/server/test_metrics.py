"""Metrics: every event counts once, and the page is what Prometheus reads."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from engine.api import EngineStats
from engine.fake import FakeEngine
from gateway.server.metrics import Metrics
from gateway.types import Audio, Done, Failed, Interrupt, Interrupted
from tests.gateway.fakes import FakeEngine as ScriptedEngine
from tests.gateway.fakes import Harness, settings
from tests.gateway.shell import gateway, http
from tests.gateway.talk import speak

STATS = EngineStats(
    running=2,
    waiting=1,
    free_slots=6,
    frames_total=50,
    prompt_tokens_total=9,
    cached_tokens_total=4,
)


def values(page: bytes) -> dict[str, float]:
    """Every sample of a page, named `name{label}`."""
    found = {}
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            labels = ",".join(sample.labels.values())
            found[
                sample.name.removeprefix("voice_gateway_") + (f"{{{labels}}}" if labels else "")
            ] = sample.value
    return found


def test_events_are_counted() -> None:
    metrics = Metrics()
    metrics.observe(Audio("a", 1, 0, 0, 0, b"12345"))
    metrics.observe(Done("a", 2000.0, 43, 1, 20, 5, 41.0))
    metrics.observe(Done("b", 0.0, 0, 0, 0, 0, None, truncated=True))
    metrics.observe(Done("e", 0.0, 0, 0, 0, 0, None, skipped_words=3, retries=2))
    metrics.observe(Interrupted("c", 0, "", "", 0.0, 0.0, True, 7))
    metrics.observe(Failed("d", "engine_failed", "x", ended=True))
    metrics.observe(Failed(None, "invalid_message", "x"))
    found = values(metrics.render(STATS))
    expected = {
        "audio_packets_total": 1,
        "audio_bytes_total": 5,
        "contexts_total{done}": 1,
        "contexts_total{truncated}": 1,
        "contexts_total{incomplete}": 1,
        "skipped_words_total": 3,
        "retries_total": 2,
        "contexts_total{interrupted}": 1,
        "contexts_total{failed}": 1,
        "errors_total{invalid_message}": 1,
        "audio_seconds_total": 2,
        "frames_total": 43,
        "frames_wasted_total": 7,
        "prompt_tokens_total": 20,
        "cached_tokens_total": 5,
        "first_audio_seconds_count": 1,
        "engine_requests{running}": 2,
        "engine_free_slots": 6,
    }
    assert {name: found[name] for name in expected} == expected


def test_every_context_ends_once_however_often_it_is_interrupted() -> None:
    h = Harness(
        ScriptedEngine(frame_delay_ms=10.0, failures={"boom. ": "overloaded"}, fail_after=1),
        defaults=settings(lead_ms=0),
    )
    for i, text in enumerate(("Hello there. ", "boom. ", "How are you today. ")):
        speak(h, text, f"c{i}")
        h.run(90)
    for context in (None, "c0", "c1", "c2", "c2"):
        h.do(Interrupt(context))
        h.run(100)
    metrics = Metrics()
    for _, event in h.sent:
        metrics.observe(event)
    found = values(metrics.render(None))
    ended = {name: found[name] for name in found if name.startswith("contexts_total")}
    assert ended == {
        "contexts_total{done}": 1,
        "contexts_total{failed}": 1,
        "contexts_total{interrupted}": 1,
    }
    wasted = [e.frames_wasted for e in h.events(Interrupted, "c2")]
    assert len(wasted) == 3 and found["frames_wasted_total"] == wasted[0] > 0


async def test_the_page_of_a_running_gateway() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served, http(served) as client:
        await client.post("v1/audio/speech", json={"input": "Hello.", "voice": "default"})
        response = await client.get("metrics")
        assert response.headers["content-type"].startswith("text/plain")
        found = values(response.content)
    assert found["ready"] == 1
    assert found["sessions_total{openai}"] == 1
    assert found["open_sessions{openai}"] == 0
    assert found["frames_total"] == engine._frames_total == found["engine_frames_made"]
