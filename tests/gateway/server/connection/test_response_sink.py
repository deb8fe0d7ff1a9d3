"""The body of a response: how much of it waits for a client, and for how long."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from engine.fake import FakeEngine, FakeEngineConfig
from gateway.config import Config
from gateway.server.app import create_app
from gateway.server.connection.outbox import Outbox
from gateway.server.connection.transport import READ_BYTES, RequestProtocol
from gateway.server.service import Service
from tests.gateway.shell import until
from tests.gateway.timers import Timers
from tests.gateway.wire import HIGH_WATER_BYTES, Wire, connected

TEXT = "Hello there my friend. " * 60
PIECE_BYTES = 64 * 1024  # more than any piece of a body
BOUNDS = {"queue_high_water_bytes": 32_768, "queue_max_bytes": 262_144}


@dataclass
class Served:
    """A service behind a wire, with the timers of those who wait for a client to read."""

    wire: Wire
    service: Service
    engine: FakeEngine
    timers: Timers
    protocol: RequestProtocol

    @property
    def slow_clients(self) -> float | None:
        return self.service.metrics.registry.get_sample_value("voice_gateway_slow_clients_total")

    def counts_reading(self) -> Any:
        """The timer of the connection itself."""
        (timer,) = [t for t in self.timers.running() if t.callback.__self__ is self.protocol]  # type: ignore[attr-defined]
        return timer


@contextlib.asynccontextmanager
async def asked(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> AsyncIterator[Served]:
    """A request of this kind, whose answer nobody has read yet."""
    timers = Timers(monkeypatch, of=(Outbox, RequestProtocol))
    engine = FakeEngine(FakeEngineConfig(frames_per_chunk=20))
    service = Service(Config(engine="fake", **BOUNDS), engine)  # type: ignore[arg-type]
    service.start()
    await service.started()

    class Counted(RequestProtocol):
        def slow_client(self) -> None:
            service.metrics.slow_clients_total.inc()

    wire = connected(Counted, create_app(service), lifespan="off")
    protocol = wire.protocol
    body = json.dumps({"voice": "default", "input": TEXT, **fields})
    head = (
        f"POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    protocol.data_received((head + body).encode())
    try:
        yield Served(wire, service, engine, timers, protocol)
    finally:
        await service.close()


KINDS: list[dict[str, Any]] = [
    {"response_format": "pcm"},
    {"response_format": "wav"},
    {"response_format": "pcm", "stream_format": "sse"},
    {"response_format": "flac"},
]


@pytest.mark.parametrize("fields", KINDS, ids=str)
async def test_what_waits_for_a_client_is_bounded(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    async with asked(monkeypatch, **fields) as served:
        wire, most = served.wire, 0
        while served.protocol.cycle is None or not served.protocol.cycle.response_complete:
            await until(lambda: wire.full or served.protocol.cycle.response_complete)
            most = max(most, len(wire.unsent))
            wire.peer_takes()
        wire.peer_takes()
        assert len(wire.sent) > 10 * PIECE_BYTES
        # what a piece may add to the transport's mark; server-sent events are a third longer
        assert most <= HIGH_WATER_BYTES + 2 * PIECE_BYTES
        assert served.slow_clients == 0
        await until(lambda: served.service.sessions == 0)


CUTS = [(kind, first) for kind in KINDS for first in ("connection", "outbox")]


@pytest.mark.parametrize(("fields", "first"), CUTS, ids=str)
async def test_a_drip_is_no_reading_and_frees_the_session_at_once(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], first: str
) -> None:
    async with asked(monkeypatch, **fields) as served:
        await until(lambda: served.wire.full)
        await until(lambda: len(served.timers.running()) == 2)
        for _ in range(15):
            served.wire.peer_takes(100)
        timers = {type(t.callback.__self__): t for t in served.timers.running()}  # type: ignore[attr-defined]
        kind = Outbox if first == "outbox" else type(served.protocol)
        assert timers[kind].delay_s == 15
        timers[kind].fire()
        assert served.wire.aborted
        await until(lambda: served.service.sessions == 0)
        assert served.engine._running == 0
        assert served.slow_clients == 1
        assert not served.timers.running()


async def test_whoever_reads_slowly_but_steadily_gets_it_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with asked(monkeypatch, response_format="wav") as served:
        wire, rounds = served.wire, 0
        await until(lambda: wire.full)
        while served.service.sessions:
            if wire.full:
                wire.peer_takes(READ_BYTES)
                rounds += 1
                if wire.full:
                    served.counts_reading().fire()
            await until(lambda: wire.full or not served.service.sessions)
        wire.peer_takes()
        assert rounds > 50 and served.slow_clients == 0
        assert bytes(wire.sent).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("closed_by", ["client", "silence"])
async def test_the_end_of_an_answer_does_not_wait_for_ever_either(
    monkeypatch: pytest.MonkeyPatch, closed_by: str
) -> None:
    async with asked(monkeypatch, input="Hi.", response_format="wav") as served:
        if closed_by == "client":
            served.protocol.cycle.keep_alive = False  # it asked for `Connection: close`
        await until(lambda: served.protocol.cycle.response_complete)
        await until(lambda: served.service.sessions == 0)
        if closed_by == "silence":
            (keep_alive,) = served.timers.running()
            keep_alive.fire()
        served.wire.peer_takes(100)
        assert served.wire.is_closing() and not served.wire.aborted
        served.counts_reading().fire()
        assert served.wire.aborted
