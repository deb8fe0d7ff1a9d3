"""Frames wait for each other while the listener has enough to go on with, and never for long."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.api import Frames
from gateway.engine_link import gathering as gather
from gateway.engine_link.gathering import (
    FRAMES_AT_ONCE,
    LONGEST_HOLD_MS,
    SAFE_LEAD_MS,
    Gatherer,
    joined,
)

RICH_MS = SAFE_LEAD_MS + LONGEST_HOLD_MS


def piece(index: int) -> Frames:
    return Frames(index, bytes([index] * 4), bytes([index]), (index,))


def of(first: int, count: int) -> Frames:
    return joined([piece(i) for i in range(first, first + count)])


async def test_a_listener_who_runs_low_gets_each_frame_at_once() -> None:
    gatherer = Gatherer(pytest.fail)
    for i in range(10):
        assert gatherer.add(piece(i), lambda: RICH_MS - 1.0) == piece(i)


async def test_with_enough_to_go_on_with_frames_leave_together() -> None:
    gatherer = Gatherer(pytest.fail)
    left = [gatherer.add(piece(i), lambda: RICH_MS) for i in range(2 * FRAMES_AT_ONCE)]
    whole = FRAMES_AT_ONCE
    assert [frames for frames in left if frames] == [of(0, whole), of(whole, whole)]
    assert gatherer.take() is None


async def test_what_waits_leaves_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "LONGEST_HOLD_MS", 1.0)
    left: asyncio.Future[Frames] = asyncio.get_running_loop().create_future()
    gatherer = Gatherer(left.set_result)
    assert gatherer.add(piece(0), lambda: RICH_MS) is None
    assert gatherer.add(piece(1), lambda: pytest.fail("asked twice")) is None
    assert await asyncio.wait_for(left, 5.0) == of(0, 2)
    assert gatherer.take() is None


async def test_what_was_taken_does_not_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "LONGEST_HOLD_MS", 0.0)
    gatherer = Gatherer(pytest.fail)
    assert gatherer.add(piece(0), lambda: RICH_MS) is None
    assert gatherer.take() == piece(0)
    await asyncio.sleep(0.002)


@given(st.lists(st.booleans(), max_size=40))
def test_nothing_is_lost_or_doubled(rich: list[bool]) -> None:
    async def run() -> None:
        gatherer = Gatherer(pytest.fail)
        parts = []
        for i, enough in enumerate(rich):
            lead_ms = RICH_MS if enough else 0.0
            if (frames := gatherer.add(piece(i), lambda ms=lead_ms: ms)) is not None:  # type: ignore[misc]
                parts.append(frames)
        if (frames := gatherer.take()) is not None:
            parts.append(frames)
        assert (joined(parts) if parts else None) == (of(0, len(rich)) if rich else None)

    asyncio.run(run())
