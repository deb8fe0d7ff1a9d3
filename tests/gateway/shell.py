"""A real gateway on a loopback port, inside the test's own loop, over the fake engine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket as sockets
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

from engine.api import EngineInfo
from engine.fake import FakeEngine, FakeEngineConfig
from gateway.config import Config
from gateway.server.serving import RunningGateway, running

DEADLINE_S = 60.0  # of anything a test waits for: only a failure takes so long


class HeldEngine(FakeEngine):
    """A fake engine whose start waits until it is allowed, or told to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = asyncio.Event()
        self.start_error: Exception | None = None
        self.closed = False

    async def start(self) -> EngineInfo:
        await self.allowed.wait()
        if self.start_error is not None:
            raise self.start_error
        return await super().start()

    async def close(self) -> None:
        self.closed = True
        await super().close()


@contextlib.asynccontextmanager
async def gateway(
    engine: FakeEngine | None = None, **settings: Any
) -> AsyncIterator[RunningGateway]:
    """A gateway that is ready, on a free port."""
    config = Config(port=0, engine="fake", **settings)
    async with running(config, engine or FakeEngine()) as served:
        await served.service.started()
        yield served


@contextlib.asynccontextmanager
async def http(served: RunningGateway, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client of it."""
    # verify: loading certificates takes longer than most tests, and nothing here uses TLS
    options = {"base_url": served.url, "timeout": DEADLINE_S, "verify": False, **options}
    async with httpx.AsyncClient(**options) as client:
        yield client


@contextlib.asynccontextmanager
async def socket(served: RunningGateway, **options: Any) -> AsyncIterator[ClientConnection]:
    """A bare WebSocket to the stream."""
    async with connect(f"{served.stream_url}/v1/stream", **options) as websocket:
        yield websocket


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that other tasks do."""
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for knows no event
            await asyncio.sleep(0.002)


def wav_parts(data: bytes) -> tuple[int, bytes]:
    """(sample rate in Hz, samples) of a 16-bit mono WAV whose header leaves its length open."""
    riff, riff_size, wave, fmt, _, tag, channels, rate_hz, *_, bits, kind, size = (
        struct.unpack_from("<4sI4s4sIHHIIHH4sI", data)
    )
    assert (riff, wave, fmt, kind) == (b"RIFF", b"WAVE", b"fmt ", b"data")
    assert (tag, channels, bits) == (1, 1, 16)
    assert riff_size == size == 0xFFFFFFFF
    return rate_hz, data[44:]


async def send(ws: ClientConnection, kind: str, **fields: Any) -> None:
    await ws.send(json.dumps({"type": kind, **fields}))


async def receive(ws: ClientConnection) -> dict[str, Any] | bytes:
    message = await asyncio.wait_for(ws.recv(), DEADLINE_S)
    return message if isinstance(message, bytes) else json.loads(message)


async def until_event(ws: ClientConnection, *kinds: str) -> tuple[dict[str, Any], list[Any]]:
    """The first event of one of `kinds`, and everything before it."""
    before: list[Any] = []
    while True:
        item = await receive(ws)
        if isinstance(item, dict) and item["type"] in kinds:
            return item, before
        before.append(item)


@contextlib.asynccontextmanager
async def deaf_client(port: int) -> AsyncIterator[ClientConnection]:
    """A WebSocket whose kernel buffer is small and whose program does not read."""
    raw = sockets.socket()
    raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
    ws = await connect(f"ws://127.0.0.1:{port}/v1/stream", sock=raw, compression=None, max_queue=1)
    assert (await receive(ws))["type"] == "hello"  # type: ignore[index]
    ws.transport.pause_reading()
    try:
        yield ws
    finally:
        ws.transport.abort()


SLOW = FakeEngineConfig(frame_delay_s=0.01)  # slow enough to be caught in the act
