"""A connection's unsent messages: bounded, with one writer, and marks that pause its sources.

Below `high_water_bytes` everything flows. Above it sound pauses (`on_writable(False)`) until half
of it has left. Twice that, and whoever makes us answer (a flood of bad messages) waits in
`room_for_replies`. More than `max_bytes`, or a pause of `stall_timeout_s`, cannot be explained by a
client that reads: then it is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from gateway.errors import SlowClientError

BATCH_BYTES = 16 * 1024

M = TypeVar("M", bound="bytes | str")


class Outbox(Generic[M]):
    """Messages of type M in order. `put` never waits; `take` does."""

    def __init__(
        self,
        high_water_bytes: int,
        max_bytes: int,
        stall_timeout_s: float,
        on_writable: Callable[[bool], None],
        on_slow_client: Callable[[SlowClientError], None],
    ) -> None:
        self._high = high_water_bytes
        self._low = high_water_bytes // 2
        self._max = max_bytes
        self._stall_timeout_s = stall_timeout_s
        self._on_writable = on_writable
        self._on_slow_client = on_slow_client
        self._messages: deque[M] = deque()
        self._bytes = 0
        self._watchdog: asyncio.TimerHandle | None = None  # runs while sound is paused
        self._closed = False
        self._ready = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    @property
    def pending_bytes(self) -> int:
        """Bytes that wait here."""
        return self._bytes

    def put(self, message: M) -> None:
        """Queue a message; after `close` it is dropped."""
        if self._closed:
            return
        if self._bytes + len(message) > self._max:
            self._drop("at once")
            return
        self._messages.append(message)
        self._bytes += len(message)
        if not self._ready.is_set():
            self._ready.set()
        if self._bytes >= 2 * self._high:
            self._room.clear()
        if self._bytes >= self._high and self._watchdog is None:
            self._watchdog = asyncio.get_running_loop().call_later(
                self._stall_timeout_s, self._drop, f"within {self._stall_timeout_s:g} s"
            )
            self._on_writable(False)

    async def take(self) -> M | None:
        """The next message, or None when the outbox is closed and empty."""
        if not await self._filled():
            return None
        message = self._messages.popleft()
        self._taken(len(message))
        return message

    async def take_batch(self) -> list[M]:
        """What there is, up to about `BATCH_BYTES`; nothing when the outbox is closed and empty."""
        batch: list[M] = []
        size = 0
        if await self._filled():
            while self._messages and size < BATCH_BYTES:
                batch.append(self._messages.popleft())
                size += len(batch[-1])
            self._taken(size)
        return batch

    async def _filled(self) -> bool:
        while not self._messages:
            if self._closed:
                return False
            self._ready.clear()
            await self._ready.wait()
        return True

    def _taken(self, size: int) -> None:
        self._bytes -= size
        if self._bytes <= self._low:
            self._room.set()
            if self._watchdog is not None:
                self._watchdog.cancel()
                self._watchdog = None
                self._on_writable(True)

    async def room_for_replies(self) -> None:
        """Wait while the client owes us reading."""
        await self._room.wait()

    def close(self, discard: bool = False) -> None:
        """No more messages; those queued are still taken unless discarded. Idempotent."""
        self._closed = True
        if discard:
            self._messages.clear()
            self._bytes = 0
            if self._watchdog is not None:
                self._watchdog.cancel()
        self._ready.set()
        self._room.set()

    def _drop(self, when: str) -> None:
        error = SlowClientError(
            f"expected the client to read {when}, got {self._bytes} bytes it has not taken"
        )
        self.close(discard=True)
        self._on_slow_client(error)
