"""ElevenLabs' sockets: what their clients send, and what they must get for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.dialects.elevenlabs.formats import OUTPUT_FORMATS
from gateway.dialects.elevenlabs.messages import key_in_message, read_message
from gateway.dialects.elevenlabs.settings import socket_limits
from gateway.errors import ClientError, GatewayError, OverloadedError, SlowClientError
from gateway.types import Configure, Configured, Flush, Interrupt, Submit
from tests.gateway.dialects.elevenlabs.peer import (
    MULTI,
    PCM_BYTES_PER_MS,
    SINGLE,
    Peer,
    opening_of,
)
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import FakeEngine

RECORDINGS = json.loads((Path(__file__).parent / "recordings" / "elevenlabs.json").read_text())
SAID = "The ship sails in the morning. We had soup and bread for lunch. "
LONG = "It was a long and quiet day by the sea. " * 6


# --- what the SDKs have sent ---


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_client_gets_its_speech(name: str) -> None:
    recorded = RECORDINGS[name]
    kind = {"StreamInput": SINGLE, "MultiStreamInput": MULTI}[recorded["kind"]]
    peer = Peer(kind, **{**recorded["query"], "output_format": "pcm_16000"})
    names = dict.fromkeys(json.loads(raw).get("context_id") for raw in recorded["messages"])
    for raw in recorded["messages"]:
        peer.send_raw(raw)
        peer.run(20)
    peer.run()
    assert peer.errors == []
    for context in names:
        assert peer.finals(context) == 1
        if not _was_interrupted(recorded["messages"], context):
            assert " ".join(peer.text(context).split()) == SAID.strip()
            assert len(peer.sound(context)) > 1000 * PCM_BYTES_PER_MS
    assert (peer.closed is not None) == (kind is SINGLE)


def _was_interrupted(messages: list[str], context: str | None) -> bool:
    """Pipecat closes a context once at its end and once more when the user speaks."""
    closes = [m for m in map(json.loads, messages) if m.get("close_context")]
    return sum(m.get("context_id") == context for m in closes) > 1


# --- one utterance a connection ---


def test_an_empty_text_ends_the_speech_and_then_the_connection() -> None:
    peer = Peer(SINGLE)
    peer.send(text=" ", voice_settings={"stability": 0.5, "speed": 1.1})
    for token in ("Hel", "lo the", "re. How ", "are you?"):
        peer.send(text=token, try_trigger_generation=True)
    peer.send(text="")
    peer.send(text="Too late. ")
    peer.run()
    assert peer.text() == "Hello there. How are you? "
    assert peer.frames[-1] == {
        "audio": None, "isFinal": True, "normalizedAlignment": None, "alignment": None,
    }  # fmt: skip
    assert peer.closed is not None and peer.closed.code == 1000
    configured = _settings(peer)
    assert (configured.voice, configured.speed, configured.lead_ms) == ("other", 1.1, 0)


def test_an_end_without_a_text_is_an_end() -> None:
    peer = Peer(SINGLE)
    peer.send(text="")
    peer.run()
    assert peer.finals() == 1 and peer.closed is not None and peer.closed.code == 1000


def test_a_flush_speaks_what_waits_and_leaves_the_connection_open() -> None:
    peer = Peer(SINGLE)
    peer.send(text="Hello the")
    peer.run(100)
    assert not peer.sound()
    peer.send(text="re", flush=True)
    peer.run(1000)
    assert peer.text() == "Hello there " and peer.sound() and peer.closed is None
    peer.send(text="and on. ", flush=True)
    peer.run(1000)
    assert peer.text() == "Hello there and on. "


def test_who_says_nothing_is_closed_as_there() -> None:
    peer = Peer(SINGLE, inactivity_timeout="30")
    peer.send(text="Hello there. ")
    peer.run(29_000)
    assert peer.closed is None
    peer.send(text=" ")  # a sign of life
    peer.run(29_000)
    assert peer.closed is None
    peer.run(3_000)
    assert peer.errors == ["input_timeout_exceeded"]
    assert peer.closed is not None and peer.closed.code == 1008


def test_blanks_keep_alive_before_there_is_a_text() -> None:
    peer = Peer(SINGLE)
    for _ in range(5):
        peer.send(text=" ")
        peer.run(15_000)
    assert peer.closed is None


# --- contexts ---


def test_contexts_are_spoken_beside_each_other() -> None:
    peer = Peer(MULTI)
    peer.send(text=LONG, context_id="a", flush=True)
    peer.run(200)
    peer.send(text="Hello there. ", contextId="b", flush=True)
    peer.send(close_context=True, context_id="b")
    peer.run(15_000)
    assert peer.text("b") == "Hello there. " and peer.finals("b") == 1
    assert peer.finals("a") == 0  # it is open
    assert peer.text("a") == LONG
    assert all(f["context_id"] == f["contextId"] for f in peer.of("a"))


def test_what_was_flushed_is_spoken_after_a_close_and_what_was_not_is_silent() -> None:
    peer = Peer(MULTI)
    for name in ("flushed", "not"):
        peer.send(text=LONG, context_id=name)
        peer.run(50)
    peer.send(context_id="flushed", flush=True)
    for name in ("flushed", "not"):
        peer.send(context_id=name, close_context=True)
    peer.run()
    assert peer.finals("flushed") == peer.finals("not") == 1
    assert len(peer.sound("flushed")) > 3 * len(peer.sound("not"))


def test_a_second_close_silences_what_is_still_spoken() -> None:
    peer = Peer(MULTI, FakeEngine(frame_delay_ms=30.0, facts=FACTS))
    peer.send(text=LONG, context_id="a", flush=True)
    peer.send(context_id="a", close_context=True)
    peer.run(300)
    before = len(peer.sound("a"))
    peer.send(context_id="a", close_context=True)
    peer.run()
    assert peer.harness.engine.aborted
    assert peer.finals("a") == 1
    assert 0 < len(peer.sound("a")) - before <= 40 * PCM_BYTES_PER_MS


def test_a_name_may_be_used_again_at_once() -> None:
    peer = Peer(MULTI)
    for _ in range(3):
        peer.send(text="Hello there. ", context_id="a", flush=True)
        peer.send(context_id="a", close_context=True)
    peer.run()
    assert peer.finals("a") == 3 and peer.text("a") == "Hello there. " * 3


def test_a_sixth_context_ends_the_connection_but_closed_ones_do_not_count() -> None:
    peer = Peer(MULTI, FakeEngine(frame_delay_ms=30.0, facts=FACTS))
    for i in range(12):  # quick interruptions
        peer.send(text=LONG, context_id=f"old{i}", flush=True)
        peer.send(context_id=f"old{i}", close_context=True)
    for i in range(5):
        peer.send(text="Hello. ", context_id=f"c{i}")
    assert peer.closed is None
    peer.send(text="Hello. ", context_id="c5")
    assert peer.errors == ["max_active_conversations"]
    assert peer.closed is not None and peer.closed.code == 1008


def test_signs_of_life_and_flushes_open_nothing() -> None:
    peer = Peer(MULTI)
    for i in range(9):
        peer.send(text="", context_id=f"c{i}")
        peer.send(flush=True, context_id=f"f{i}")
        peer.send(close_context=True, context_id=f"x{i}")
        peer.send(text="")
    peer.run()
    assert peer.frames == [] and peer.closed is None


def test_a_context_ends_when_its_client_forgets_it_and_not_while_it_shows_life() -> None:
    peer = Peer(MULTI)
    peer.send(text="Hello. ", context_id="kept", flush=True)
    peer.send(text="Hello. ", context_id="lost", flush=True)
    for _ in range(4):
        peer.run(15_000)
        peer.send(text="", context_id="kept")
    assert (peer.finals("kept"), peer.finals("lost")) == (0, 1)
    assert peer.closed is None


def test_the_default_context_has_no_name() -> None:
    peer = Peer(MULTI)
    peer.send(text="Hello. ", flush=True)
    peer.run(2000)
    assert peer.text() == "Hello. " and "contextId" not in peer.frames[0]


def test_close_socket_speaks_the_rest_first() -> None:
    peer = Peer(MULTI)
    peer.send(text="Hello there. ", context_id="a")
    peer.send(text="How are you", context_id="b")
    peer.send(close_socket=True)
    peer.send(text="Too late. ", context_id="c")
    assert peer.closed is None
    peer.run()
    assert (peer.text("a"), peer.text("b")) == ("Hello there. ", "How are you ")
    assert peer.finals("a") == peer.finals("b") == 1 and not peer.of("c")
    assert peer.closed is not None and peer.closed.code == 1000


def test_close_socket_without_contexts_closes() -> None:
    peer = Peer(MULTI)
    peer.send(close_socket=True)
    assert peer.closed is not None and peer.closed.code == 1000


# --- settings ---


@pytest.mark.parametrize(
    "later",
    [
        {"voice_settings": {"stability": 0.5, "style": None}},
        {"voice_settings": None},
        {"voice_settings": {}},
        {"generation_config": {"chunk_length_schedule": [50, 90]}},
        {"generator_config": {"chunk_length_schedule": [50, 90]}},
        {},
    ],
)
@pytest.mark.parametrize("kind", [SINGLE, MULTI])
def test_settings_repeated_or_left_out_are_harmless(kind: Any, later: dict[str, Any]) -> None:
    peer = Peer(kind)
    peer.send(
        text=" ",
        context_id="a",
        voice_settings={"stability": 0.5},
        generation_config={"chunk_length_schedule": [50, 90]},
    )
    peer.send(text="Hello. ", context_id="a", **later)
    peer.send(text="Hello. ", context_id="a", flush=True, **later)
    peer.run(3000)
    assert peer.closed is None and peer.errors == []


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"stability": 0.5}, {"stability": 0.6}),
        ({"stability": 0.5}, {"stability": 0.5, "speed": 1.1}),
        (None, {"stability": 0.5}),  # after a text
    ],
)
@pytest.mark.parametrize("kind", [SINGLE, MULTI])
def test_other_settings_later_end_the_connection(kind: Any, first: Any, later: Any) -> None:
    peer = Peer(kind)
    peer.send(text=" ", context_id="a", voice_settings=first)
    peer.send(text="Hello. ", context_id="a")
    peer.send(text="Hello. ", context_id="a", voice_settings=later)
    assert peer.closed is not None and peer.closed.code == 1008
    assert "voice_settings" in peer.closed.reason


def test_settings_may_come_late_as_long_as_there_was_no_text() -> None:
    peer = Peer(MULTI)
    peer.send(text=" ", context_id="a")
    peer.send(text=" ", context_id="a", voice_settings={"speed": 1.2})
    peer.send(text="Hello. ", context_id="a", flush=True)
    peer.run(2000)
    assert peer.errors == [] and _settings(peer).speed == 1.2


def test_each_context_has_its_settings() -> None:
    peer = Peer(MULTI)
    for name, speed in (("a", 0.8), ("b", 1.2)):
        peer.send(text="Hello there. ", context_id=name, voice_settings={"speed": speed})
        peer.send(context_id=name, flush=True)
    peer.run(5000)
    assert len(peer.sound("a")) > 1.3 * len(peer.sound("b")) and peer.closed is None


@pytest.mark.parametrize(
    ("query", "config", "delay_ms"),
    [
        ({}, None, 1500),
        ({}, [120, 160], 1500),
        ({}, [50], 625),
        ({}, [100_000], 10_000),
        ({"auto_mode": "true"}, [120], 200),
    ],
)
def test_how_long_text_waits(query: dict[str, str], config: Any, delay_ms: int) -> None:
    peer = Peer(SINGLE, **query)
    generation = None if config is None else {"chunk_length_schedule": config}
    peer.send(text=" ", generation_config=generation)
    assert _settings(peer).max_buffer_delay_ms == delay_ms


def test_in_auto_mode_a_sentence_does_not_wait() -> None:
    """Pipecat sends sentences without the blank between them."""
    peer = Peer(MULTI, auto_mode="true")
    peer.send(text="The ship sails.", context_id="a")
    assert _submitted(peer) == ["The ship sails."]
    peer.send(text="We had soup.", context_id="a")
    peer.run(3000)
    assert peer.text("a") == "The ship sails. We had soup. "


def test_in_auto_mode_a_token_is_no_sentence() -> None:
    peer = Peer(MULTI, auto_mode="true")
    for token in ("The ", "ship ", "sai", "ls at 3.", "14 today"):
        peer.send(text=token, context_id="a")
        if token.endswith("."):
            break
        assert _submitted(peer) == []


# --- times ---


def test_times_start_anew_in_every_message_and_add_up_to_the_sound() -> None:
    peer = Peer(MULTI)
    peer.send(text=LONG, context_id="a", flush=True)
    peer.send(context_id="a", close_context=True)
    peer.run()
    spans = 0
    assert len(peer.alignments("a")) > 2
    for alignment in peer.alignments("a"):
        starts, durations = alignment["charStartTimesMs"], alignment["charDurationsMs"]
        assert len(starts) == len(durations) == len(alignment["chars"])
        assert starts == sorted(starts) and min(durations) >= 0 and starts[0] >= 0
        spans += starts[-1] + durations[-1]
    assert abs(spans - len(peer.sound("a")) / PCM_BYTES_PER_MS) < 300
    frames = [frame for frame in peer.of("a") if frame.get("alignment")]
    assert all(frame["normalizedAlignment"] == frame["alignment"] for frame in frames)


def test_times_go_on_for_who_asks_for_sync_alignment() -> None:
    """LiveKit's plugin does, and takes them for times of the whole context."""
    peer = Peer(MULTI, sync_alignment="true")
    peer.send(text=LONG, context_id="a", flush=True)
    peer.run()
    starts = [ms for alignment in peer.alignments("a") for ms in alignment["charStartTimesMs"]]
    assert starts == sorted(starts)
    assert abs(starts[-1] - len(peer.sound("a")) / PCM_BYTES_PER_MS) < 500


