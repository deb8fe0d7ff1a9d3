"""The search for a server's limit, and what counts as late."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.gateway import LIMIT_MS, MOST_LEVELS, PRECISION, Search
from benchmarks.parts.gateway_load import LEAD_PACKETS, PACKET_S, Level, Listener, lateness_ms


def level(sessions: int, limit: int, share_of_one: float) -> Level:
    late_ms = LIMIT_MS / 2 if sessions <= limit else 50 * LIMIT_MS
    return Level(sessions, 1.0, late_ms, min(share_of_one * sessions, 1.0), 0.0, 10.0, 0.0)


@pytest.mark.parametrize("first", [150, 300])
@pytest.mark.parametrize("limit", [90, 122, 250, 333, 700, 1577])
@pytest.mark.parametrize("full_at", [0.7, 1.0, 1.3])
def test_the_search_ends_near_the_limit(first: int, limit: int, full_at: float) -> None:
    search = Search(first)
    held = [0]
    for _ in range(MOST_LEVELS):
        found = level(search.sessions, limit, full_at / limit)
        if found.lateness_p99_ms < LIMIT_MS:
            held.append(found.sessions)
        if not search.note(found):
            break
    assert limit / PRECISION - 1 <= max(held) <= limit


def listener(arrivals: list[float]) -> Listener:
    one = Listener(b"")
    one.arrivals = arrivals
    return one


@pytest.mark.parametrize("group", [1, 4])
def test_lateness_is_measured_from_a_sessions_own_time_line(group: int) -> None:
    due = [0.0] * LEAD_PACKETS
    due += [PACKET_S * (i // group * group) for i in range(LEAD_PACKETS, LEAD_PACKETS + 500)]
    punctual, late = listener([at + 100.0 for at in due]), listener([at + 100.004 for at in due])
    late.arrivals[200] += 0.02
    found = lateness_ms([punctual, late], 102.0, 106.0, group)
    assert len(found) == pytest.approx(2 * 195, abs=2 * group)
    assert np.sort(found)[-2] == pytest.approx(0.0, abs=1e-6)
    assert found.max() == pytest.approx(20.0)


def test_what_never_comes_is_as_late_as_the_window_is_long() -> None:
    arrivals = [100.0 + PACKET_S * i for i in range(250)]  # ends at 105 s
    found = lateness_ms([listener(arrivals)], 102.0, 106.0, 1)
    assert np.count_nonzero(found == 4000.0) == pytest.approx(45, abs=1)
