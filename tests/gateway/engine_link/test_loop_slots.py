"""A turn of the loop takes in a few pieces; what is due between them is not kept waiting."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine_link.loop_slots import LoopSlots


class Log:
    """Who got a place, in which turn of the loop."""

    def __init__(self, slots: LoopSlots) -> None:
        self.names: list[str] = []
        self.turns: list[int] = []
        self._slots = slots
        self._turn = 0
        self._tick()

    def _tick(self) -> None:
        self._turn += 1
        self._handle = asyncio.get_running_loop().call_soon(self._tick)

    async def take(self, name: str, pieces: int = 1, deadline_ms: float = 0.0) -> None:
        for _ in range(pieces):
            if not self._slots.take():
                await self._slots.wait(deadline_ms)
            self.names.append(name)
            self.turns.append(self._turn)

    def stop(self) -> None:
        self._handle.cancel()


@pytest.fixture
async def log() -> Log:
    return Log(LoopSlots(per_turn=3))


async def test_each_turn_takes_in_a_few_and_all_get_their_share(log: Log) -> None:
    await asyncio.gather(*(log.take(name, pieces=4) for name in "abcdefgh"))
    log.stop()
    assert len(log.names) == 32
    assert max(log.turns.count(turn) for turn in log.turns) == 3
    assert max(log.turns) - min(log.turns) <= 12  # no turn was wasted
    assert {log.names[-8:].count(name) for name in "fgh"} >= {1}


async def test_one_alone_goes_on_within_its_turn(log: Log) -> None:
    await log.take("a", pieces=3)
    log.stop()
    assert len(set(log.turns)) == 1


async def test_the_earliest_deadline_goes_first(log: Log) -> None:
    deadlines = {"a": 9.0, "b": 9.0, "c": 9.0, "d": 7.0, "e": 5.0, "f": 8.0, "g": 1.0}
    await asyncio.gather(*(log.take(name, deadline_ms=at) for name, at in deadlines.items()))
    log.stop()
    assert log.names == ["a", "b", "c", "g", "e", "d", "f"]  # the first three found places


async def test_a_cancelled_waiter_takes_no_place() -> None:
    slots = LoopSlots(per_turn=1)
    log = Log(slots)
    tasks = [asyncio.create_task(log.take(name)) for name in "abc"]
    await asyncio.sleep(0)
    assert slots.waiting == 2
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    log.stop()
    assert log.names == ["a", "c"] and slots.waiting == 0
    assert log.turns[1] - log.turns[0] <= 2
