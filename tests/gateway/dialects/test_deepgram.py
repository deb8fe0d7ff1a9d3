"""Deepgram's dialect: turns, clears, interrupts, queries and errors."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from gateway.dialects import SocketRoute
from gateway.dialects.deepgram import ROUTES
from gateway.dialects.deepgram.options import rest_options, socket_options, voice_of
from gateway.dialects.deepgram.v1 import SpeakV1
from gateway.dialects.deepgram.v2 import SpeakV2
from gateway.errors import InvalidValueError
from gateway.types import Codec, Container, Limits, VoiceNames
from tests.gateway.dialects.connection import Connection, opening
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import FakeEngine
from tests.gateway.shell import gateway, http

FIXTURES = Path(__file__).parent / "recorded"
FLUX = {"model": "flux-alexis-en"}
TEXT = "Hello there. How are you today. "


def v1(query: dict[str, str] | None = None, engine: FakeEngine | None = None) -> Connection:
    return Connection(SpeakV1, opening(query), engine)


def v2(query: dict[str, str] | None = None, engine: FakeEngine | None = None) -> Connection:
    return Connection(SpeakV2, opening({**FLUX, **(query or {})}), engine)


def speak(connection: Connection, text: str, piece: int = 3) -> None:
    for i in range(0, len(text), piece):
        connection.send({"type": "Speak", "text": text[i : i + piece]})


# --- /v1/speak ---


def test_flushed_comes_after_all_sound_of_its_text() -> None:
    client = v1()
    for _ in range(2):
        speak(client, TEXT)
        client.send({"type": "Flush"})
    client.run()
    assert client.kinds == ["Metadata", "audio", "Flushed", "audio", "Flushed"]
    assert [m["sequence_id"] for m in client.messages[1:]] == [0, 1]
    texts = "".join(submit.text for submit in client.harness.engine.submitted)
    assert texts == 2 * TEXT


def test_a_flush_of_nothing_is_answered_in_its_turn() -> None:
    client = v1()
    speak(client, TEXT)
    for _ in range(3):
        client.send({"type": "Flush"})
    client.run()
    assert client.kinds == ["Metadata", "audio", "Flushed", "Flushed", "Flushed"]


def test_more_flushes_than_contexts_are_all_answered() -> None:
    route = ROUTES[0]
    assert isinstance(route, SocketRoute)
    limits = route.limits(opening())
    assert limits.max_contexts >= 64
    client = Connection(SpeakV1, opening(limits=Limits(max_contexts=4)))
    for _ in range(10):
        speak(client, TEXT, 40)
        client.send({"type": "Flush"})
    client.run()
    assert client.kinds.count("Flushed") == 10
    assert [m["code"] for m in client.messages if m["type"] == "Warning"]


def test_after_cleared_nothing_of_the_old_text_follows() -> None:
    client = v1()
    speak(client, TEXT * 3)
    client.send({"type": "Flush"})
    client.run(60)
    assert client.kinds[-1] == "audio"
    client.take()
    client.send({"type": "Clear"})
    assert client.kinds == ["Cleared"]
    client.run()
    assert client.kinds == ["Cleared"]  # no fade, no Flushed of what was cleared
    speak(client, "Next. ")
    client.send({"type": "Flush"})
    client.run()
    assert client.kinds == ["Cleared", "audio", "Flushed"]
    assert [m["sequence_id"] for m in client.messages] == [0, 1]


def test_a_clear_of_nothing_and_a_second_one_are_answered() -> None:
    client = v1()
    client.send({"type": "Clear"})
    speak(client, TEXT)
    client.send({"type": "Clear"})
    client.send({"type": "Clear"})
    client.run()
    assert [m["sequence_id"] for m in client.messages[1:]] == [0, 1, 2]
    assert client.kinds[1:] == ["Cleared"] * 3


def test_close_speaks_what_was_said_first() -> None:
    client = v1()
    speak(client, TEXT)
    client.send({"type": "Close"})
    speak(client, "Too late. ")
    assert client.closed is None
    client.run()
    assert client.kinds == ["Metadata", "audio"]
    assert client.closed is not None and client.closed.code == 1000
    assert "Too late" not in "".join(s.text for s in client.harness.engine.submitted)


def test_close_of_a_silent_connection_is_at_once() -> None:
    client = v1()
    client.send({"type": "Flush"})
    client.send({"type": "Close"})
    assert client.kinds == ["Metadata", "Flushed"] and client.closed is not None


def test_a_failed_segment_is_an_error_and_the_flush_is_answered() -> None:
    client = v1(engine=FakeEngine(failures={"boom. ": "engine_failed"}))
    speak(client, "boom. ", 40)
    client.send({"type": "Flush"})
    client.run()
    assert client.kinds == ["Metadata", "Error", "Flushed"]
    assert client.messages[1]["code"] == "NET-0000"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ({"type": "Sing"}, None),
        ({"type": 3}, None),
        ({"type": "Speak"}, None),
        ({"type": "Speak", "text": 5}, None),
        ({"type": "Speak", "text": "a\0b"}, None),
        ("{", 1008),
        ("[1]", 1008),
        (b"\0\1", 1008),
        ('{"type":"Speak","text":"' + "a" * 70_000 + '"}', 1009),
    ],
)
def test_what_is_wrong_is_warned_of_and_what_is_no_message_ends_it(
    raw: Any, code: int | None
) -> None:
    client = v1()
    client.send(raw)
    assert client.kinds[1:] == ["Warning"]
    assert client.messages[1]["description"] == client.messages[1]["warn_msg"]
    assert (client.closed.code if client.closed else None) == code


def test_unknown_fields_and_keep_alives_mean_nothing() -> None:
    client = v1({"mip_opt_out": "true", "callback": "x", "tag": "a"})
    client.send({"type": "KeepAlive"})
    client.send({"type": "Speak", "text": TEXT, "emotion": "glad"})
    client.send({"type": "Flush", "id": 1})
    client.run()
    assert client.kinds == ["Metadata", "audio", "Flushed"]


def test_a_pronunciation_is_its_word() -> None:
    client = v1()
    inline = '\\{"word": "dupilumab", "pronounce": "du\\u02d0"\\}'
    client.send({"type": "Speak", "text": f"Take {inline} now. "})
    client.send({"type": "Flush"})
    client.run()
    assert client.harness.engine.submitted[0].text == "Take dupilumab now. "


# --- /v2/speak ---


def test_a_turn_of_flux() -> None:
    client = v2()
    speak(client, TEXT)
    client.send({"type": "Flush"})
    client.run()
    assert client.kinds == ["Connected", "SpeechStarted", "audio", "Flushed", "SpeechMetadata"]
    ids = {m["speech_id"] for m in client.messages[1:]}
    assert len(ids) == 1 and ids.pop().startswith("dg_sp_")
    sound = b"".join(frame for frame in client.frames if isinstance(frame, bytes))
    assert client.messages[-1]["audio_duration_ms"] == round(len(sound) / 48)
    client.send({"type": "Close"})
    assert client.messages[-1]["total_input_character_count"] == len(TEXT)
    assert client.closed is not None


def test_a_turn_without_words_is_no_error() -> None:
    client = v2()
    speak(client, " ... ")
    client.send({"type": "Flush"})
    client.run()
    assert client.kinds == ["Connected", "SpeechStarted", "Warning", "Flushed", "SpeechMetadata"]
    assert client.messages[2]["code"] == "NO_SYNTHESIZABLE_TEXT"
    assert client.messages[4]["audio_duration_ms"] == 0


@pytest.mark.parametrize("kind", ["Flush", "Interrupt"])
def test_without_a_turn_there_is_a_warning(kind: str) -> None:
    client = v2()
    client.send({"type": kind})
    assert client.kinds == ["Connected", "Warning"]


def test_an_interrupt_tells_what_was_heard_of_the_turn_that_is_heard() -> None:
    client = v2()
    for text in ("Hello there. ", "How are you today. "):
        speak(client, text)
        client.send({"type": "Flush"})
    client.run()
    first_ms = next(m for m in client.messages if m["type"] == "SpeechMetadata")
    offset = {"type": "time_ms", "value": first_ms["audio_duration_ms"] + 40}
    client.take()
    client.send({"type": "Interrupt", "playback_offset": offset})
    client.run(500)
    (answer,) = client.messages
    assert answer["type"] == "SpeechInterrupted" and answer["audio_played_ms"] == offset["value"]
    assert answer["text_spoken"] + answer["text_remaining"] == "How are you today. "
    client.send({"type": "Interrupt", "playback_offset": offset})
    assert client.messages[-1]["code"] == "INVALID_INTERRUPT_OFFSET"


def test_an_interrupt_ends_every_turn_and_the_next_begins_where_the_ear_is() -> None:
    client = v2()
    for _ in range(3):
        speak(client, TEXT * 3)
        client.send({"type": "Flush"})
    client.run(60)
    client.take()
    client.send({"type": "Interrupt", "playback_offset": {"type": "time_ms", "value": 10}})
    client.run()
    assert client.kinds == ["SpeechInterrupted"]
    speak(client, TEXT)
    client.send({"type": "Flush"})
    client.run()
    assert client.kinds[1:] == ["SpeechStarted", "audio", "Flushed", "SpeechMetadata"]
    spoken_ms = client.messages[-1]["audio_duration_ms"]
    client.send({"type": "Close"})
    assert client.messages[-1]["total_audio_duration_ms"] == 10 + spoken_ms


def test_an_interrupt_before_the_first_sound_stops_it() -> None:
    client = v2()
    speak(client, TEXT)
    client.send({"type": "Interrupt"})
    client.run()
    assert client.kinds == ["Connected", "SpeechStarted", "SpeechInterrupted"]
    assert "text_spoken" not in client.messages[-1]
    client.send({"type": "Interrupt"})
    assert client.messages[-1]["code"] == "NO_AUDIO_GENERATED"


def test_one_interrupt_at_a_time() -> None:
    client = v2(engine=FakeEngine(abort_delay_ms=None))
    speak(client, TEXT * 3)
    client.send({"type": "Flush"})
    client.run(30)
    client.send({"type": "Interrupt"})
    client.send({"type": "Interrupt"})
    assert client.messages[-1]["code"] == "INTERRUPT_IN_PROGRESS"
    client.run(1_000)
    assert client.kinds[-1] == "SpeechInterrupted"


@pytest.mark.parametrize(
    ("speed", "answer"),
    [(1.2, "ConfigureSuccess"), (None, "ConfigureSuccess"), (9, "ConfigureFailure")],
)
def test_configure(speed: float | None, answer: str) -> None:
    client = v2({"speed": "1.1"})
    for _ in range(2):
        client.send({"type": "Configure", "speed": speed})
    assert client.kinds == ["Connected", answer, answer]
    if answer == "ConfigureSuccess":
        assert client.messages[-1]["applied"] == {"speed": speed or 1.1}


@pytest.mark.parametrize(
    "offset", [3, {"type": "bytes"}, {"value": -1}, {"value": 1e300}, {"value": True}, {}, [1]]
)
def test_a_wrong_offset_is_an_error(offset: object) -> None:
    client = v2()
    client.send({"type": "Interrupt", "playback_offset": offset})
    assert client.kinds == ["Connected", "Error"] and client.closed is None
    assert client.messages[-1]["code"] == "MESSAGE-0000"


# --- both ---

kinds = st.sampled_from(
    ["Speak", "Flush", "Clear", "Close", "Interrupt", "Configure", "KeepAlive", "x", 3, None]
)
texts = st.sampled_from(["Hello there. ", "...", "", "a", "boom. ", "\0", 7, None]) | st.text()
offsets = st.none() | st.builds(
    lambda value: {"type": "time_ms", "value": value}, st.integers(-1, 4000) | st.floats()
)
messages = st.builds(
    lambda kind, text, speed, offset: json.dumps(
        {"type": kind, "text": text, "speed": speed, "playback_offset": offset}
    ),
    kinds,
    texts,
    st.none() | st.floats() | st.just("fast"),
    offsets,
)
anything = messages | st.binary(max_size=20) | st.text(max_size=20)


@pytest.mark.parametrize("open_dialect", [SpeakV1, SpeakV2])
@given(frames=st.lists(st.tuples(anything, st.sampled_from([0, 5, 80, 3_000])), max_size=14))
@settings(max_examples=150, deadline=None)
def test_any_frames_in_any_order(open_dialect: Any, frames: list[tuple[str | bytes, int]]) -> None:
    engine = FakeEngine(failures={"boom. ": "engine_failed"}, fail_after=1)
    client = Connection(open_dialect, opening(FLUX), engine)
    for raw, pause_ms in frames:
        client.send(raw)
        client.run(pause_ms)
    client.send({"type": "Close"})
    client.run(700_000)
    assert client.closed is not None
    assert client.harness.session.next_deadline_ms() is None
    flushed = client.kinds.count("Flushed")
    assert flushed <= sum(1 for raw, _ in frames if isinstance(raw, str) and "Flush" in raw)


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ({"encoding": "mp3"}, "encoding"),
        ({"sample_rate": "96000"}, "sample_rate"),
        ({"encoding": "mulaw", "sample_rate": "16000"}, "sample_rate"),
        ({"sample_rate": "fast"}, "sample_rate"),
        ({"speed": "nan"}, "speed"),
        ({"speed": "7"}, "speed"),
    ],
)
def test_a_query_that_cannot_be_had(query: dict[str, str], what: str) -> None:
    with pytest.raises(InvalidValueError, match=f"^{what}: expected"):
        socket_options(opening(query))


def test_flux_needs_its_model() -> None:
    with pytest.raises(InvalidValueError, match="^model: "):
        SpeakV2(opening())


def test_rest_containers() -> None:
    def found(**query: str) -> tuple[Codec, int, Container]:
        options = rest_options(opening(query))
        audio = options.settings.given["format"]
        return audio.codec, audio.sample_rate_hz, options.file.container

    pcm = Codec.PCM_S16LE
    assert found() == (pcm, 22_050, Container.MP3)
    assert found(encoding="linear16") == (pcm, 24_000, Container.WAV)
    assert found(encoding="Linear16", container="none") == (pcm, 24_000, Container.RAW)
    assert found(encoding="mulaw") == (Codec.MULAW, 8_000, Container.WAV)
    assert found(encoding="opus", bit_rate="4000") == (Codec.OPUS, 48_000, Container.OGG)
    assert found(encoding="flac", sample_rate="16000") == (pcm, 16_000, Container.FLAC)
    assert found(encoding="aac", sample_rate="48000") == (pcm, 22_050, Container.AAC)
    with pytest.raises(InvalidValueError, match="^container: "):
        found(encoding="mp3", container="wav")


def test_a_model_names_a_voice() -> None:
    voices = VoiceNames(("default", "luna"), {"aura-2-thalia-en": "luna", "zeus": "luna"})
    assert voice_of("aura-2-thalia-en", voices) == "luna"
    assert voice_of("aura-luna-en", voices) == "luna"
    assert voice_of("flux-zeus-en", voices) == "luna"
    assert voice_of("aura-2-hera-en", voices) == "default"
    assert voice_of("LUNA", voices) == "luna"


def test_a_language_that_the_checkpoint_lacks_is_refused() -> None:
    facts = dataclasses.replace(FACTS, languages=("en", "es"))

    def language(model: str, voices: VoiceNames | None = None) -> object:
        given = opening({"model": model}, facts=facts, voices=voices)
        return socket_options(given).settings.given.get("language")

    assert (language("aura-2-thalia-en"), language("aura-2-celeste-es")) == ("en", "es")
    assert language("luna") is None
    assert language("aura-2-x-de", VoiceNames(("default",), {"aura-2-x-de": "default"})) is None
    with pytest.raises(InvalidValueError, match="^model: expected one of en, es, got 'de'"):
        language("aura-2-x-de")


async def test_a_handshake_is_refused_by_its_status() -> None:
    async with gateway(api_keys=("sk-1",), max_sessions=1) as served:
        url = f"{served.stream_url}/v1/speak"
        right = {"Authorization": "Token sk-1"}
        for headers, query, status in (
            ({}, "", 401),
            ({"Authorization": "Token sk-2"}, "", 401),
            (right, "?encoding=mp3", 400),
        ):
            with pytest.raises(InvalidStatus) as caught:
                await connect(url + query, additional_headers=headers)
            assert caught.value.response.status_code == status
            assert caught.value.response.headers["dg-error"]
            assert json.loads(caught.value.response.body)["err_code"]
        async with connect(url, subprotocols=["token", "sk-1"]) as page:  # type: ignore[list-item]
            assert page.subprotocol == "token"  # a browser, which can set no header
        async with connect(url, additional_headers=right) as first:
            assert json.loads(await first.recv())["type"] == "Metadata"
            with pytest.raises(InvalidStatus) as caught:
                await connect(url, additional_headers=right)
            assert caught.value.response.status_code == 429


async def test_requests_over_http() -> None:
    async with gateway() as served, http(served) as client:
        answer = await client.post("/v1/speak?encoding=linear16", json={"text": "Hello there."})
        assert answer.headers["content-type"] == "audio/wav" and answer.content[:4] == b"RIFF"
        assert answer.headers["dg-char-count"] == "12" and answer.headers["dg-request-id"]
        plain = await client.post(
            "/v1/speak?encoding=linear16&container=none",
            content="Hello there.",
            headers={"content-type": "text/plain; charset=utf-8"},
        )
        assert plain.status_code == 200 and plain.content
        refused: list[tuple[str, Any, int, str]] = [
            ("/v1/speak", {"json": {}}, 400, "PAYLOAD_ERROR"),
            ("/v1/speak", {"json": {"text": " "}}, 400, "PAYLOAD_ERROR"),
            ("/v1/speak", {"content": b"\xff"}, 400, "PAYLOAD_ERROR"),
            ("/v1/speak?encoding=ogg", {"json": {"text": "a"}}, 400, "INVALID_QUERY_PARAMETER"),
            ("/v2/speak", {"json": {"text": "a"}}, 400, "INVALID_QUERY_PARAMETER"),
        ]
        for url, body, status, code in refused:
            found: httpx.Response = await client.post(url, **body)
            assert (found.status_code, found.json()["err_code"]) == (status, code)


# --- recorded from the vendor's SDK ---


@pytest.mark.parametrize("name", ["deepgram_v1", "deepgram_v2", "deepgram_v2_turns"])
def test_what_the_sdk_sends_is_answered_as_it_was(name: str) -> None:
    recorded = json.loads((FIXTURES / f"{name}.json").read_text())
    client = Connection(SpeakV1 if "v1" in name else SpeakV2, opening(recorded["query"]))
    for message in recorded["sent"]:
        client.send(message)
        # the SDK waited for the end of a turn, and interrupted in the midst of one
        client.run(5_000 if name.endswith("turns") else 50)
    client.run()
    assert client.kinds == recorded["kinds"]
    assert client.closed is not None
