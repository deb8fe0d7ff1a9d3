"""ElevenLabs' requests and questions at a running gateway, and its sockets where bytes are made."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import av
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from engine.fake import Failure, FakeEngine, FakeEngineConfig
from gateway.dialects.elevenlabs.formats import OUTPUT_FORMATS
from gateway.dialects.elevenlabs.http import Speech, TimedSpeech, TimedStream
from gateway.errors import ClientError
from gateway.server.serving import RunningGateway
from gateway.types import Audio, AudioFormat, Codec, Container, Done
from tests.gateway.dialects.elevenlabs.peer import opening_of
from tests.gateway.shell import gateway, http, until

TEXT = "Hello there. How are you?"
SPEECH = "v1/text-to-speech/21m00Tcm4TlvDq8ikWAM"
KEY = {"xi-api-key": "k"}


def frames_of(text: str) -> int:
    """How long the fake engine's sound is, in samples at 44.1 kHz."""
    return 2048 * FakeEngine().frame_count(text)


def seconds_of(data: bytes, name: str) -> float:
    """Length of a sound; of a file, what a decoder makes of it."""
    made = OUTPUT_FORMATS[name]
    if made.file.container is Container.RAW:
        width = 2 if made.packets.codec is Codec.PCM_S16LE else 1
        return len(data) / width / made.packets.sample_rate_hz
    with av.open(io.BytesIO(data)) as file:
        frames = [*file.decode(audio=0)]
    return sum(f.samples for f in frames) / frames[0].sample_rate


@pytest.mark.parametrize("name", ["mp3_44100_128", "mp3_22050_32", "opus_48000_64", "wav_16000",
                                  "pcm_8000", "pcm_22050", "ulaw_8000", "alaw_8000"])  # fmt: skip
async def test_files_of_every_kind_have_the_sounds_length(name: str) -> None:
    async with gateway() as served, http(served) as client:
        for path in (SPEECH, f"{SPEECH}/stream"):
            answer = await client.post(path, params={"output_format": name}, json={"text": TEXT})
            assert answer.status_code == 200
            assert answer.headers["content-type"] == OUTPUT_FORMATS[name].media_type
            seconds = seconds_of(answer.content, name)
            assert seconds == pytest.approx(_seconds(), abs=0.15)


def _seconds() -> float:
    return sum(map(frames_of, ("Hello there.", "How are you?"))) / 44_100


async def test_the_bit_rate_is_the_one_in_the_name() -> None:
    async with gateway() as served, http(served) as client:
        for name, kbps in (("mp3_44100_32", 32), ("mp3_44100_192", 192), ("mp3_22050_32", 32)):
            body = {"text": TEXT * 8}
            answer = await client.post(SPEECH, params={"output_format": name}, json=body)
            with av.open(io.BytesIO(answer.content)) as file:
                assert file.streams.audio[0].bit_rate == 1000 * kbps
                assert file.streams.audio[0].sample_rate == int(name.split("_")[1])


async def test_times_of_a_whole_and_of_a_streamed_answer() -> None:
    async with gateway() as served, http(served) as client:
        query = {"output_format": "pcm_16000"}
        body = {"text": TEXT, "voice_settings": {"stability": 0.3}, "model_id": "any"}
        whole = await client.post(f"{SPEECH}/with-timestamps", params=query, json=body)
        answer = whole.json()
        sound = base64.b64decode(answer["audio_base64"], validate=True)
        assert "".join(answer["alignment"]["characters"]) == TEXT
        assert answer["normalized_alignment"] == answer["alignment"]
        ends = answer["alignment"]["character_end_times_seconds"]
        assert ends == sorted(ends) and ends[-1] == pytest.approx(len(sound) / 32_000, abs=0.1)

        streamed = await client.post(f"{SPEECH}/stream/with-timestamps", params=query, json=body)
        lines = [json.loads(line) for line in streamed.text.splitlines()]
        assert b"".join(base64.b64decode(line["audio_base64"]) for line in lines) == sound
        pieces = [line["alignment"] for line in lines if line["alignment"]]
        for field, values in answer["alignment"].items():
            assert [value for piece in pieces for value in piece[field]] == values


@given(st.lists(st.binary(max_size=40), max_size=12))
def test_a_whole_answer_is_json_however_its_sound_is_cut(payloads: list[bytes]) -> None:
    dialect = TimedSpeech(opening_of())
    body = b""
    for payload in payloads:
        body += b"".join(dialect.encode(Audio("1", 1, 0, 0, 0, payload)))  # type: ignore[arg-type]
    done = dialect.encode(Done("1", 0.0, 0, 0, 0, 0, None))
    body += b"".join(piece for piece in done if isinstance(piece, bytes))
    assert base64.b64decode(json.loads(body)["audio_base64"], validate=True) == b"".join(payloads)


