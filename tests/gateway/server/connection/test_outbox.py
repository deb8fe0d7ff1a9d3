"""The outbox: order, marks, bounds, and who is told."""

from __future__ import annotations

import asyncio

import pytest

from gateway.errors import SlowClientError
from gateway.server.connection.outbox import Outbox
from tests.gateway.timers import Timers


class Watched:
    """An outbox of 100 bytes high water, 400 at most, and what it said."""

    def __init__(self, stall_timeout_s: float = 60.0) -> None:
        self.writable: list[bool] = []
        self.slow: list[SlowClientError] = []
        self.box: Outbox[bytes] = Outbox(
            100, 400, stall_timeout_s, self.writable.append, self.slow.append
        )


async def test_order_and_end() -> None:
    watched = Watched()
    for message in (b"1", b"2", b"3"):
        watched.box.put(message)
    watched.box.close()
    watched.box.put(b"late")
    taken = [await watched.box.take() for _ in range(4)]
    assert taken == [b"1", b"2", b"3", None]
    assert (watched.writable, watched.slow) == ([], [])


async def test_take_waits() -> None:
    watched = Watched()
    taking = asyncio.create_task(watched.box.take())
    await asyncio.sleep(0)
    assert not taking.done()
    watched.box.put(b"x")
    assert await taking == b"x"


async def test_marks_have_hysteresis() -> None:
    watched = Watched()
    for _ in range(12):
        watched.box.put(bytes(10))
    assert watched.writable == [False]
    while watched.box.pending_bytes > 60:
        await watched.box.take()
    assert watched.writable == [False]
    await watched.box.take()
    assert watched.writable == [False, True]


async def test_replies_wait_at_twice_the_mark() -> None:
    watched = Watched()
    watched.box.put(bytes(199))
    await watched.box.room_for_replies()
    watched.box.put(bytes(1))
    waiting = asyncio.create_task(watched.box.room_for_replies())
    await asyncio.sleep(0)
    assert not waiting.done()
    await watched.box.take()
    await waiting


async def test_the_bound_drops_the_client_and_what_waits() -> None:
    watched = Watched()
    watched.box.put(bytes(400))
    assert watched.slow == []
    watched.box.put(b"x")
    (error,) = watched.slow
    assert "got 400 bytes" in str(error)
    assert error.close_code == 4408
    assert await watched.box.take() is None
    assert watched.box.pending_bytes == 0


async def test_a_stall_drops_the_client_once(monkeypatch: pytest.MonkeyPatch) -> None:
    timers = Timers(monkeypatch)
    watched = Watched(stall_timeout_s=15)
    watched.box.put(bytes(150))
    watched.box.put(bytes(10))
    (timer,) = timers.running()
    assert timer.delay_s == 15
    timer.fire()
    assert len(watched.slow) == 1
    assert await watched.box.take() is None


async def test_reading_in_time_is_no_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    timers = Timers(monkeypatch)
    watched = Watched()
    watched.box.put(bytes(150))
    assert len(timers.running()) == 1
    await watched.box.take()
    assert timers.running() == []


async def test_a_closed_connection_leaves_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    timers = Timers(monkeypatch)
    watched = Watched()
    watched.box.put(bytes(150))
    watched.box.close(discard=True)
    assert timers.running() == []


@pytest.mark.parametrize("discard", [True, False])
async def test_closing_wakes_whoever_waits(discard: bool) -> None:
    watched = Watched()
    taking = asyncio.create_task(watched.box.take())
    await asyncio.sleep(0)
    watched.box.close(discard)
    watched.box.close(discard)
    assert await taking is None
    await watched.box.room_for_replies()


async def test_a_batch_is_what_there_is_up_to_a_size() -> None:
    w = Watched()
    for message in (b"a", b"b" * 40, b"c"):
        w.box.put(message)
    assert await w.box.take_batch() == [b"a", b"b" * 40, b"c"]
    assert w.box.pending_bytes == 0
    waiting = asyncio.create_task(w.box.take_batch())
    await asyncio.sleep(0)
    w.box.put(b"d")
    assert await waiting == [b"d"]
    w.box.close()
    assert await w.box.take_batch() == []


async def test_a_batch_is_bounded_and_lets_sound_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.server.connection.outbox.BATCH_BYTES", 60)
    w = Watched()
    for _ in range(3):
        w.box.put(bytes(50))
    assert w.writable == [False]
    assert await w.box.take_batch() == [bytes(50)] * 2
    assert w.writable == [False, True]
    assert await w.box.take_batch() == [bytes(50)]
