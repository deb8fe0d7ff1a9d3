"""Cartesia's socket: what its clients send, and what they must get for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.dialects.cartesia.errors import closing
from gateway.dialects.cartesia.socket import MAX_CONTEXTS
from gateway.errors import GatewayError, OverloadedError, SlowClientError
from gateway.types import Audio, Codec, Configured, Limits, Submit
from tests.gateway.dialects.cartesia.peer import BYTES_PER_MS, ENGLISH, RAW, VOICE, Peer
from tests.gateway.fakes import FakeEngine

RECORDINGS = json.loads((Path(__file__).parent / "recordings" / "clients.json").read_text())
LONG = "It was a long and quiet day by the sea. " * 6


# --- what the SDKs have sent ---


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_client_gets_its_speech(name: str) -> None:
    peer, messages = Peer(), RECORDINGS[name]
    cancelled = {m["context_id"] for m in messages if m.get("cancel")}
    for message in messages:
        peer.send(**message)
        peer.run(20)
    peer.run()
    for context in dict.fromkeys(m["context_id"] for m in messages):
        assert len(peer.of(context, "done")) == 1
        if context in cancelled:
            continue
        said = "".join(m["transcript"] for m in messages if m["context_id"] == context)
        assert peer.text(context).replace(" ", "") == said.replace(" ", "")
        assert peer.kinds(context)[-1] == "done" and "error" not in peer.kinds(context)
        wanted = {m["output_format"]["sample_rate"] for m in messages if "output_format" in m}
        assert wanted <= {s.format.sample_rate_hz for s in peer.settings}
    assert peer.at_rest


# --- one context ---


def test_one_message_is_a_whole_speech() -> None:
    peer = Peer()
    peer.say("Hello there. How are you?", add_timestamps=True)
    peer.run()
    assert peer.text() == "Hello there. How are you?"
    assert set(peer.kinds()) == {"timestamps", "chunk", "done"} and peer.at_rest
    chunk, end = peer.of(kind="chunk")[0], peer.frames[-1]
    assert (chunk["status_code"], chunk["done"], "flush_id" in chunk) == (206, False, False)
    assert end == {"type": "done", "done": True, "status_code": 200, "context_id": "a"}
    assert len(peer.sound()) > 400 * BYTES_PER_MS
    words = peer.words()
    edges = [edge for _, *times in words for edge in times]
    assert edges == sorted(edges) and edges[-1] * 1000 <= len(peer.sound()) / BYTES_PER_MS + 20


def test_messages_that_continue_are_one_text() -> None:
    peer = Peer()
    for i in range(0, len("Hello there. How are you? "), 3):
        peer.go_on("Hello there. How are you? "[i : i + 3], add_timestamps=True)
    peer.end()
    peer.run()
    assert peer.text() == "Hello there. How are you?"
    assert [e.text for e in peer.harness.engine.submitted] == ["Hello there.", "How are you?"]


def test_time_stamps_come_only_to_who_asks() -> None:
    peer = Peer()
    peer.say("Hello there. ")
    peer.run()
    assert not peer.of(kind="timestamps") and peer.sound()


def test_without_an_id_a_message_is_a_context_of_its_own() -> None:
    peer = Peer()
    for _ in range(2):
        peer.send(transcript="Hello. ", voice=VOICE["id"], output_format=RAW)
    peer.run()
    names = {frame["context_id"] for frame in peer.frames}
    assert len(names) == 2 and all(names) and peer.at_rest


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_no_text_is_done_at_once(text: str) -> None:
    peer = Peer()
    peer.say(text)
    peer.run(1000)
    assert peer.kinds() == ["done"] and peer.at_rest


def test_an_end_may_be_said_twice_and_blank_text_after_it_is_no_error() -> None:
    peer = Peer()
    peer.go_on(LONG)
    peer.end()
    peer.end()
    peer.go_on(" ")
    peer.run()
    assert peer.kinds() == ["chunk", "done"]


def test_text_after_the_end_is_an_error_and_the_rest_is_spoken() -> None:
    peer = Peer()
    peer.say(LONG)
    peer.run(300)
    peer.go_on("More. ")
    peer.run()
    assert peer.kinds() == ["chunk", "error", "chunk", "done"]
    assert peer.of(kind="error")[0]["status_code"] == 400


def test_an_id_may_be_used_again_after_its_end() -> None:
    peer = Peer()
    for _ in range(2):
        peer.say("Hello there. ")
        peer.run()
    assert len(peer.of(kind="done")) == 2 and peer.kinds()[-1] == "done"


def test_text_that_waits_is_spoken_after_the_buffer_delay() -> None:
    peer = Peer()
    peer.go_on("and then ", "short", max_buffer_delay_ms=500)
    peer.go_on("and then ", "default")
    peer.run(450)
    assert not peer.sound("short")
    peer.run(450)
    assert peer.sound("short") and not peer.sound("default")
    peer.run(2500)
    assert peer.sound("default")


def test_without_a_buffer_a_phrase_is_spoken_at_once_and_no_word_is_cut() -> None:
    peer = Peer()
    peer.go_on("Hello there.", max_buffer_delay_ms=0)
    peer.run(30)
    assert peer.sound()
    for token in ("Ho", "w a", "re", " you", "?"):
        peer.go_on(token, max_buffer_delay_ms=0)
    peer.end()
    peer.run()
    assert [e.text for e in peer.harness.engine.submitted] == ["Hello there.", "How are you?"]
    peer.say("It is 3.", "b", max_buffer_delay_ms=0, **{"continue": True})
    peer.say("5 now.", "b", max_buffer_delay_ms=0)
    peer.run()
    assert peer.harness.engine.submitted[-1].text == "It is 3.5 now."


# --- flush ---


def test_flushes_are_numbered_and_done_in_order() -> None:
    peer = Peer()
    peer.go_on("Hello the")
    peer.run(100)
    assert not peer.sound()
    peer.go_on("re", flush=True)
    peer.go_on("and on", flush=True)
    peer.end()
    peer.run()
    done = peer.of(kind="flush_done")
    assert [frame["flush_id"] for frame in done] == [1, 2]
    assert all(frame["flush_done"] is True and frame["done"] is False for frame in done)
    assert [f["flush_id"] for f in peer.of(kind="chunk")] == sorted(
        f["flush_id"] for f in peer.of(kind="chunk")
    )
    assert {f["flush_id"] for f in peer.of(kind="chunk")} == {1, 2}
    assert [e.text for e in peer.harness.engine.submitted] == ["Hello there", "and on"]


def test_a_flush_of_nothing_is_done() -> None:
    peer = Peer()
    peer.go_on("", flush=True)
    peer.run(100)
    assert peer.kinds() == ["flush_done"]


# --- cancel ---


def test_a_cancel_stops_what_is_spoken_and_is_told() -> None:
    peer = Peer(FakeEngine(frame_delay_ms=30.0, facts=ENGLISH))
    peer.go_on(LONG)
    peer.run(300)
    before = len(peer.sound())
    peer.send(cancel=True, context_id="a")
    peer.send(cancel=True, context_id="a")
    peer.run()
    assert peer.harness.engine.aborted and peer.at_rest
    assert peer.kinds() == ["chunk", "done"]
    assert 0 < len(peer.sound()) - before <= 40 * BYTES_PER_MS


def test_late_tokens_of_a_cancelled_context_are_never_spoken() -> None:
    peer = Peer()
    peer.go_on("Hello there. ")
    peer.send(cancel=True, context_id="a")
    for token in ("and", " more"):
        peer.go_on(token)
    peer.run()
    peer.go_on("still more. ")
    peer.run()
    assert [f["status_code"] for f in peer.of(kind="error")] == [400] * 3
    assert len(peer.of(kind="done")) == 1 and peer.at_rest
    assert not any("more" in e.text for e in peer.harness.engine.submitted)


def test_a_cancel_of_nobody_is_harmless() -> None:
    peer = Peer()
    peer.send(cancel=True, context_id="nobody")
    peer.say("Hello there. ")
    peer.run()
    peer.send(cancel=True, context_id="a")
    peer.run(1000)
    assert peer.kinds() == ["chunk", "done"] and not peer.of("nobody")


def test_a_cancel_needs_an_id() -> None:
    peer = Peer()
    peer.send(cancel=True)
    assert peer.frames[0]["message"].startswith("context_id: ")


# --- several ---


def test_contexts_are_spoken_beside_each_other() -> None:
    peer = Peer()
    peer.go_on(LONG, "long")
    peer.say("Hello there. ", "short", add_timestamps=True)
    peer.run(15_000)
    assert peer.of("short", "done") and peer.text("short") == "Hello there."
    assert peer.sound("long") and not peer.of("long", "done")


def test_one_context_too_many_is_refused_and_the_others_live() -> None:
    peer = Peer()
    for i in range(MAX_CONTEXTS):
        peer.go_on("Hello. ", f"c{i}")
    peer.go_on("Hello. ", "more")
    assert [f["status_code"] for f in peer.of("more")] == [429]
    for i in range(MAX_CONTEXTS):
        peer.end(f"c{i}")
    peer.run()
    assert all(peer.kinds(f"c{i}") == ["chunk", "done"] for i in range(MAX_CONTEXTS))
    peer.say("Hello. ", "more")
    peer.run()
    assert peer.of("more", "done") and peer.at_rest


def test_quick_interruptions_leave_room() -> None:
    peer = Peer(FakeEngine(frame_delay_ms=30.0, abort_delay_ms=200.0, facts=ENGLISH))
    for i in range(40):
        peer.go_on(LONG, f"c{i}")
        peer.run(20)
        peer.send(cancel=True, context_id=f"c{i}")
    peer.say("Hello. ", "last")
    peer.run()
    assert peer.kinds("last") == ["chunk", "done"] and peer.at_rest


def test_a_forgotten_context_is_ended() -> None:
    peer = Peer()
    peer.go_on("Hello. ")
    peer.run(400_000)
    assert peer.kinds() == ["chunk", "done"] and peer.at_rest


# --- settings ---


def _settings(peer: Peer) -> Any:
    configured = [e for _, e in peer.harness.sent if isinstance(e, Configured)]
    return configured[-1].settings


def test_what_is_set_and_what_is_ignored() -> None:
    peer = Peer()
    peer.say(
        "Hello. ",
        generation_config={"speed": 1.3, "volume": 1.5, "emotion": "happy"},
        pronunciation_dict_id="d",
        use_normalized_timestamps=True,
        add_phoneme_timestamps=True,
        duration=3,
        unknown={"x": 1},
    )
    found = _settings(peer)
    assert (found.voice, found.speed, found.lead_ms) == ("other", 1.3, 0)
    assert (found.words, found.max_buffer_delay_ms) == (False, 3000)
    peer.run()
    assert peer.kinds() == ["chunk", "done"]


@pytest.mark.parametrize(
    ("given", "speed"),
    [
        ({"speed": "slow"}, 0.8),
        ({"speed": " Fast"}, 1.2),
        ({"speed": 1.1}, 1.1),
        ({"generation_config": {"speed": 0.7}, "speed": "fast"}, 0.7),
        ({"voice": {**VOICE, "__experimental_controls": {"speed": -0.5}}}, 0.8),
        ({"voice": {**VOICE, "__experimental_controls": {"speed": "fastest"}}}, 1.5),
        ({"voice": {**VOICE, "__experimental_controls": {"speed": 1}}}, 1.5),
        ({"generation_config": {"volume": 1.0}}, 1.0),
    ],
)
def test_every_way_to_say_a_speed(given: dict[str, Any], speed: float) -> None:
    peer = Peer()
    peer.say("Hello. ", **given)
    assert _settings(peer).speed == pytest.approx(speed)


@pytest.mark.parametrize(
    ("voice", "ours"),
    [
        (VOICE, "other"),
        (VOICE["id"], "other"),
        ("Other", "other"),
        ("nobody", "default"),
        ({"mode": "embedding", "embedding": [0.1]}, "default"),
        (None, "default"),
    ],
)
def test_voices(voice: object, ours: str) -> None:
    peer = Peer()
    peer.say("Hello. ", voice=voice)
    assert _settings(peer).voice == ours


@pytest.mark.parametrize(
    ("encoding", "codec"),
    [
        ("pcm_s16le", Codec.PCM_S16LE),
        ("pcm_f32le", Codec.PCM_F32LE),
        ("pcm_mulaw", Codec.MULAW),
        ("pcm_alaw", Codec.ALAW),
    ],
)
@pytest.mark.parametrize("rate_hz", [8000, 16000, 22050, 24000, 44100, 48000])
def test_encodings_at_every_rate(encoding: str, codec: Codec, rate_hz: int) -> None:
    peer = Peer()
    output = {"container": "raw", "encoding": encoding, "sample_rate": rate_hz}
    peer.say("Hello there. ", output_format=output)
    peer.run()
    width = {Codec.PCM_S16LE: 2, Codec.PCM_F32LE: 4}.get(codec, 1)
    seconds = len(peer.sound()) / width / rate_hz
    assert _settings(peer).format.codec is codec and seconds == pytest.approx(0.24, abs=0.06)


def test_a_context_keeps_its_first_settings_but_the_speed() -> None:
    peer = Peer()
    peer.go_on("Hello there. ")
    peer.go_on("And on. ", voice="default", language="ja", generation_config={"speed": 1.4})
    other = {"container": "raw", "encoding": "pcm_mulaw", "sample_rate": 8000}
    peer.go_on("And on. ", output_format=other, generation_config={"speed": 1.4})
    assert (_settings(peer).voice, _settings(peer).speed) == ("other", 1.4)
    assert _settings(peer).format.codec is Codec.PCM_S16LE
    assert len([e for _, e in peer.harness.sent if isinstance(e, Configured)]) == 2
    peer.end()
    peer.run()
    assert peer.kinds() == ["chunk", "done"]


@pytest.mark.parametrize("language", ["en", "EN", "en-GB", "en_US", None, ""])
def test_languages_that_are_read(language: str | None) -> None:
    peer = Peer()
    peer.say("Hello. ", language=language)
    peer.run()
    assert peer.kinds() == ["chunk", "done"]


# --- errors ---


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"language": "ja"}, "language: expected one of en"),
        ({"language": None, "locale": "pt-BR"}, "locale: "),
        ({"output_format": None}, "output_format: "),
        ({"output_format": {**RAW, "container": "mp3"}}, "output_format.container: "),
        ({"output_format": {**RAW, "encoding": "opus"}}, "output_format.encoding: "),
        ({"output_format": {"container": "raw"}}, "output_format.encoding: "),
        ({"output_format": {**RAW, "sample_rate": 12_345}}, "output_format.sample_rate: "),
        ({"max_buffer_delay_ms": 5001}, "max_buffer_delay_ms: expected 0"),
        ({"generation_config": {"speed": 3}}, "generation_config.speed: "),
        ({"speed": "hasty"}, "speed: expected one of slowest"),
        ({"transcript": 5}, "transcript: "),
        ({"transcript": "a\0b"}, "transcript: "),
        ({"voice": 5}, "voice: "),
        ({"continue": "yes"}, "continue: "),
    ],
)
def test_a_wrong_field_is_named(given: dict[str, Any], field: str) -> None:
    peer = Peer()
    peer.say(**{"transcript": "Hello. ", **given})
    peer.run(1000)
    (error,) = peer.of()
    assert error["message"].startswith(field)
    assert (error["type"], error["status_code"], error["done"]) == ("error", 400, True)
    assert error["title"] and error["request_id"] and error["error_code"] and peer.at_rest


def test_an_error_in_the_middle_ends_its_context_alone() -> None:
    peer = Peer(FakeEngine(frame_delay_ms=30.0, facts=ENGLISH))
    peer.go_on(LONG)
    peer.go_on(LONG, "b")
    peer.run(300)
    peer.go_on("More. ", transcript_too=1, max_buffer_delay_ms=-1)
    peer.end("b")
    peer.run()
    assert peer.kinds() == ["chunk", "error"] and peer.kinds("b") == ["chunk", "done"]
    assert peer.at_rest


@pytest.mark.parametrize(
    "raw", ["", "{", "[]", "null", '{"context_id": 5}', b"\x00", '"text"', "[" * 50_000]
)
def test_what_is_no_message_is_an_error_of_nobody(raw: str | bytes) -> None:
    peer = Peer()
    peer.send_raw(raw)
    assert peer.kinds(None) == ["error"] and peer.frames[0]["status_code"] == 400
    peer.say("Hello. ")
    peer.run()
    assert peer.kinds() == ["chunk", "done"]


def test_older_versions_read_a_text_in_error() -> None:
    for version, has_text in (("2025-04-16", True), ("2026-08-14", False)):
        peer = Peer(query={"cartesia_version": version})
        peer.say("Hello. ", language="ja")
        assert ("error" in peer.frames[0]) is has_text


def test_a_failure_of_the_engine_ends_the_context_without_detail() -> None:
    peer = Peer(FakeEngine(failures={"Hello there.": "engine_failed"}, facts=ENGLISH))
    peer.say("Hello there. ")
    peer.run()
    (error,) = peer.of(kind="error")
    assert (error["status_code"], error["done"]) == (502, True)
    assert "secret" not in json.dumps(error) and peer.at_rest


def test_texts_over_the_limit_are_refused() -> None:
    peer = Peer(limits=Limits(max_context_chars=1000))
    peer.go_on("Some words. " * 50)
    peer.run(300)
    peer.go_on("Some words. " * 50)
    peer.run()
    assert peer.kinds() == ["chunk", "error"] and "1000" in peer.of(kind="error")[0]["message"]
    assert peer.at_rest


@pytest.mark.parametrize(
    ("error", "code"),
    [(OverloadedError("full"), 1013), (SlowClientError("slow"), 1008), (GatewayError("x"), 1011)],
)
def test_close_codes(error: GatewayError, code: int) -> None:
    closed = closing(error)
    assert closed.code == code and "x" not in closed.reason.split()


# --- anything ---

_TEXTS = st.text(st.sampled_from("Hi. \n3,!<>[]\u3042\U0001f642-"), max_size=12)
_NAMES = st.sampled_from(["a", "b", "", "x" * 300, None])
_JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)
_FIELDS = st.fixed_dictionaries(
    {"context_id": _NAMES},
    optional={
        "transcript": _TEXTS,
        "continue": st.booleans(),
        "flush": st.booleans(),
        "cancel": st.sampled_from([True, False, None]),
        "voice": st.sampled_from([VOICE, "default"]) | _JUNK,
        "output_format": st.sampled_from([RAW] * 5) | _JUNK,
        "language": st.sampled_from(["en", "ja", None]),
        "max_buffer_delay_ms": st.integers(-1, 5001),
        "add_timestamps": st.booleans(),
        "generation_config": st.fixed_dictionaries({"speed": st.floats(0.4, 2.1)}),
    },
)
_STEPS = st.lists(
    st.tuples(
        _FIELDS | st.text(max_size=20) | st.binary(max_size=20), st.sampled_from([0, 5, 50, 2000])
    ),
    max_size=25,
)


@given(_STEPS)
@settings(deadline=None)
def test_any_messages_in_any_order_leave_nothing_behind(steps: list[tuple[Any, int]]) -> None:
    peer = Peer()
    for message, wait_ms in steps:
        if isinstance(message, dict):
            peer.say(**{**message, "context_id": message["context_id"]})
        else:
            peer.send_raw(message)
        peer.run(wait_ms)
    peer.run(700_000)
    assert peer.at_rest
    codes = {f.get("error_code") for f in peer.frames}
    assert "internal_server_error" not in codes
    for name in {frame["context_id"] for frame in peer.frames}:
        ends = [f for f in peer.of(name) if f["type"] == "done"]
        sounds = [i for i, f in enumerate(peer.of(name)) if f["type"] == "chunk"]
        assert not sounds or any(f["done"] for f in peer.of(name)[sounds[-1] :])
        assert len(ends) <= len(steps)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=30))
@settings(deadline=None)
def test_how_a_text_is_cut_into_messages_changes_nothing(sizes: list[int]) -> None:
    text, whole, pieces = (
        "Dr. Who paid $1,299.50 at 3.14 p.m. \u201cWait\u201d\u2014he left.",
        Peer(),
        Peer(),
    )
    whole.say(text, add_timestamps=True)
    at = 0
    while at < len(text):
        size = sizes[at % len(sizes)]
        pieces.go_on(text[at : at + size], add_timestamps=True)
        at += size
    pieces.end()
    for peer in (whole, pieces):
        peer.run()
    assert pieces.sound() == whole.sound() and pieces.words() == whole.words()
    assert "".join(w for w, *_ in whole.words()) == text.replace(" ", "")
    submitted = [e for e in whole.harness.effects if isinstance(e, Submit)]
    assert submitted and all(isinstance(e, Audio) for e in whole.harness.events(Audio))