async def test_a_text_without_words_is_a_valid_answer() -> None:
    async with gateway() as served, http(served) as client:
        body = {"text": "..."}
        silent = await client.post(SPEECH, json=body)
        assert 0 < seconds_of(silent.content, "mp3_44100_128") < 0.3
        timed = await client.post(f"{SPEECH}/with-timestamps", json=body)
        assert timed.json()["alignment"]["characters"] == list("...")
        pcm = await client.post(SPEECH, params={"output_format": "pcm_16000"}, json=body)
        assert (pcm.status_code, pcm.content) == (200, b"")


@pytest.mark.parametrize(
    ("query", "body", "place"),
    [
        ({}, {"text": ""}, ["body", "text"]),
        ({}, {"text": 3}, ["body", "text"]),
        ({}, {}, ["body", "text"]),
        ({}, {"text": "a\0"}, ["body", "text"]),
        ({}, {"text": "a" * 20_000}, ["body", "text"]),
        ({}, {"text": "a", "seed": -1}, ["body", "seed"]),
        ({}, {"text": "a", "voice_settings": {"speed": 9}}, ["body", "voice_settings", "speed"]),
        ({}, [], ["body"]),
        ({"output_format": "mp3"}, {"text": "a"}, ["query", "output_format"]),
    ],
)
async def test_what_is_wrong_is_a_422_that_names_its_place(
    query: dict[str, str], body: Any, place: list[str]
) -> None:
    async with gateway() as served, http(served) as client:
        for path in ("", "/stream", "/with-timestamps", "/stream/with-timestamps"):
            answer = await client.post(f"{SPEECH}{path}", params=query, json=body)
            assert answer.status_code == 422
            (detail,) = answer.json()["detail"]
            assert detail["loc"] == place and "expected" in detail["msg"]


async def test_fields_that_mean_nothing_here_or_are_null_are_taken() -> None:
    body = {
        "text": "Hello.",
        "model_id": None,
        "language_code": "en",
        "voice_settings": None,
        "pronunciation_dictionary_locators": [{"pronunciation_dictionary_id": "x"}],
        "seed": None,
        "previous_text": "Before.",
        "next_request_ids": ["a"],
        "apply_text_normalization": "auto",
        "use_pvc_as_ivc": True,
        "unheard_of": {"a": 1},
    }
    query = {"optimize_streaming_latency": "4", "enable_logging": "false", "other": "1"}
    async with gateway() as served, http(served) as client:
        assert (await client.post(SPEECH, params=query, json=body)).status_code == 200


async def test_a_failure_before_the_sound_is_a_status_and_after_it_a_cut() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served, http(served) as client:
        engine.failures.append(Failure("Hello"))
        for path in ("", "/with-timestamps", "/stream/with-timestamps"):
            answer = await client.post(f"{SPEECH}{path}", json={"text": TEXT})
            assert answer.status_code == 502
            assert answer.json()["detail"]["status"] == "generation_failed"
        engine.failures[:] = [Failure("Hello", after_frames=5)]
        for path in ("", "/with-timestamps", "/stream/with-timestamps"):
            with pytest.raises(httpx.RemoteProtocolError):
                await client.post(f"{SPEECH}{path}", json={"text": TEXT})


async def test_a_client_that_leaves_frees_the_engine() -> None:
    engine = FakeEngine(FakeEngineConfig(frame_delay_s=0.01))
    async with gateway(engine) as served, http(served) as client:
        async with client.stream("POST", f"{SPEECH}/stream", json={"text": TEXT * 20}) as answer:
            await anext(answer.aiter_bytes())
        await until(lambda: engine._running == 0 and served.service.sessions == 0)


# --- questions, and keys ---


async def test_lists_of_voices_and_models() -> None:
    engine = FakeEngine(FakeEngineConfig(voices=("ada", "rosa", "tom")))
    async with gateway(engine, api_keys="k") as served, http(served, headers=KEY) as client:
        voices = (await client.get("v1/voices")).json()["voices"]
        assert [(v["id"], v["voice_id"], v["name"]) for v in voices][:1] == [("ada",) * 3]
        page = (await client.get("v2/voices", params={"page_size": 2})).json()
        assert [v["voice_id"] for v in page["voices"]] == ["ada", "rosa"] and page["has_more"]
        query = {"page_size": 2, "next_page_token": page["next_page_token"]}
        page = (await client.get("v2/voices", params=query)).json()
        assert [v["name"] for v in page["voices"]] == ["tom"] and not page["has_more"]
        found = (await client.get("v2/voices", params={"search": "OS"})).json()
        assert [v["name"] for v in found["voices"]] == ["rosa"] and found["total_count"] == 1
        assert (await client.get("v1/voices/Rosa")).json()["voice_id"] == "rosa"
        lost = await client.get("v1/voices/nobody")
        assert (lost.status_code, lost.json()["detail"]["status"]) == (404, "voice_not_found")
        assert (await client.get("v2/voices", params={"page_size": "x"})).status_code == 422
        (model,) = (await client.get("v1/models")).json()
        assert model["model_id"] == "fake" and model["can_do_text_to_speech"]


