"""Fish Audio's dialect: start, text, flush, stop; bodies of `/v1/tts`; settings and errors."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from gateway.dialects.fish.live import LiveDialect
from gateway.dialects.fish.messages import Request
from gateway.dialects.fish.settings import file_of, settings_of
from gateway.errors import InvalidValueError
from gateway.types import (
    AudioFormat,
    Codec,
    Container,
    FileFormat,
    Limits,
    SamplingSettings,
    VoiceNames,
)
from tests.gateway.dialects.connection import Connection, opening
from tests.gateway.fakes import FakeEngine
from tests.gateway.shell import gateway, http

FIXTURES = Path(__file__).parent / "recorded"
pack = msgspec.msgpack.encode


class Client(Connection):
    """Speaks msgpack."""

    def __init__(self, engine: FakeEngine | None = None) -> None:
        super().__init__(LiveDialect, opening(), engine)

    def event(self, event: str, **fields: Any) -> None:
        self.send(pack({"event": event, **fields}))

    def start(self, **request: Any) -> None:
        self.event("start", request={"text": "", "format": "pcm", **request})

    def say(self, text: str, piece: int = 3) -> None:
        for i in range(0, len(text), piece):
            self.event("text", text=text[i : i + piece])

    @property
    def events(self) -> list[dict[str, Any]]:
        return [msgspec.msgpack.decode(frame) for frame in self.frames if frame]  # type: ignore[arg-type]

    @property
    def kinds(self) -> list[str]:
        found: list[str] = []
        for event in self.events:
            if event["event"] != "audio" or found[-1:] != ["audio"]:
                found.append(event["event"])
        return found

    @property
    def spoken(self) -> str:
        return "".join(submit.text for submit in self.harness.engine.submitted)


def test_a_whole_text() -> None:
    client = Client()
    client.start()
    client.say("Hello there. How are you. ")
    client.event("stop")
    client.say("Too late. ")
    client.run()
    assert client.kinds == ["audio", "finish"]
    assert client.events[-1] == {"event": "finish", "reason": "stop"}
    assert client.closed is not None and client.closed.code == 1000
    assert client.spoken == "Hello there. How are you. "


@pytest.mark.parametrize("audio", ["pcm", "wav", "mp3", "opus"])
def test_a_flush_speaks_what_is_there(audio: str) -> None:
    client = Client()
    client.start(format=audio)
    client.event("flush")
    client.say("Hello ")
    client.run(10)
    assert client.spoken == ""
    client.event("flush")
    client.run(2_000)
    assert client.spoken == "Hello " and client.kinds == ["audio"]
    client.say("there. ")
    client.event("flush")
    client.event("stop")
    client.run()
    assert client.kinds == ["audio", "finish"]


def test_start_speaks_its_own_text_and_may_come_again() -> None:
    client = Client()
    client.start(text="One. ")
    client.start()  # the same settings
    client.say("Two. ")
    client.start(sample_rate=16_000)
    client.say("Three. ")
    client.event("stop")
    client.run()
    assert client.spoken == "One. Two. Three. " and client.kinds == ["audio", "finish"]
    assert [chain.format.sample_rate_hz for chain in client.harness.chains] == [44_100, 16_000]


def test_stop_of_nothing_finishes_at_once() -> None:
    client = Client()
    client.start()
    client.event("stop")
    assert client.kinds == ["finish"] and client.closed is not None


def test_a_connection_that_was_silent_for_long_goes_on() -> None:
    client = Client()
    client.start()
    client.say("Hello there. ")
    client.run(2 * Limits().idle_timeout_ms)
    client.say("Here again. ")
    client.event("stop")
    client.run()
    assert client.spoken == "Hello there. Here again. "
    assert client.kinds == ["audio", "finish"]


def test_a_failure_is_told_and_ends_it() -> None:
    client = Client(FakeEngine(failures={"boom. ": "engine_failed"}))
    client.start()
    client.say("boom. ", 20)
    client.event("stop")
    client.run()
    assert client.events[-1]["reason"] == "error" and client.events[-1]["message"]
    assert client.closed is not None and client.closed.code == 1011


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("text", "expected a binary frame"),
        (b"", "expected msgpack"),
        (b"\xc1", "expected msgpack"),
        (b"\x91" * 5_000, "expected msgpack"),
        (pack([1]), "expected a msgpack map"),
        (pack({1: 2}), "expected a msgpack map"),
        (pack({"event": "sing"}), "event: expected one of start, text, flush, stop, got 'sing'"),
        (pack({"event": "text", "text": "a"}), "event: expected start first"),
        (pack({"event": "start"}), "request: expected a value, got none"),
        (pack({"event": "start", "request": {"format": "flac"}}), "request.format: expected one"),
        (pack({"event": "start", "request": {"sample_rate": 1}}), "request.sample_rate: expected"),
        (
            pack({"event": "start", "request": {"prosody": {"speed": 3.0}}}),
            "request.prosody.speed: expected 0.5 to 2",
        ),
        (
            pack({"event": "start", "request": {"references": [{"audio": b"x", "text": "y"}]}}),
            "references: expected none",
        ),
        (pack({"event": "text", "text": "a" * 70_000}), "expected at most 65536 bytes"),
    ],
)
def test_what_is_wrong_is_told(raw: str | bytes, message: str) -> None:
    client = Client()
    client.send(raw)
    (event,) = client.events
    assert event["event"] == "finish" and event["reason"] == "error"
    assert event["message"].startswith(message)
    assert client.closed is not None


def test_settings() -> None:
    voices = VoiceNames(("default", "luna"), {"802e": "luna"})

    def found(**request: Any) -> dict[str, Any]:
        given = msgspec.convert(request, Request)
        return dict(settings_of(given, opening(voices=voices)).given)

    assert found()["voice"] == found(reference_id="unknown")["voice"] == "default"
    assert found(reference_id="802E")["voice"] == found(reference_id=["802e"])["voice"] == "luna"
    assert found(references=[1], reference_id="802e")["voice"] == "luna"
    assert found()["format"] == AudioFormat(Codec.PCM_S16LE, 44_100)
    assert found(format="pcm", sample_rate=16_000)["format"].sample_rate_hz == 16_000
    assert found(format="opus", opus_bitrate=-1000)["format"].bitrate_bps == 48_000
    assert found(temperature=0.7, top_p=0.7)["sampling"] == SamplingSettings()
    assert found(temperature=0.5)["sampling"] == SamplingSettings(temperature=0.5)
    assert found(prosody={"speed": 1.5, "volume": 3})["speed"] == 1.5
    assert found(prosody=None)["speed"] == 1.0
    with pytest.raises(InvalidValueError, match="^sample_rate: expected one of"):
        found(sample_rate=23_000)


@pytest.mark.parametrize(
    ("request_", "file"),
    [
        ({}, FileFormat(Container.MP3, 128_000)),
        ({"mp3_bitrate": 192, "sample_rate": 16_000}, FileFormat(Container.MP3, 160_000)),
        ({"format": "pcm"}, FileFormat(Container.RAW)),
        ({"format": "opus"}, FileFormat(Container.OGG)),
    ],
)
def test_files(request_: dict[str, Any], file: FileFormat) -> None:
    assert file_of(msgspec.convert(request_, Request)) == file


names = st.sampled_from(["start", "text", "flush", "stop", "x", 3, None])
values = st.none() | st.integers(-5, 50_000) | st.floats() | st.text(max_size=5) | st.binary()
requests = st.dictionaries(
    st.sampled_from(["text", "format", "sample_rate", "prosody", "reference_id", "references"]),
    st.sampled_from(["Hello. ", "pcm", "opus", "wav"]) | values,
)
events = st.builds(
    lambda event, text, request: pack({"event": event, "text": text, "request": request}),
    names,
    st.sampled_from(["Hello there. ", "...", "", "boom. ", "\0"]) | values,
    requests | values,
)


@given(
    st.lists(st.tuples(events | st.binary(max_size=20), st.sampled_from([0, 5, 3_000])), max_size=9)
)
@settings(max_examples=200, deadline=None)
def test_any_frames_in_any_order(frames: list[tuple[bytes, int]]) -> None:
    client = Client(FakeEngine(failures={"boom. ": "engine_failed"}, fail_after=1))
    client.start()
    for raw, pause_ms in frames:
        client.send(raw)
        client.run(pause_ms)
    client.event("stop")
    client.run(700_000)
    assert client.closed is not None and client.kinds[-1] == "finish"
    assert client.kinds.count("finish") == 1
    assert client.harness.session.next_deadline_ms() is None or client.closed.code != 1000


@pytest.mark.parametrize("name", ["fish_live", "fish_flushes"])
def test_what_the_sdk_sends_is_answered_as_it_was(name: str) -> None:
    recorded = json.loads((FIXTURES / f"{name}.json").read_text())
    client = Client()
    for message in recorded["sent_base64"]:
        client.send(base64.b64decode(message))
        client.run(20)
    client.run()
    assert client.kinds == recorded["kinds"] and client.closed is not None


async def test_a_handshake_is_refused_by_its_status() -> None:
    async with gateway(api_keys=("sk-1",)) as served:
        url = f"{served.stream_url}/v1/tts/live"
        with pytest.raises(InvalidStatus) as caught:
            await connect(url, additional_headers={"Authorization": "Bearer sk-2"})
        assert caught.value.response.status_code == 401
        assert set(json.loads(caught.value.response.body)) == {"status", "message"}
        async with connect(url, additional_headers={"Authorization": "Bearer sk-1"}) as ws:
            for name in ("start", "text", "stop"):
                await ws.send(
                    pack({"event": name, "text": "Hello there.", "request": {"format": "wav"}})
                )
            sound = b""
            async for frame in ws:
                event = msgspec.msgpack.decode(frame)  # type: ignore[arg-type]
                sound += event.get("audio", b"")
            assert sound[:4] == b"RIFF" and event["reason"] == "stop"


async def test_requests_over_http() -> None:
    async with gateway() as served, http(served) as client:
        packed = {"content-type": "application/msgpack"}
        body = {"text": "Hello there.", "format": "wav", "unknown": 1}
        first = await client.post("/v1/tts", content=pack(body), headers=packed)
        second = await client.post("/v1/tts", json=body)
        assert first.content[:4] == second.content[:4] == b"RIFF"
        assert first.headers["content-type"] == "audio/wav"
        refused: list[dict[str, Any]] = [
            {"json": {}},
            {"json": {"text": 5}},
            {"json": {"text": "a", "format": "ogg"}},
            {"content": b"\xc1", "headers": packed},
            {"content": b"{"},
        ]
        for asked in refused:
            found: httpx.Response = await client.post("/v1/tts", **asked)
            assert found.status_code == 422 and set(found.json()) == {"status", "message"}