# --- errors ---


@pytest.mark.parametrize(
    "raw",
    ["", "{", "[]", "3", b"\0", '{"text":3}', '{"text":"a","context_id":[]}',
     '{"text":"a","voice_settings":{"speed":9}}', '{"text":"\\ud800"}', '{"text":"a\\u0000"}',
     '{"text":"a","generation_config":{"chunk_length_schedule":[-1]}}'],
)  # fmt: skip
@pytest.mark.parametrize("kind", [SINGLE, MULTI])
def test_what_cannot_be_obeyed_ends_the_connection_as_there(kind: Any, raw: str | bytes) -> None:
    peer = Peer(kind)
    peer.send_raw(raw)
    assert peer.closed is not None and peer.closed.code == 1008
    (frame,) = peer.frames
    assert frame["code"] == 1008 and frame["error"] and "expected" in frame["message"]


def test_too_long_a_message_has_its_own_code() -> None:
    peer = Peer(MULTI)
    peer.send(text="a" * 70_000)
    assert peer.closed is not None and peer.closed.code == 1009


def test_a_failure_ends_its_context_and_no_other() -> None:
    engine = FakeEngine(facts=FACTS, failures={"boom boom boom.": "engine_failed"}, fail_after=1)
    peer = Peer(MULTI, engine)
    peer.send(text="boom boom boom. ", context_id="bad", flush=True)
    peer.send(text="Hello there. ", context_id="good", flush=True)
    peer.run(1000)
    peer.send(text="More. ", context_id="good", flush=True)
    peer.run(3000)
    (failed,) = [frame for frame in peer.of("bad") if "error" in frame]
    assert (failed["error"], failed["code"]) == ("generation_failed", 1011)
    assert "secret" not in json.dumps(peer.frames)
    assert peer.finals("bad") == 1 and peer.closed is None
    assert peer.text("good") == "Hello there. More. "