async def test_a_wrong_key_is_told_in_their_way() -> None:
    async with gateway(api_keys="k") as served, http(served, headers={"xi-api-key": "x"}) as client:
        for answer in (
            await client.post(SPEECH, json={"text": "a"}),
            await client.get("v2/voices"),
            await client.get("v1/models"),
        ):
            assert (answer.status_code, answer.json()["detail"]["status"]) == (
                401,
                "invalid_api_key",
            )


async def test_a_socket_takes_its_key_from_header_query_or_first_message() -> None:
    async with gateway(api_keys="k") as served:
        assert await _ends(served, "", {}, " ", key="k") == 1000
        assert await _ends(served, "", KEY, " ") == 1000
        assert await _ends(served, "?xi-api-key=k", {}, " ") == 1000
        assert await _ends(served, "", {}, " ", key="x") == 1008
        assert await _ends(served, "", {}, " ") == 1008
        assert await _ends(served, "", {"xi-api-key": "x"}, " ", key="k") == 1008
        assert served.service.sessions == 0


async def _ends(
    served: RunningGateway, query: str, headers: dict[str, str], text: str, key: str | None = None
) -> int | None:
    url = f"{served.stream_url}/{SPEECH}/stream-input{query}"
    async with connect(url, additional_headers=headers) as ws:
        first = {"text": text} if key is None else {"text": text, "xi_api_key": key}
        try:
            await ws.send(json.dumps(first))
            await ws.send(json.dumps({"text": "Hello. "}))
            await ws.send(json.dumps({"text": ""}))
            async for _ in ws:
                pass
        except ConnectionClosed:
            pass
        return ws.close_code


async def test_who_gives_no_key_and_leaves_or_is_silent_is_let_go() -> None:
    async with gateway(api_keys="k", request_timeout_ms=100) as served:
        url = f"{served.stream_url}/{SPEECH}/stream-input"
        async with connect(url):
            pass
        async with connect(url) as silent:
            with pytest.raises(ConnectionClosed):
                while True:
                    assert "invalid_api_key" in str(await silent.recv())
            assert silent.close_code == 1008
        assert served.service.sessions == 0


@pytest.mark.parametrize("name", ["mp3_44100_64", "opus_48000_32", "ulaw_8000", "wav_24000"])
async def test_each_context_of_a_socket_is_a_file_of_its_own(name: str) -> None:
    async with gateway() as served:
        url = f"{served.stream_url}/{SPEECH}/multi-stream-input?output_format={name}"
        sound: dict[str, bytes] = {"a": b"", "b": b""}
        async with connect(url) as ws:
            for text in ("Hello there. ", "How are you? "):
                for context in sound:
                    await ws.send(json.dumps({"text": text, "context_id": context}))
            await ws.send(json.dumps({"close_socket": True}))
            async for message in ws:
                frame = json.loads(message)
                sound[frame["contextId"]] += base64.b64decode(frame["audio"] or "")
        for data in sound.values():
            assert seconds_of(data, name) == pytest.approx(_seconds(), abs=0.15)


values = st.sampled_from(
    ["null", "true", "3", "-1", "1e400", "1.5", '"a"', '""', "[]", "{}", '"\\ud800"', '"a\\u0000"']
)
bodies = st.dictionaries(
    st.sampled_from(["text", "seed", "voice_settings", "apply_text_normalization", "x"]), values
).map(lambda fields: "{" + ",".join(f'"{k}":{v}' for k, v in fields.items()) + "}")


@given(st.sampled_from([Speech, TimedSpeech, TimedStream]), bodies | st.binary(max_size=30))
def test_any_body_is_obeyed_or_refused(kind: type[Speech], body: str | bytes) -> None:
    dialect = kind(opening_of())
    try:
        assert len(dialect.decode(body)) == 3
    except ClientError as error:
        assert dialect.refusal(error).status == 422


def test_a_request_for_mp3_asks_for_its_rate() -> None:
    assert OUTPUT_FORMATS["mp3_24000_48"].packets == AudioFormat(Codec.PCM_S16LE, 24_000)
