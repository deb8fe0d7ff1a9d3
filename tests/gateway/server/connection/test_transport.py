"""The sockets that clients get."""

from __future__ import annotations

import asyncio
import itertools
import socket
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from gateway.server.connection.transport import RequestProtocol, StreamProtocol, request_protocol
from tests.gateway import shell
from tests.gateway.timers import Timer, Timers
from tests.gateway.wire import Wire, connected


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


HANDSHAKE = (
    b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def greeted(scope: Any, receive: Any, send: Any) -> None:
    """An application that accepts and waits for the end."""
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] != "websocket.disconnect":
        pass


async def opened() -> Wire:
    """A stream after its handshake."""
    wire = connected(StreamProtocol, greeted, ws_ping_interval=20, ws_ping_timeout=20)
    wire.protocol.data_received(HANDSHAKE)
    while not wire.protocol.handshake_complete:  # noqa: ASYNC110 - it knows no event
        await asyncio.sleep(0)
    wire.peer_takes()
    wire.sent.clear()
    return wire


def ping(payload: bytes) -> bytes:
    return Frame(Opcode.PING, payload).serialize(mask=True)


def pong(payload: bytes) -> bytes:
    return Frame(Opcode.PONG, payload).serialize(mask=False)


async def test_of_the_pings_that_came_while_the_link_was_full_the_newest_is_answered() -> None:
    wire = await opened()
    wire.protocol.data_received(ping(b"1"))
    wire.peer_takes()
    assert wire.sent == pong(b"1")
    wire.sent.clear()
    await wire.protocol.send_all([bytes(100_000)])
    full = len(wire.unsent)
    wire.protocol.data_received(ping(b"2") + ping(b"3"))
    for n in range(4, 1000):
        wire.protocol.data_received(ping(str(n).encode()))
    assert len(wire.unsent) == full  # they add nothing to what waits
    wire.peer_takes(50_000)
    assert pong(b"999") not in bytes(wire.unsent)  # still over the mark
    wire.peer_takes(full - 50_000)
    assert wire.unsent == pong(b"999")
    wire.peer_takes()
    wire.protocol.data_received(ping(b"again"))  # and then each at once
    assert wire.unsent == pong(b"again")


async def test_a_full_link_still_closes_and_answers_no_ping_behind_the_close() -> None:
    close = Frame(Opcode.CLOSE, b"\x03\xe8").serialize(mask=True)
    wire = await opened()
    await wire.protocol.send_all([bytes(100_000)])
    full = len(wire.unsent)
    wire.protocol.data_received(ping(b"1") + close)
    assert wire.unsent[full:] == Frame(Opcode.CLOSE, b"\x03\xe8").serialize(mask=False)
    wire.peer_takes()
    assert pong(b"1") not in wire.sent and not wire.unsent


async def test_a_ping_of_ours_that_waits_behind_sound_is_not_overdue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timers = Timers(monkeypatch)
    wire = await opened()
    await wire.protocol.send_all([bytes(60_000)])
    (asking,) = timers.running()
    asking.fire()
    for left in (40_000, 20_000):
        wire.peer_takes(len(wire.unsent) - left)
        (overdue,) = timers.running()
        overdue.fire()
        assert not wire.is_closing()
    wire.peer_takes()
    (overdue,) = timers.running()
    overdue.fire()  # it has left, and was not answered
    assert wire.is_closing()


HEAD = b"POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
UPGRADE = b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upg"


async def healthy(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads a request to its end and answers it."""
    if scope["type"] == "websocket":
        await greeted(scope, receive, send)
        return
    while (await receive()).get("more_body"):
        pass
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    )
    await send({"type": "http.response.body", "body": b"ok"})


class Asking:
    """A connection that requests come in on, and the timers it runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._timers = Timers(monkeypatch, of=RequestProtocol)
        self.wire = connected(request_protocol(9000, 15_000), healthy, ws=StreamProtocol)

    async def says(self, data: bytes) -> None:
        self.wire.protocol.data_received(data)
        for _ in range(5):  # the application's turns
            await asyncio.sleep(0)

    def patience(self) -> list[Timer]:
        """Timers that will end the wait for a request."""
        return [t for t in self._timers.running() if t.callback.__name__ == "_too_slow"]

    def others(self) -> list[Timer]:
        return [t for t in self._timers.running() if t.callback.__name__ != "_too_slow"]


@pytest.mark.parametrize(
    ("whole", "drop", "told"),
    [
        (HEAD, b"X-Padding: a\r\n", b"HTTP/1.1 408 "),
        (UPGRADE, b"r", b"HTTP/1.1 408 "),
        (HEAD + b"\r\n", b" ", b""),  # the body: an answer may be in the making
        (HEALTH + b"GET / HTT", b"P", b"HTTP/1.1 200 "),  # the second request
        (b"", b"", b""),
    ],
    ids=["head", "upgrade", "body", "second", "silence"],
)
async def test_a_request_that_never_ends_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, whole: bytes, drop: bytes, told: bytes
) -> None:
    asking = Asking(monkeypatch)
    if whole:
        await asking.says(whole)
        await asking.says(drop[:1])
    (patience,) = asking.patience()
    assert patience.delay_s == 9
    for byte in itertools.islice(itertools.cycle(drop[1:] + drop[:1]), 200):
        await asking.says(bytes([byte]))
    assert asking.patience() == [patience]  # byte by byte does not prolong it
    patience.fire()
    asking.wire.peer_takes()
    assert asking.wire.sent.startswith(told) and (told or not asking.wire.sent)
    if (
        b"HTTP/1.1 408 " in asking.wire.sent
    ):  # a moment to read what was said, whatever it still sends
        asking.wire.protocol.data_received(b"more")
        assert not asking.wire.aborted
    else:
        assert asking.wire.aborted and not told


async def test_whoever_has_sent_a_request_in_time_may_listen_and_be_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A slow answer, a kept connection and a stream may last as long as they like."""
    asking = Asking(monkeypatch)
    for _ in range(3):
        await asking.says(HEALTH[:20])
        assert len(asking.patience()) == 1
        await asking.says(HEALTH[20:])
        assert asking.patience() == []
        asking.wire.peer_takes()
        assert asking.wire.sent.endswith(b"ok")
        (idle,) = asking.others()  # uvicorn's own patience with a connection that is kept
        assert idle.callback.__name__ == "timeout_keep_alive_handler"
    await asking.says(HANDSHAKE)
    assert isinstance(asking.wire.protocol, StreamProtocol)
    assert asking.patience() == asking.others() == []
