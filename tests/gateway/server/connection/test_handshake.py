"""Who may open a stream: subprotocols, keys, origins, capacity; and how a stream is ended."""

from __future__ import annotations

from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from engine.fake import FakeEngine
from gateway.config import Config
from gateway.server.serving import running
from tests.gateway.shell import (
    SLOW,
    HeldEngine,
    gateway,
    http,
    receive,
    send,
    socket,
    until,
)

SENTENCE = "The quick brown fox jumps over the lazy dog. "


async def test_subprotocols(caplog: pytest.LogCaptureFixture) -> None:
    async with gateway() as served:
        async with socket(served, subprotocols=["voice-gateway.v1", "other"]) as ws:
            assert ws.subprotocol == "voice-gateway.v1"
        async with socket(served) as ws:
            assert ws.subprotocol is None
        with pytest.raises(InvalidStatus) as refused:
            async with socket(served, subprotocols=["other"]):
                pass
        assert refused.value.response.status_code == 400
        assert b"voice-gateway.v1" in (refused.value.response.body or b"")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize(
    ("query", "options", "welcome"),
    [
        ("", {}, False),
        ("?api_key=wrong", {}, False),
        ("?api_key=k1", {}, True),
        ("", {"additional_headers": {"Authorization": "Bearer k2"}}, True),
        ("", {"subprotocols": ["voice-gateway.v1", "bearer.k1"]}, True),
        ("", {"subprotocols": ["bearer.nope"]}, False),
    ],
)
async def test_keys(query: str, options: dict[str, Any], welcome: bool) -> None:
    async with gateway(api_keys="k1,k2") as served:
        url = f"{served.stream_url}/v1/stream{query}"
        async with connect(url, **options) as ws:
            first = await receive(ws)
            assert isinstance(first, dict)
            if welcome:
                assert first["type"] == "hello"
                return
            assert first["code"] == "unauthorized"
            with pytest.raises(ConnectionClosed) as closed:
                await receive(ws)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401
        assert served.service.sessions == 0


@pytest.mark.parametrize(
    ("origin", "allowed", "welcome"),
    [
        ("http://127.0.0.1:3000", "", True),
        ("https://evil.example", "", False),
        ("https://app.example", "https://app.example", True),
        ("https://evil.example", "*", True),
    ],
)
async def test_pages_of_other_hosts(origin: str, allowed: str, welcome: bool) -> None:
    async with gateway(allowed_origins=allowed) as served:
        if welcome:
            async with socket(served, origin=origin) as ws:
                assert (await receive(ws))["type"] == "hello"  # type: ignore[index]
            return
        with pytest.raises(InvalidStatus) as refused:
            async with socket(served, origin=origin):
                pass
        assert refused.value.response.status_code == 403


async def test_overload_is_said_before_it_closes() -> None:
    async with gateway(max_sessions=1) as served, socket(served) as first:
        await receive(first)
        async with socket(served) as second:
            error = await receive(second)
            assert isinstance(error, dict)
            assert error["code"] == "overloaded"
            with pytest.raises(ConnectionClosed) as closed:
                await receive(second)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1013
    assert served.service.sessions == 0


async def test_before_the_engine_is_ready_a_stream_is_told_to_retry() -> None:
    async with running(Config(port=0, engine="fake"), HeldEngine()) as served:
        async with socket(served) as ws:
            error = await receive(ws)
            assert isinstance(error, dict)
            assert error["code"] == "overloaded"


async def test_an_unknown_stream_is_refused() -> None:
    async with gateway() as served:
        with pytest.raises(InvalidStatus):
            async with connect(f"{served.stream_url}/v2/stream"):
                pass
        async with http(served) as client:
            assert (await client.get("healthz")).status_code == 200


async def test_stopping_tells_open_streams() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine, shutdown_timeout_ms=1000) as served:
        ws = await connect(f"{served.stream_url}/v1/stream")
        await receive(ws)
        await send(ws, "text", context="a", text=SENTENCE * 5)
        await until(lambda: engine._running == 1)
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            await receive(ws)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
    assert engine._running == 0
