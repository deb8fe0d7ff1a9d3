"""The HTTP endpoints over a real socket: formats and their lengths, errors, clients that leave."""

from __future__ import annotations

import asyncio
import base64
import gc
import io
import json
from typing import Any

import av
import httpx
import openai
import pytest

from engine.fake import Failure, FakeEngine, FakeEngineConfig
from gateway.audio.files.packing import EncodedFile
from gateway.server.serving import RunningGateway
from tests.gateway.shell import SLOW, gateway, http, until, wav_parts

TEXT = "Hello there my friend."  # one segment: seams would shorten it by their crossfades
FRAME_SAMPLES, RATE_HZ = 2048, 44_100


async def speak(served: RunningGateway, **fields: Any) -> httpx.Response:
    body = {"model": "m", "input": TEXT, "voice": "default", **fields}
    async with http(served) as client:
        return await client.post("v1/audio/speech", json=body)


def decoded(data: bytes) -> tuple[int, int]:
    """(samples, rate in Hz) of a whole file, as PyAV plays it."""
    with av.open(io.BytesIO(data)) as container:
        stream = container.streams.audio[0]
        samples = sum(frame.samples for frame in container.decode(stream))
        return samples, stream.codec_context.sample_rate


def made_ms(engine: FakeEngine) -> float:
    return 1000 * engine._frames_total * FRAME_SAMPLES / RATE_HZ


async def test_wav_is_exactly_what_the_engine_made() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served:
        response = await speak(served, response_format="wav")
    assert response.status_code == 200
    assert response.headers["content-type"] == "audio/wav"
    rate_hz, samples = wav_parts(response.content)
    assert rate_hz == RATE_HZ
    assert len(samples) // 2 == engine._frames_total * FRAME_SAMPLES
    assert any(samples)


async def test_pcm_is_24_khz_and_as_long_as_what_was_made() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served:
        response = await speak(served, response_format="pcm")
    assert response.headers["transfer-encoding"] == "chunked"
    assert len(response.content) % 2 == 0
    assert abs(len(response.content) / 2 / 24 - made_ms(engine)) < 0.1


async def test_opus_is_ogg_with_the_exact_duration() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served:
        response = await speak(served, response_format="opus")
    samples, rate_hz = decoded(response.content)
    assert rate_hz == 48_000
    assert abs(samples / 48 - made_ms(engine)) < 0.1


@pytest.mark.parametrize(("name", "padding_ms"), [("flac", 0.1), ("mp3", 80), ("aac", 80)])
async def test_encoded_formats(name: str, padding_ms: float) -> None:
    """MP3 and AAC are padded to whole frames of theirs, at both ends."""
    engine = FakeEngine()
    async with gateway(engine) as served:
        response = await speak(served, response_format=name)
    samples, rate_hz = decoded(response.content)
    assert rate_hz == RATE_HZ
    assert -0.1 < 1000 * samples / rate_hz - made_ms(engine) < padding_ms


async def test_mp3_is_the_default_as_at_the_vendor() -> None:
    async with gateway() as served:
        response = await speak(served)
    assert response.headers["content-type"] == "audio/mpeg"


@pytest.mark.parametrize("response_format", ["pcm", "wav"])
async def test_the_first_sound_comes_before_the_last_is_made(response_format: str) -> None:
    engine = FakeEngine(SLOW)
    body = {"input": TEXT * 4, "voice": "default", "response_format": response_format}
    async with gateway(engine) as served, http(served) as client:
        async with client.stream("POST", "v1/audio/speech", json=body) as response:
            async for _ in response.aiter_bytes():
                assert engine._frames_total < engine.frame_count(TEXT * 4) / 2
                break


