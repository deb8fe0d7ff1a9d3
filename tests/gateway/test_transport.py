"""The sockets that clients get."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from gateway.transport import StreamProtocol
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