def test_a_failure_of_the_only_utterance_ends_the_connection() -> None:
    engine = FakeEngine(facts=FACTS, failures={"boom boom boom.": "overloaded"})
    peer = Peer(SINGLE, engine)
    peer.send(text="boom boom boom. ", flush=True)
    peer.run(3000)
    assert peer.errors == ["system_busy"]
    assert peer.closed is not None and peer.closed.code == 1013


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (OverloadedError("no room"), 1013, "no room"),
        (GatewayError("secret"), 1011, "internal error"),
        (SlowClientError("x" * 200), 1008, "x" * 123),
    ],
)
def test_how_a_connection_is_closed(error: GatewayError, code: int, reason: str) -> None:
    close = MULTI(opening_of()).closing(error)
    assert (close.code, close.reason) == (code, reason)


@pytest.mark.parametrize(
    "query",
    [{"output_format": "mp3_1_1"}, {"inactivity_timeout": "0"}, {"inactivity_timeout": "soon"}],
)
def test_an_address_that_asks_for_what_there_is_not(query: dict[str, str]) -> None:
    with pytest.raises(ClientError, match=next(iter(query))):
        socket_limits(opening_of(**query))


def test_an_inactivity_timeout_has_an_upper_bound_and_a_default() -> None:
    found = [
        socket_limits(opening_of(**query)).idle_timeout_ms
        for query in ({}, {"inactivity_timeout": "60"}, {"inactivity_timeout": "9999"})
    ]
    assert found == [20_000, 60_000, 180_000]


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_every_format_is_one_that_the_session_takes(name: str) -> None:
    peer = Peer(MULTI, output_format=name)
    peer.send(text="Hello. ", context_id="a")
    assert _settings(peer).format.rate_mistake() is None
    assert peer.dialect.file == OUTPUT_FORMATS[name].file and peer.closed is None


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        ('{"text":" ","xi_api_key":"k"}', "k"),
        ('{"text":" ","xi-api-key":" k "}', "k"),
        ('{"text":" ","authorization":"Bearer k"}', "k"),
        ('{"text":" "}', None),
        ('{"xi_api_key":3}', None),
        ("{", None),
        (b"k", None),
    ],
)
def test_the_key_in_a_message(raw: str | bytes, key: str | None) -> None:
    assert key_in_message(raw) == key


