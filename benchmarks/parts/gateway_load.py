"""A load generator that costs little: WebSocket listeners that note when each packet came.

What a packet costs here must stay far below what it costs the server, so frames are read straight
from the socket, and only their lengths and sequence numbers are looked at.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import psutil

PACKET_S = 0.02
SETTLE_S = 5.0  # sessions that have just begun have three segments made at once, 16 s of sound
LEAD_PACKETS = 75  # sent at once at the start; their lateness means nothing
_HANDSHAKE = (
    b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_BINARY = 0x82
_SEQUENCE = struct.Struct(">I")
_SEQUENCE_AT = 12  # in the header of voice-gateway.v1


def text_frame(message: dict[str, object]) -> bytes:
    """A client's WebSocket frame; the mask is zero, which leaves the text as it is."""
    payload = json.dumps(message).encode()
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
    return b"\x81" + length + bytes(4) + payload


class Listener(asyncio.Protocol):
    """One session. `arrivals[i]`: when packet i came, in s."""

    def __init__(self, commands: bytes) -> None:
        self.arrivals: list[float] = []
        self.lost = False
        self._commands = commands
        self._open = False
        self._unread = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has no base class
        self._transport.write(_HANDSHAKE)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True

    def data_received(self, data: bytes) -> None:
        now_s = time.perf_counter()
        data = self._unread + data if self._unread else data
        if not self._open:
            head, found, data = data.partition(b"\r\n\r\n")
            if not found:
                self._unread = head
                return
            assert head.startswith(b"HTTP/1.1 101"), head
            self._open = True
            assert self._transport is not None
            self._transport.write(self._commands)
        self._unread = data[self._read(data, now_s) :]

    def _read(self, data: bytes, now_s: float) -> int:
        """Note the packets in `data`; return how much of it was whole frames."""
        at, end = 0, len(data)
        while end - at >= 4:
            size, body = data[at + 1], at + 2
            if size == 126:
                size, body = (data[at + 2] << 8) | data[at + 3], at + 4
            if end - body < size:
                break
            if data[at] == _BINARY:
                (sequence,) = _SEQUENCE.unpack_from(data, body + _SEQUENCE_AT)
                assert sequence == len(self.arrivals), "a packet is missing"
                self.arrivals.append(now_s)
            at = body + size
        return at

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()


@dataclass(frozen=True, slots=True)
class Level:
    """What was seen with so many sessions. Shares are of one core."""

    sessions: int
    lateness_p50_ms: float
    lateness_p99_ms: float
    server_share: float
    load_share: float
    server_us_per_packet: float
    starved_share: float | None  # of the time the server was ready and others had its core

    def __str__(self) -> str:
        return (
            f"{self.sessions} sessions: {self.lateness_p99_ms:.1f} ms late (p99), "
            f"server {100 * self.server_share:.0f} %, {self.server_us_per_packet:.0f} us a packet, "
            f"load generator {100 * self.load_share:.0f} %, starved {self.starved_share}"
        )


def lateness_ms(
    listeners: Sequence[Listener], start_s: float, end_s: float, group: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How late each packet of a window came, against the earliest of its own session.

    `group`: packets that are due at the same time. A packet that should have come in the window
    and has not is as late as the window is long.
    """
    found = []
    for listener in listeners:
        arrivals = np.array(listener.arrivals)
        offsets = arrivals - PACKET_S * (np.arange(len(arrivals)) // group * group)
        if len(offsets) <= LEAD_PACKETS:
            found.append(np.full(int((end_s - start_s) / PACKET_S), end_s - start_s))
            continue
        late = offsets - offsets[LEAD_PACKETS:].min()
        due = arrivals - late
        inside = (due >= start_s) & (due < end_s - 0.1)
        inside[:LEAD_PACKETS] = False
        wanted = int((end_s - 0.1 - start_s) / (group * PACKET_S)) * group
        missing = max(wanted - int(inside.sum()), 0)
        found += [late[inside], np.full(missing, end_s - start_s)]
    return 1000.0 * np.concatenate(found)


async def measure(
    port: int,
    pid: int,
    sessions: int,
    commands: bytes,
    group: int,
    ramp_s: float,
    window_s: float,
) -> Level:
    """Open so many sessions at even distances, let them settle, then watch a window."""
    loop = asyncio.get_running_loop()
    listeners = [Listener(commands) for _ in range(sessions)]
    begin_s = loop.time()
    for i, listener in enumerate(listeners):
        await asyncio.sleep(max(begin_s + ramp_s * i / sessions - loop.time(), 0.0))
        await loop.create_connection(lambda one=listener: one, "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.sleep(SETTLE_S)
    start_s, before_s, own_s = time.perf_counter(), _cpu_s(pid), time.process_time()
    starved_s = _starved_s(pid)
    packets = -sum(len(listener.arrivals) for listener in listeners)
    await asyncio.sleep(window_s)
    end_s, after_s, own_end_s = time.perf_counter(), _cpu_s(pid), time.process_time()
    packets += sum(len(listener.arrivals) for listener in listeners)
    starved_end_s = _starved_s(pid)
    assert not any(listener.lost for listener in listeners), "the server hung up"
    for listener in listeners:
        listener.close()
    late = lateness_ms(listeners, start_s, end_s, group)
    await asyncio.sleep(1.0)
    passed_s = end_s - start_s
    return Level(
        sessions=sessions,
        lateness_p50_ms=round(float(np.percentile(late, 50)), 2),
        lateness_p99_ms=round(float(np.percentile(late, 99)), 2),
        server_share=round((after_s - before_s) / passed_s, 3),
        load_share=round((own_end_s - own_s) / passed_s, 3),
        server_us_per_packet=round(1e6 * (after_s - before_s) / max(packets, 1), 1),
        starved_share=None
        if starved_s is None or starved_end_s is None
        else round((starved_end_s - starved_s) / passed_s, 3),
    )


def _cpu_s(pid: int) -> float:
    """CPU time of all threads of a process."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def _starved_s(pid: int) -> float | None:
    """How long a process's main thread was ready to run and did not; None where nobody counts."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except OSError:
        return None