async def test_server_sent_events() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served:
        response = await speak(served, response_format="pcm", stream_format="sse")
    assert response.headers["content-type"] == "text/event-stream"
    blocks = response.text.strip().split("\n\n")
    events = [json.loads(block.removeprefix("data: ")) for block in blocks]
    assert {e["type"] for e in events[:-1]} == {"speech.audio.delta"}
    sound = b"".join(base64.b64decode(e["audio"]) for e in events[:-1])
    assert abs(len(sound) / 2 / 24 - made_ms(engine)) < 0.1
    assert events[-1]["type"] == "speech.audio.done"
    assert events[-1]["usage"]["output_tokens"] == engine._frames_total


async def test_speed_shortens_it() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served:
        response = await speak(served, response_format="pcm", speed=2.0)
    assert len(response.content) / 2 / 24 == pytest.approx(made_ms(engine) / 2, rel=0.1)


async def test_a_text_without_words_is_a_short_silent_file() -> None:
    async with gateway() as served:
        for name in ("wav", "opus", "mp3", "aac", "flac"):
            response = await speak(served, input="...", response_format=name)
            assert response.status_code == 200, response.text
            samples, rate_hz = decoded(response.content)
            assert 50 <= 1000 * samples / rate_hz <= 250
        response = await speak(served, input="...", response_format="pcm")
        assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize(
    ("fields", "status", "code", "param"),
    [
        ({"voice": "nobody"}, 404, "unknown_voice", "voice"),
        ({"input": ""}, 400, "invalid_value", "input"),
        ({"input": 1}, 400, "invalid_message", "input"),
        ({"input": "x" * 101}, 400, "invalid_text", "input"),
        ({"speed": 4.5}, 400, "invalid_value", "speed"),
        ({"response_format": "ogg"}, 400, "invalid_value", "response_format"),
        ({"stream_format": "fax"}, 400, "invalid_value", "stream_format"),
        ({"instructions": 1}, 400, "invalid_message", "instructions"),
        ({"temperature": 3}, 400, "invalid_value", "temperature"),
        ({"input": None, "inputs": "x"}, 400, "invalid_message", "input"),
    ],
)
async def test_errors_have_the_vendors_shape(
    fields: dict[str, Any], status: int, code: str, param: str | None
) -> None:
    async with gateway(max_speech_chars=100) as served:
        response = await speak(served, **fields)
    assert response.status_code == status
    error = response.json()["error"]
    assert (error["code"], error["param"]) == (code, param)
    assert error["type"] == "invalid_request_error"
    assert "expected" in error["message"] or "unknown" in error["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"input":"\\ud800","voice":"x"}'])
async def test_bodies_that_are_no_request(body: bytes) -> None:
    async with gateway() as served, http(served) as client:
        response = await client.post("v1/audio/speech", content=body)
        assert response.status_code == 400
        assert response.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("path", ["v1/audio/speech", "v1/audio/speech/"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_other_methods_are_refused_in_the_vendors_shape(method: str, path: str) -> None:
    async with gateway() as served, http(served) as client:
        response = await client.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert response.headers["content-type"] == "application/json"
    if method != "HEAD":
        error = response.json()["error"]
        assert error["code"] == "method_not_allowed"
        assert error["message"] == f"expected POST, got {method}"


async def test_a_question_is_asked_with_get_or_head() -> None:
    async with gateway() as served, http(served) as client:
        for path in ("v1/models", "v1/voices", "v1/voices/"):
            asked, head = await client.get(path), await client.head(path)
            assert (asked.status_code, head.status_code) == (200, 200)
            assert head.content == b"" and head.headers == asked.headers
            response = await client.post(path, json={})
            assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD")
            assert response.json()["error"]["code"] == "method_not_allowed"


async def test_a_slash_at_the_end_is_no_other_address() -> None:
    async with gateway() as served, http(served) as client:
        body = {"input": TEXT, "voice": "default", "response_format": "wav"}
        response = await client.post("v1/audio/speech/", json=body)
        assert response.status_code == 200 and response.content[:4] == b"RIFF"


async def test_a_body_without_end_is_cut_off() -> None:
    async with gateway(max_speech_chars=100) as served, http(served) as client:
        response = await client.post("v1/audio/speech", content=b"x" * 100_000)
        assert response.status_code == 413


async def test_the_vendors_voices_speak_with_the_default_one() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served:
        response = await speak(served, voice="alloy", response_format="pcm")
    assert response.status_code == 200
    assert engine.requests[0].voice == "default"


async def test_a_failure_before_any_sound_has_a_status() -> None:
    engine = FakeEngine()
    engine.failures.append(Failure("Hello"))
    async with gateway(engine) as served:
        response = await speak(served)
    assert response.status_code == 502
    assert response.json()["error"]["code"] == "engine_failed"
    assert "worker died" not in response.text


async def test_a_failure_after_sound_cuts_the_response() -> None:
    engine = FakeEngine(FakeEngineConfig(frame_delay_s=0.002))
    engine.failures.append(Failure("Hello", after_frames=15))
    async with gateway(engine) as served:
        with pytest.raises(httpx.RemoteProtocolError):
            await speak(served, response_format="pcm")
        response = await speak(served, response_format="pcm", stream_format="sse")
    last = json.loads(response.text.strip().split("\n\n")[-1].removeprefix("data: "))
    assert (last["type"], last["error"]["code"]) == ("error", "engine_failed")


@pytest.mark.parametrize("response_format", ["aac", "mp3", "flac"])
async def test_a_file_that_nobody_waits_for_is_closed_at_once(
    response_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unfinished container that the garbage collector finds may end the process."""
    closed: list[EncodedFile] = []
    close = EncodedFile.close
    monkeypatch.setattr(EncodedFile, "close", lambda file: (closed.append(file), close(file)))
    body = {"input": TEXT * 20, "voice": "default", "response_format": response_format}
    async with gateway(FakeEngine(SLOW)) as served, http(served) as client:
        async with client.stream("POST", "v1/audio/speech", json=body) as response:
            assert response.status_code == 200
        await until(lambda: len(closed) == 1)
        await until(lambda: served.service.sessions == 0)
    closed[0].close()  # twice is harmless
    gc.collect()


@pytest.mark.parametrize("response_format", ["pcm", "wav"])
async def test_a_client_that_leaves_frees_the_engine(response_format: str) -> None:
    engine = FakeEngine(SLOW)
    body = {"input": TEXT * 20, "voice": "default", "response_format": response_format}
    async with gateway(engine) as served, http(served) as client:
        request = asyncio.create_task(client.post("v1/audio/speech", json=body))
        await until(lambda: engine._running == 1)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        await until(lambda: engine._running == 0)
        assert len(engine.aborts) == 1
        await until(lambda: served.service.sessions == 0)


async def test_the_vendors_sdk() -> None:
    engine = FakeEngine()
    async with gateway(engine, api_keys="sk-1") as served:
        url = f"{served.url}v1"
        async with openai.AsyncOpenAI(api_key="sk-1", base_url=url, max_retries=0) as client:
            async with client.audio.speech.with_streaming_response.create(
                model="tts-1", voice="alloy", input=TEXT, response_format="opus"
            ) as response:
                data = b"".join([piece async for piece in response.iter_bytes()])
            assert abs(decoded(data)[0] / 48 - made_ms(engine)) < 0.1
            with pytest.raises(openai.NotFoundError, match="expected one of default"):
                await client.audio.speech.create(model="tts-1", voice="nobody", input=TEXT)
            with pytest.raises(openai.BadRequestError):
                await client.audio.speech.create(
                    model="tts-1", voice="alloy", input=TEXT, speed=5.0
                )
        async with openai.AsyncOpenAI(api_key="no", base_url=url, max_retries=0) as stranger:
            with pytest.raises(openai.AuthenticationError):
                await stranger.audio.speech.create(model="tts-1", voice="alloy", input=TEXT)


async def test_no_more_sessions_than_allowed() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine, max_sessions=1) as served:
        first = asyncio.create_task(speak(served, input=TEXT * 20))
        await until(lambda: served.service.sessions == 1)
        refused = await speak(served)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert refused.json()["error"]["code"] == "overloaded"
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