# --- anything ---


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=5,
)
fields = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["", " ", "Hello there. ", "How", " are you? ", "\0", "..."]),
        "context_id": st.sampled_from(["a", "b", "c", "d", "e", "f", "g"]),
        "flush": st.booleans(),
        "close_context": st.booleans(),
        "close_socket": st.sampled_from([False, False, False, True]),
        "voice_settings": st.sampled_from([None, {}, {"speed": 1.1}, {"stability": 1}]),
        "generation_config": st.sampled_from([None, {"chunk_length_schedule": [50]}]),
        "other": json_values,
    },
)
raw_messages = (
    fields.map(json.dumps)
    | st.dictionaries(st.sampled_from("text context_id flush".split()), json_values).map(json.dumps)
    | st.text(max_size=20)
    | st.binary(max_size=10)
)
steps = st.lists(st.tuples(raw_messages, st.sampled_from([0.0, 5.0, 400.0, 25_000.0])), max_size=14)


@given(st.sampled_from([SINGLE, MULTI]), st.booleans(), steps)
@settings(max_examples=150, deadline=None)
def test_anything_in_any_order_leaves_nothing_behind(
    kind: Any, auto_mode: bool, sent: list[tuple[str | bytes, float]]
) -> None:
    engine = FakeEngine(facts=FACTS, frame_delay_ms=20.0)
    peer = Peer(kind, engine, auto_mode=str(auto_mode))
    for raw, pause_ms in sent:
        peer.send_raw(raw)
        peer.run(pause_ms)
    peer.run(600_000)  # whoever is forgotten ends by itself
    if peer.closed is None:
        assert not peer.harness.session._roster.queue
        assert peer.dialect._contexts.empty
    for frame in peer.frames:
        assert set(frame) & {"audio", "error"}
    for name in {frame.get("contextId") for frame in peer.frames}:
        told = [frame.get("isFinal") for frame in peer.of(name)]
        assert peer.closed is not None or told[-1] is True


@given(raw_messages)
def test_any_message_is_read_or_a_clients_error(raw: str | bytes) -> None:
    try:
        read_message(raw, 1000)
    except ClientError as error:
        assert str(error)


def _settings(peer: Peer) -> Any:
    """Of the newest context."""
    return peer.harness.events(Configured)[-1].settings  # type: ignore[attr-defined]


def _submitted(peer: Peer) -> list[str]:
    return [e.text.strip() for e in peer.harness.effects if isinstance(e, Submit)]


def test_what_a_flush_and_a_cancel_become() -> None:
    dialect = MULTI(opening_of())
    assert [type(c) for c in dialect.decode('{"text":"Hi ","context_id":"a"}')][:1] == [Configure]
    assert dialect.decode('{"flush":true,"context_id":"a"}') == [Flush("1")]
    dialect.decode('{"text":"more ","context_id":"a"}')
    assert dialect.decode('{"close_context":true,"context_id":"a"}') == [Interrupt("1")]
