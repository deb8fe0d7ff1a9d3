"""The sockets that clients get."""

from __future__ import annotations

import asyncio
import itertools
import socket
from typing import Any

import pytest

from engine.fake import FakeEngine, FakeEngineConfig
from gateway.server.transport import StreamProtocol
from tests.gateway import shell


async def test_small_frames_do_not_wait_for_an_acknowledgement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    connection_made = StreamProtocol.connection_made

    def look(self: StreamProtocol, transport: Any) -> None:
        accepted: socket.socket = transport.get_extra_info("socket")
        seen.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        connection_made(self, transport)

    monkeypatch.setattr(StreamProtocol, "connection_made", look)
    async with shell.gateway() as served, shell.socket(served) as websocket:
        await asyncio.wait_for(websocket.recv(), shell.DEADLINE_S)
    assert seen == [1]


async def test_several_messages_leave_in_one_piece_and_none_after_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[StreamProtocol] = []
    connection_made = StreamProtocol.connection_made

    def look(self: StreamProtocol, transport: Any) -> None:
        found.append(self)
        connection_made(self, transport)

    monkeypatch.setattr(StreamProtocol, "connection_made", look)
    async with shell.gateway() as served, shell.socket(served) as websocket:
        await shell.receive(websocket)  # the greeting
        (protocol,) = found
        assert await protocol.send_all(['{"a":"é"}', b"\0\1", bytes(70_000), '{"b":2}'])
        got = [await shell.receive(websocket) for _ in range(4)]
        assert got == [{"a": "é"}, b"\0\1", bytes(70_000), {"b": 2}]
        await websocket.close()
        await shell.until(lambda: protocol.disconnected)
        assert not await protocol.send_all([b"late"])


HEAD = b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
UPGRADE = b"GET /v1/stream HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upg"
LIMIT_MS = 300


async def dripped(port: int, whole: bytes, byte_by_byte: bytes) -> tuple[bytes, float]:
    """What a client gets that is quick at first and then never comes to an end, and when, in s."""
    clock = asyncio.get_running_loop().time
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began_s = clock()

    async def drip() -> None:
        writer.write(whole)
        for byte in itertools.cycle(byte_by_byte):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.02)

    dripping = asyncio.create_task(drip())
    try:
        async with asyncio.timeout(shell.DEADLINE_S):
            answer = await reader.read()
    except ConnectionResetError:
        answer = b""
    took_s = clock() - began_s
    dripping.cancel()
    await asyncio.gather(dripping, return_exceptions=True)
    writer.close()
    return answer, took_s


@pytest.mark.parametrize(
    ("whole", "drop", "told"),
    [
        (HEAD, b"X-Padding: a\r\n", b"HTTP/1.1 408 "),
        (UPGRADE, b"r", b"HTTP/1.1 408 "),
        (HEAD + b"\r\n", b" ", b""),  # the body: an answer may be in the making
        (HEALTH + b"GET / HTT", b"P", b"HTTP/1.1 200 "),  # the second request
    ],
    ids=["head", "upgrade", "body", "second"],
)
async def test_a_request_that_never_ends_is_cut_off(whole: bytes, drop: bytes, told: bytes) -> None:
    async with shell.gateway(request_timeout_ms=LIMIT_MS) as served:
        answer, took_s = await dripped(served.port, whole, drop)
    assert answer.startswith(told) and (told or not answer)
    assert 0.9 * LIMIT_MS / 1000 < took_s < shell.DEADLINE_S / 2


async def test_a_connection_that_says_nothing_is_closed() -> None:
    async with shell.gateway(request_timeout_ms=LIMIT_MS) as served:
        answer, took_s = await dripped(served.port, b"", b"")
    assert answer == b"" and took_s > 0.9 * LIMIT_MS / 1000


async def test_whoever_has_sent_a_request_in_time_may_listen_and_be_silent() -> None:
    """A slow answer, a kept connection and a stream all last longer than a request may take."""
    slow = FakeEngine(FakeEngineConfig(frame_delay_s=0.03))
    async with (
        shell.gateway(slow, request_timeout_ms=100) as served,
        shell.socket(served) as websocket,
        shell.http(served) as client,
    ):
        await shell.receive(websocket)
        for _ in range(2):
            body = {"input": "Hello there.", "voice": "default", "response_format": "pcm"}
            response = await client.post("v1/audio/speech", json=body)
            assert response.status_code == 200 and response.elapsed.total_seconds() > 0.2
            await asyncio.sleep(0.2)
        await shell.send(websocket, "text", context="c", text="x")
        await shell.send(websocket, "end", context="c")
        await shell.until_event(websocket, "done")
