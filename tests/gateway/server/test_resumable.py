"""Resuming over real sockets that are killed, and whom it is refused."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from engine.fake import FakeEngine, FakeEngineConfig
from gateway.errors import InvalidValueError
from gateway.server.resumable import Resumption, resumption_of
from gateway.server.serving import RunningGateway
from tests.gateway.server.connection.test_stream import PCM, SENTENCE, audio
from tests.gateway.shell import (
    connect,
    gateway,
    receive,
    send,
    until,
    until_event,
)

TEXT = SENTENCE * 3
SLOW = FakeEngineConfig(frame_delay_s=0.003)  # slow enough to be cut off in the act


@contextlib.asynccontextmanager
async def stream(
    served: RunningGateway, query: str, **options: Any
) -> AsyncIterator[tuple[ClientConnection, dict[str, Any]]]:
    """A socket with this query, and the first message on it."""
    url = f"{served.stream_url}/v1/stream?{query}"
    async with connect(url, compression=None, **options) as ws:
        first = await receive(ws)
        assert isinstance(first, dict)
        try:
            yield ws, first
        finally:
            ws.transport.abort()


def back(hello: dict[str, Any], received: int) -> str:
    return f"resume={hello['resume_token']}&received={received}"


async def speak(ws: ClientConnection, lead_ms: int = 0) -> None:
    await send(ws, "configure", context="a", format=PCM, lead_ms=lead_ms)
    await send(ws, "text", context="a", text=TEXT)
    await send(ws, "end", context="a")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def uninterrupted() -> list[bytes]:
    async with gateway() as served, connect(f"{served.stream_url}/v1/stream") as ws:
        await speak(ws)
        _, before = await until_event(ws, "done")
        return audio(before)


@pytest.mark.parametrize(("messages", "away"), [(1, False), (5, True), (60, True), (150, False)])
async def test_killed_in_mid_speech_nothing_is_lost(
    uninterrupted: list[bytes], messages: int, away: bool
) -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served:
        async with stream(served, "resumable=true") as (ws, hello):
            await speak(ws)
            got = [await receive(ws) for _ in range(messages)]
            ws.transport.abort()
        if away:
            made = engine._frames_total
            await until(lambda: engine._frames_total > made + 2)  # it goes on meanwhile
        async with stream(served, back(hello, len(got))) as (ws, again):
            assert again["resumed"] and again["session"] == hello["session"]
            assert again["resume_token"] == hello["resume_token"] and again["received"] == 3
            done, rest = await until_event(ws, "done")
            assert not done["truncated"]
        assert served.service.sessions == 1
        assert audio([*got, *rest]) == uninterrupted


async def test_the_old_connection_is_closed_when_the_client_is_back_first(
    uninterrupted: list[bytes],
) -> None:
    async with gateway(FakeEngine(SLOW)) as served:
        async with stream(served, "resumable=true") as (old, hello):
            await speak(old)
            got = [await receive(old) for _ in range(20)]
            async with stream(served, back(hello, len(got))) as (ws, again):
                assert again["resumed"]
                with contextlib.suppress(ConnectionClosed):
                    await send(old, "interrupt")  # too late: it has no say any more
                _, rest = await until_event(ws, "done")
            with pytest.raises(ConnectionClosed):
                while True:
                    await receive(old)
            assert old.close_code == 4409
        assert audio([*got, *rest]) == uninterrupted
        await until(lambda: served.service.sessions == 1)


async def test_the_window_closes_and_the_engine_is_free() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine, resume_window_ms=100) as served:
        async with stream(served, "resumable=true") as (ws, hello):
            await speak(ws)
            await receive(ws)
        await until(lambda: served.service.sessions == 0)
        await until(lambda: engine._running == 0)
        assert len(served.service._resumable) == 0
        async with stream(served, back(hello, 1)) as (ws, error):
            assert (error["type"], error["code"]) == ("error", "resume_expired")
            with pytest.raises(ConnectionClosed):
                await receive(ws)
            assert ws.close_code == 4410


@pytest.mark.parametrize(("code", "sessions"), [(1000, 0), (1001, 0), (4000, 1)])
async def test_a_client_that_leaves_is_not_waited_for(code: int, sessions: int) -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served:
        async with stream(served, "resumable=true") as (ws, _):
            await speak(ws)
            await receive(ws)
            await ws.close(code)
        await until(lambda: served.service.sessions == sessions)
        if not sessions:
            await until(lambda: engine._running == 0)


async def test_a_plain_session_is_not_waited_for() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served:
        async with stream(served, "") as (ws, hello):
            assert hello["resume_token"] is None
            await speak(ws)
            await receive(ws)
        await until(lambda: served.service.sessions == 0 and engine._running == 0)


async def test_the_key_that_opened_it_is_needed() -> None:
    async with gateway(api_keys="one,two") as served:
        mine = {"additional_headers": {"Authorization": "Bearer one"}}
        other = {"additional_headers": {"Authorization": "Bearer two"}}
        async with stream(served, "resumable=true", **mine) as (_, hello):
            pass
        async with stream(served, back(hello, 0), **other) as (_, error):
            assert error["code"] == "resume_expired"
        async with stream(served, back(hello, 0)) as (_, error):
            assert error["code"] == "unauthorized"
        async with stream(served, back(hello, 0), **mine) as (_, again):
            assert again["resumed"]


async def test_messages_it_never_sent_and_messages_it_no_longer_has() -> None:
    settings = {"queue_high_water_bytes": 65_536, "queue_max_bytes": 131_072}
    async with gateway(FakeEngine(FakeEngineConfig()), **settings) as served:
        async with stream(served, "resumable=true") as (ws, hello):
            await speak(ws)
            _, before = await until_event(ws, "done")
        for wrong in (0, len(before) + 5):
            async with stream(served, back(hello, wrong)) as (_, error):
                assert error["code"] == "resume_expired"
        async with stream(served, back(hello, len(before) + 1)) as (_, again):
            assert again["resumed"]


@pytest.mark.parametrize("ahead", [1, 10**17])
async def test_a_wrong_number_takes_nothing_from_a_live_session(
    uninterrupted: list[bytes], ahead: int
) -> None:
    async with gateway(FakeEngine(SLOW)) as served:
        async with stream(served, "resumable=true") as (ws, hello):
            await speak(ws)
            got = [await receive(ws) for _ in range(5)]
            sent = 10**4 + ahead  # more than there can be
            async with stream(served, back(hello, sent)) as (wrong, error):
                assert error["code"] == "resume_expired"
                with pytest.raises(ConnectionClosed):
                    await receive(wrong)
                assert wrong.close_code == 4410
            _, rest = await until_event(ws, "done")
            assert audio([*got, *rest]) == uninterrupted
            await send(ws, "text", context="b", text="Obeyed as before.")
            await send(ws, "end", context="b")
            await until_event(ws, "done")
        refused = served.service.metrics.registry.get_sample_value(
            "voice_gateway_refused_total", {"code": "resume_expired"}
        )
        assert refused == 1


async def test_a_wrong_number_does_not_prolong_or_end_the_wait() -> None:
    async with gateway(FakeEngine(SLOW)) as served:
        async with stream(served, "resumable=true") as (ws, hello):
            await speak(ws)
            got = [await receive(ws) for _ in range(5)]
        (driver,) = served.service._sessions
        await until(lambda: driver.session._resume_window.until_ms is not None)
        until_ms = driver.session._resume_window.until_ms
        async with stream(served, back(hello, 10**6)) as (_, error):
            assert error["code"] == "resume_expired"
        assert driver.session._resume_window.until_ms == until_ms
        async with stream(served, back(hello, len(got))) as (ws, again):
            assert again["resumed"]
            await until_event(ws, "done")


@pytest.mark.parametrize(
    "query", ["resume=x", "resume=x&received=-1", "resume=x&received=%C2%B2", "resumable=yes"]
)
async def test_a_bad_address_is_named(query: str) -> None:
    async with gateway() as served, stream(served, query) as (ws, error):
        assert error["code"] == "invalid_value" and "expected" in error["message"]
        with pytest.raises(ConnectionClosed):
            await receive(ws)
        assert ws.close_code == 1008


async def test_a_gateway_that_stops_ends_those_that_wait() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served:
        async with stream(served, "resumable=true") as (ws, _):
            await speak(ws)
            await receive(ws)
        assert engine._running == 1
    assert engine._running == 0


def test_the_address() -> None:
    assert resumption_of({}, "k") is None
    assert resumption_of({"resumable": "false"}, "k") is None
    assert resumption_of({"resumable": "true"}, "k") == Resumption("k")
    assert resumption_of({"resume": "t", "received": "12"}, None) == Resumption(None, "t", 12)
    with pytest.raises(InvalidValueError, match="received: expected a whole number, got None"):
        resumption_of({"resume": "t"}, None)
