"""Text in, sound out, through everything: real sockets, the real engine, the real client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect as open_websocket

from clients.cli.say import say
from clients.python import connect
from clients.python.wire import SegmentStarted
from clients.sound.files import duration_samples
from engine import api
from engine.link.client import WorkerEngine
from gateway.config import Config
from gateway.server.serving import RunningGateway, running

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="session")]

TEXT = "Thank you for listening. This is the second sentence."
FRAME_MS = 2048 / 44.1


class Shared:
    """The session's engine, lent to a gateway that may neither start nor end it."""

    def __init__(self, engine: WorkerEngine, info: api.EngineInfo) -> None:
        self._engine, self._info = engine, info
        self.speak, self.abort, self.warm = engine.speak, engine.abort, engine.warm
        self.add_voice, self.remove_voice = engine.add_voice, engine.remove_voice
        self.stats, self.lost = engine.stats, engine.lost

    async def start(self) -> api.EngineInfo:
        return self._info

    async def close(self) -> None:
        pass


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def gateway(engine: WorkerEngine) -> AsyncIterator[RunningGateway]:
    shared = Shared(engine, await engine.info())
    async with running(Config(port=0), shared) as served:
        await served.service.started()
        yield served


async def until_idle(engine: WorkerEngine) -> None:
    async with asyncio.timeout(10):
        while (await engine.stats()).running:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("suffix", ["wav", "ogg", "opus"])
async def test_say_writes_a_file_as_long_as_the_frames_made(
    gateway: RunningGateway, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"speech.{suffix}"
    report = await say(gateway.stream_url, "Thank you for listening.", output=path)
    samples, rate_hz = duration_samples(path)
    assert report.frames > 0
    assert report.audio_ms == pytest.approx(report.frames * FRAME_MS, abs=0.5)
    # an Opus file's end is rounded to a sample at 48 kHz
    assert 1000 * samples / rate_hz == pytest.approx(report.audio_ms, abs=0.1)


async def test_single_characters_make_the_same_speech_as_one_message(
    gateway: RunningGateway,
) -> None:
    async def speak(pieces: list[str]) -> tuple[int, list[str]]:
        async with connect(gateway.stream_url) as client:
            context = client.context(sampling={"top_k": 1}, lead_ms=0)
            for piece in pieces:
                await context.send(piece)
            await context.end()
            texts = [e.text async for e in context.events() if isinstance(e, SegmentStarted)]
            assert context.done is not None
            return context.done.frames, texts

    frames, texts = await speak([TEXT])
    assert await speak(list(TEXT)) == (frames, texts)
    assert "".join(texts) == TEXT
    assert len(texts) == 2


async def test_curl_gets_a_wav_as_long_as_its_header_says(gateway: RunningGateway) -> None:
    async with httpx.AsyncClient(base_url=gateway.url, timeout=30) as http:
        reply = await http.post(
            "/v1/audio/speech",
            json={
                "model": "tts-1",
                "voice": "default",
                "input": "Thank you.",
                "response_format": "wav",
            },
        )
    assert reply.status_code == 200, reply.text
    samples = np.frombuffer(reply.content[44:], "<i2")
    frames = len(samples) / gateway.service.info.sample_rate_hz * 1000 / FRAME_MS
    assert frames == pytest.approx(round(frames), abs=0.02)
    assert np.abs(samples).max() > 100  # it is not silence


async def test_a_killed_client_frees_its_slot_within_two_steps(
    gateway: RunningGateway, engine: WorkerEngine
) -> None:
    await until_idle(engine)
    socket = await open_websocket(f"{gateway.stream_url}/v1/stream")
    await socket.send('{"type":"configure","context":"c","lead_ms":0}')
    await socket.send('{"type":"text","context":"c","text":"' + "A long text here. " * 30 + '"}')
    while not isinstance(await socket.recv(), bytes):
        pass
    assert (await engine.stats()).running > 0
    started = engine.sounds_received
    socket.transport.abort()  # no closing handshake: a cable was pulled
    await until_idle(engine)
    # up to two segments were running; two steps each, and what was already on its way
    assert engine.sounds_received - started <= 2 * 4


async def test_interrupt_stops_the_sound_and_frees_the_engine(
    gateway: RunningGateway, engine: WorkerEngine
) -> None:
    async with connect(gateway.stream_url) as client:
        context = client.context(lead_ms=0)
        await context.send("A long text here. " * 30)
        async for _ in context:
            break
        answer = await context.interrupt(played_ms=0)
        assert answer is not None
        assert answer.engine_confirmed
        assert answer.heard_text + answer.unspoken_text == "A long text here. " * 30
        assert (await engine.stats()).running == 0
        assert [packet async for packet in context] == []


async def test_many_sessions_speak_at_once(gateway: RunningGateway, tmp_path: Path) -> None:
    reports = await asyncio.gather(
        *(
            say(gateway.stream_url, "Thank you.", output=tmp_path / f"{i}.wav")
            for i in range(12)  # more than the engine's eight streams: some wait in line
        )
    )
    assert all(report.frames > 0 for report in reports)
