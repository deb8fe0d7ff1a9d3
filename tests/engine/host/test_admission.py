"""Stream slots and the line for them: bounded, urgent first, nothing leaks."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.api import EngineOverloadedError
from engine.host.admission import Admission
from engine.host.pace import Pace


def admission_of(max_streams: int, max_waiting: int) -> Admission:
    return Admission(max_streams, max_waiting, Pace(46.4))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_free_slot_is_taken_at_once() -> None:
    admission = admission_of(2, 1)
    assert await admission.enter("a", 0)
    assert (admission.running, admission.free, admission.waiting) == (1, 1, 0)


async def test_the_line_is_bounded() -> None:
    admission = admission_of(1, 1)
    await admission.enter("a", 0)
    waiting = asyncio.create_task(admission.enter("b", 0))
    await settle()
    with pytest.raises(EngineOverloadedError, match="1 segments run and 1 wait"):
        await admission.enter("c", 0)
    admission.leave("a")
    assert await waiting
    admission.leave("b")
    assert admission.free == 1


async def test_the_most_urgent_goes_first_then_the_first_come() -> None:
    admission = admission_of(1, 9)
    await admission.enter("running", 0)
    order: list[str] = []

    async def speak(name: str, priority: int) -> None:
        assert await admission.enter(name, priority)
        order.append(name)
        admission.leave(name)

    tasks = [
        asyncio.create_task(speak(name, priority))
        for name, priority in (("late", 0), ("later", 0), ("urgent", 5))
    ]
    await settle()
    admission.leave("running")
    await asyncio.gather(*tasks)
    assert order == ["urgent", "late", "later"]


async def test_cancel_takes_out_of_the_line() -> None:
    admission = admission_of(1, 1)
    await admission.enter("a", 0)
    waiting = asyncio.create_task(admission.enter("b", 0))
    await settle()
    admission.cancel("b")
    admission.cancel("nobody")
    assert not await waiting
    assert admission.waiting == 0


async def test_the_pace_holds_back_free_slots_until_leads_have_grown() -> None:
    now = 0.0
    admission = Admission(3, 9, Pace(46.4), clock=lambda: now)
    admission.holds_back = True
    await admission.enter("first", 0)
    now = 0.2  # a start costs 200 ms: more than one frame and the slack pay for
    admission.progress("first", 1)
    tasks = [
        asyncio.create_task(admission.enter(name, rank)) for name, rank in (("b", 0), ("c", 9))
    ]
    await settle()
    assert (admission.running, admission.free, admission.waiting) == (1, 2, 2)
    for step in range(1, 6):
        now = 0.2 + 0.005 * step
        admission.progress("first", 1)
    await settle()
    # five frames ahead: one may start, the more urgent one
    assert (admission.running, admission.waiting) == (2, 1)
    assert tasks[1].done()
    admission.leave("first")
    admission.leave("c")
    assert await tasks[0]


@given(
    st.lists(st.tuples(st.sampled_from(["enter", "leave", "cancel", "kill"]), st.integers(0, 9)))
)
def test_slots_never_leak(moves: list[tuple[str, int]]) -> None:
    async def run() -> None:
        admission = admission_of(2, 3)
        tasks: dict[int, asyncio.Task[bool]] = {}
        inside: set[int] = set()

        def arrived() -> None:
            for key, task in list(tasks.items()):
                if task.done():
                    del tasks[key]
                    if not task.cancelled() and not task.exception() and task.result():
                        inside.add(key)

        for move, key in moves:
            if move == "enter" and key not in tasks and key not in inside:
                tasks[key] = asyncio.create_task(admission.enter(str(key), key))
            elif move == "leave" and key in inside:
                inside.remove(key)
                admission.leave(str(key))
            elif move == "cancel":
                admission.cancel(str(key))
            elif move == "kill" and key in tasks:
                tasks[key].cancel()
            await settle()
            arrived()
            assert admission.running == len(inside) <= 2
            assert admission.waiting == len(tasks) <= 3
        for _ in range(20):
            for key in list(inside):
                inside.remove(key)
                admission.leave(str(key))
            await settle()
            arrived()
        assert (admission.free, admission.waiting, tasks) == (2, 0, {})

    asyncio.run(run())
