"""The worker's socket: nothing is lost to a slow reader, nonsense is survived."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import zmq
import zmq.asyncio

from engine import api
from engine.link import wire
from engine.link.server import Server, serve_until

FRAMES = 5000  # far over ZeroMQ's default of 1000 queued messages


class Talker:
    """Speaks as fast as it is asked, or fails."""

    async def speak(self, request: api.SpeechRequest) -> AsyncIterator[api.Frames | api.Finished]:
        if request.voice == "nobody":
            raise api.UnknownVoiceError("voice: expected one of default, got 'nobody'")
        if request.voice == "defect":
            raise RuntimeError("a secret of ours")
        for frame in range(FRAMES):
            yield api.Frames(frame, b"\0" * 64, b"\0\0")
        yield api.Finished(api.FinishReason.STOP, FRAMES, 1, 0)

    async def stats(self) -> api.EngineStats:
        return api.EngineStats(0, 0, 1, 0, 0, 0)


INFO = api.EngineInfo("talker", 8000, 16, 1, 1, FRAMES, ("default",))


@pytest_asyncio.fixture
async def client(tmp_path: Path) -> AsyncIterator[zmq.asyncio.Socket]:
    endpoint = f"ipc://{tmp_path}/worker"
    serving = asyncio.create_task(Server(Talker(), lambda: INFO).run(endpoint))  # type: ignore[arg-type]
    socket = zmq.asyncio.Context.instance().socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.RCVHWM, 0)
    socket.connect(endpoint)
    yield socket
    socket.close()
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def answer(socket: zmq.asyncio.Socket) -> wire.WorkerMessage:
    return wire.decode_answer(await asyncio.wait_for(socket.recv(), 10))


async def test_a_reader_that_sleeps_loses_nothing(client: zmq.asyncio.Socket) -> None:
    await client.send(wire.encode(wire.Speak(1, api.SpeechRequest("r", "Hi"))))
    await asyncio.sleep(0.5)  # the worker sends all the while
    for frame in range(FRAMES):
        sound = await answer(client)
        assert isinstance(sound, wire.Sound)
        assert sound.frames.first_frame == frame
    assert isinstance(await answer(client), wire.Ended)


async def test_nonsense_is_survived(client: zmq.asyncio.Socket) -> None:
    for data in (b"", b"\xc1", wire.encode(wire.Ok(1))):
        await client.send(data)
    await client.send(wire.encode(wire.GetInfo(2)))
    assert await answer(client) == wire.Info(2, INFO)


async def test_errors_carry_their_kind_and_defects_do_not_end_the_worker(
    client: zmq.asyncio.Socket,
) -> None:
    await client.send(wire.encode(wire.Speak(1, api.SpeechRequest("r", "Hi", voice="nobody"))))
    failed = await answer(client)
    assert isinstance(failed, wire.Failed)
    assert (failed.call, failed.kind) == (1, "UnknownVoiceError")
    await client.send(wire.encode(wire.Speak(2, api.SpeechRequest("r", "Hi", voice="defect"))))
    failed = await answer(client)
    assert isinstance(failed, wire.Failed)
    assert (failed.call, failed.kind) == (2, "EngineError")
    await client.send(wire.encode(wire.GetStats(3)))
    assert isinstance(await answer(client), wire.Stats)


def server() -> Server:
    return Server(Talker(), lambda: INFO)  # type: ignore[arg-type]


async def never() -> BaseException:
    await asyncio.Event().wait()
    raise AssertionError


async def test_it_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    stop = asyncio.Event()
    serving = asyncio.create_task(serve_until(stop, server(), f"ipc://{tmp_path}/worker", never()))
    await asyncio.sleep(0)
    assert not serving.done()
    stop.set()
    await asyncio.wait_for(serving, 5)


async def test_what_ends_the_server_is_raised(tmp_path: Path) -> None:
    with pytest.raises(zmq.ZMQError, match="No such file"):
        await asyncio.wait_for(
            serve_until(
                asyncio.Event(), server(), f"ipc://{tmp_path}/no/such/folder/worker", never()
            ),
            5,
        )


async def test_a_worker_that_can_speak_no_more_ends(tmp_path: Path) -> None:
    async def broken() -> BaseException:
        return RuntimeError("CUDA error: an illegal memory access")

    with pytest.raises(api.EngineError, match="speak no more.*illegal memory access"):
        await asyncio.wait_for(
            serve_until(asyncio.Event(), server(), f"ipc://{tmp_path}/worker", broken()), 5
        )


async def test_an_answer_that_cannot_be_sent_is_told_and_the_server_lives(
    client: zmq.asyncio.Socket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    send = Server._send

    async def fails(self: Server, to: bytes, answer: wire.WorkerMessage) -> None:
        if isinstance(answer, wire.Info | wire.Failed):
            raise OSError("the socket is gone")
        await send(self, to, answer)

    monkeypatch.setattr(Server, "_send", fails)
    with caplog.at_level(logging.ERROR, "voice-gateway.worker"):
        await client.send(wire.encode(wire.GetInfo(1)))
        await client.send(wire.encode(wire.GetStats(2)))
        assert isinstance(await answer(client), wire.Stats)
        async with asyncio.timeout(5):
            while "a call could not be answered" not in caplog.text:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
    assert "the socket is gone" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected ENDPOINT and SETTINGS, got 0 arguments"),
        (("ipc://x", '{"threads": 0}'), "threads: expected at least 1, got 0"),
        (("ipc://x", '{"thread": 1}'), "expected settings among"),
        (("ipc://x", "nonsense"), "malformed"),
    ],
)
async def test_a_wrong_command_is_told_on_standard_output(
    arguments: tuple[str, ...], message: str
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "engine.link.server", *arguments, stdout=PIPE, stderr=PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert message in json.loads(out.splitlines()[-1])["error"]
