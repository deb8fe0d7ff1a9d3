"""Cartesia's requests and questions at a running gateway, and its handshake."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
from typing import Any

import av
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from engine.api import EngineInfo
from engine.fake import Failure, FakeEngine, FakeEngineConfig
from gateway.dialects.cartesia.http import Bytes, Events
from gateway.errors import ClientError
from tests.gateway.dialects.cartesia.peer import RAW, VOICE, opening_of
from tests.gateway.shell import gateway, http, until

TEXT = "Hello there. How are you?"
BODY = {"model_id": "sonic-3", "transcript": TEXT, "voice": VOICE, "output_format": RAW}
WIDTHS = {"pcm_s16le": 2, "pcm_f32le": 4, "pcm_mulaw": 1, "pcm_alaw": 1}


class EnglishEngine(FakeEngine):
    """It reads one language."""

    async def start(self) -> EngineInfo:
        return dataclasses.replace(await super().start(), languages=("en",))


def seconds_of(data: bytes, output: dict[str, Any]) -> float:
    """Length of a sound; of a file, what a decoder makes of it."""
    if output["container"] == "raw":
        return len(data) / WIDTHS[output["encoding"]] / output["sample_rate"]
    with av.open(io.BytesIO(data)) as file:
        frames = [*file.decode(audio=0)]
    assert frames[0].sample_rate == output["sample_rate"]
    return sum(f.samples for f in frames) / frames[0].sample_rate


def events_of(answer: httpx.Response) -> list[dict[str, Any]]:
    found = []
    for block in answer.text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


@pytest.mark.parametrize(
    ("output", "media_type"),
    [
        ({**RAW, "encoding": "pcm_f32le", "sample_rate": 44_100}, "audio/pcm"),
        ({**RAW, "encoding": "pcm_mulaw", "sample_rate": 8_000}, "audio/pcm"),
        ({**RAW, "container": "wav", "sample_rate": 22_050}, "audio/wav"),
        ({**RAW, "container": "wav", "encoding": "pcm_f32le", "sample_rate": 48_000}, "audio/wav"),
        ({**RAW, "container": "wav", "encoding": "pcm_alaw", "sample_rate": 8_000}, "audio/wav"),
        ({"container": "mp3", "sample_rate": 44_100, "bit_rate": 128_000}, "audio/mpeg"),
        ({"container": "mp3", "sample_rate": 8_000, "bit_rate": 32_000}, "audio/mpeg"),
    ],
)
async def test_files_of_every_kind_have_the_sounds_length(
    output: dict[str, Any], media_type: str
) -> None:
    async with gateway() as served, http(served) as client:
        answer = await client.post("tts/bytes", json={**BODY, "output_format": output})
    assert answer.status_code == 200 and answer.headers["content-type"] == media_type
    frames = FakeEngine().frame_count("Hello there.") + FakeEngine().frame_count("How are you?")
    assert seconds_of(answer.content, output) == pytest.approx(2048 * frames / 44_100, abs=0.15)


async def test_events_carry_the_same_sound_and_the_words() -> None:
    body = {**BODY, "add_timestamps": True, "context_id": "mine"}
    async with gateway() as served, http(served) as client:
        file = await client.post("tts/bytes", json=body)
        answer = await client.post("tts/sse", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer)
    sound = b"".join(base64.b64decode(e["data"]) for e in events if e["type"] == "chunk")
    assert sound == file.content
    words = [w for e in events if e["type"] == "timestamps" for w in e["word_timestamps"]["words"]]
    assert " ".join(words) == TEXT
    assert events[-1] == {
        "type": "done", "done": True, "status_code": 200, "context_id": "mine",
    }  # fmt: skip
    assert all(e["context_id"] == "mine" for e in events)


async def test_a_failure_among_events_is_an_event() -> None:
    engine = FakeEngine()
    engine.failures.append(Failure("How", after_frames=1))
    async with gateway(engine) as served, http(served) as client:
        events = events_of(await client.post("tts/sse", json=BODY))
    assert (events[-1]["type"], events[-1]["status_code"]) == ("error", 502)


@pytest.mark.parametrize(
    ("path", "change", "field"),
    [
        ("bytes", {"transcript": ""}, "transcript"),
        ("bytes", {"transcript": "word " * 2_200}, "transcript"),
        ("bytes", {"language": "ja"}, "language"),
        ("bytes", {"output_format": {**RAW, "container": "ogg"}}, "output_format.container"),
        ("bytes", {"output_format": {**RAW, "sample_rate": 1}}, "output_format.sample_rate"),
        ("bytes", {"output_format": None}, "output_format"),
        ("bytes", {"generation_config": {"speed": 9}}, "generation_config.speed"),
        ("sse", {"output_format": {**RAW, "container": "wav"}}, "output_format.container"),
    ],
)
async def test_a_wrong_field_is_named(path: str, change: dict[str, Any], field: str) -> None:
    async with gateway(EnglishEngine()) as served, http(served) as client:
        answer = await client.post(f"tts/{path}", json={**BODY, **change})
    body = answer.json()
    assert answer.status_code == body["status_code"] == 400
    assert body["message"].startswith(f"{field}: ")
    assert body.keys() == {"title", "message", "error_code", "status_code", "request_id"}


@pytest.mark.parametrize(
    "given",
    [
        {"headers": {"x-api-key": "k"}},
        {"headers": {"authorization": "Bearer k"}},
        {"params": {"api_key": "k"}},
        {"params": {"access_token": "k", "cartesia_version": "2025-04-16"}},
    ],
)
async def test_a_key_in_every_place(given: dict[str, Any]) -> None:
    async with gateway(api_keys=["k"]) as served, http(served) as client:
        for wrong in ({}, {"headers": {"x-api-key": "no"}}):
            answer = await client.post("tts/bytes", json=BODY, **wrong)
            assert (answer.status_code, answer.json()["error_code"]) == (401, "unauthorized")
        assert (await client.post("tts/bytes", json=BODY, **given)).status_code == 200
        assert (await client.get("voices", **given)).status_code == 200
        query = "&".join(f"{k}={v}" for k, v in given.get("params", {}).items())
        url, headers = f"{served.stream_url}/tts/websocket", given.get("headers")
        with pytest.raises(InvalidStatus) as refused:
            await connect(url)
        assert refused.value.response.status_code == 401
        assert json.loads(refused.value.response.body)["title"] == "Unauthorized"
        async with connect(f"{url}?{query}", additional_headers=headers) as websocket:
            await websocket.send(json.dumps({**BODY, "context_id": "a"}))
            assert json.loads(await websocket.recv())["context_id"] == "a"


async def test_who_hangs_up_leaves_nothing_behind() -> None:
    async with gateway() as served:
        async with connect(f"{served.stream_url}/tts/websocket") as websocket:
            for name in "abc":
                await websocket.send(json.dumps({**BODY, "context_id": name, "continue": True}))
            await websocket.recv()
        await until(lambda: served.service.sessions == 0)


async def test_voices_in_pages() -> None:
    names = ("ada", "fern", "rosa", "xena")
    engine = FakeEngine(FakeEngineConfig(voices=names))
    async with gateway(engine) as served, http(served) as client:

        async def page(**params: str) -> tuple[list[str], bool]:
            body = (await client.get("voices", params=params)).json()
            return [voice["id"] for voice in body["data"]], body["has_more"]

        assert await page() == ([*names], False)
        assert await page(limit="2") == (["ada", "fern"], True)
        assert await page(limit="2", starting_after="fern") == (["rosa", "xena"], False)
        assert await page(starting_after="xena") == ([], False)
        assert await page(limit="2", ending_before="xena") == (["fern", "rosa"], True)
        assert await page(q=" R ") == (["fern", "rosa"], False)
        assert await page(is_owner="true") == ([], False)
        for wrong in ({"limit": "0"}, {"limit": "x"}, {"starting_after": "nobody"}):
            assert (await client.get("voices", params=wrong)).status_code == 400
        one = (await client.get("voices/ROSA")).json()
        assert one["id"] == "rosa" and one["locales"][0]["is_native"]
        missing = await client.get("voices/nobody")
        assert (missing.status_code, missing.json()["error_code"]) == (404, "voice_not_found")


_VALUES = st.none() | st.integers() | st.text(max_size=5) | st.just(RAW)
_BODIES = st.dictionaries(st.sampled_from([*BODY, "speed"]), _VALUES)


@given(st.binary(max_size=60) | _BODIES.map(lambda body: json.dumps(body).encode()))
def test_any_body_is_commands_or_an_error_of_the_peer(body: bytes) -> None:
    for kind in (Bytes, Events):
        dialect = kind(opening_of())
        try:
            commands = dialect.decode(body)
        except ClientError as error:
            assert dialect.refusal(error).status in (400, 413)
        else:
            assert len(commands) == 3 and dialect.media_type
