"""How many frames leave: at once while the listener has nothing, later never the newest ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.host.holding import HOLD_MS, LOW_MS, Holding

FRAME_MS = 50.0
MOST = round(HOLD_MS / FRAME_MS)


def test_the_first_frame_leaves_at_once_where_nothing_plays() -> None:
    holding = Holding(FRAME_MS, 0.0, start_s=10.0)
    assert holding.leaving(1, 0, 12.0) == 1


def test_a_listener_with_a_lead_lets_frames_wait() -> None:
    holding = Holding(FRAME_MS, 2000.0, start_s=10.0)
    assert [holding.leaving(made, 0, 10.1) for made in (1, MOST, MOST + 1)] == [0, 0, 1]


def test_a_lead_that_runs_low_lets_frames_go() -> None:
    holding = Holding(FRAME_MS, 500.0, start_s=10.0)
    assert holding.leaving(5, 0, 10.1) == 0
    assert holding.leaving(5, 0, 10.299) == 2  # 99 ms are missing
    assert holding.leaving(5, 2, 11.0) == 5


@given(steps=st.lists(st.tuples(st.floats(0.001, 0.2), st.integers(1, 4)), max_size=80))
def test_the_listener_never_waits_for_a_frame_that_is_held(
    steps: list[tuple[float, int]],
) -> None:
    holding, now_s, made, left = Holding(FRAME_MS, 0.0, 0.0), 0.0, 0, 0
    began_s = None
    for wait_s, frames in steps:
        now_s, made = now_s + wait_s, made + frames
        before, left = left, holding.leaving(made, left, now_s)
        assert before <= left <= made and made - left <= MOST
        began_s = now_s if began_s is None else began_s
        lead_ms = left * FRAME_MS - (now_s - began_s) * 1000.0
        assert left == made or lead_ms >= LOW_MS - 1e-6


@given(
    st.lists(st.floats(0.0, 5.0), min_size=1, max_size=60),
    st.floats(0.0, 5000.0),
    st.booleans(),
)
def test_with_a_seed_the_clock_has_no_say(
    waits_s: list[float], lead_ms: float, continues: bool
) -> None:
    def leave(lead_ms: float, factor: float) -> list[int]:
        holding = Holding(FRAME_MS, lead_ms, 0.0, seeded=True, continues=continues)
        left, now_s, seen = 0, 0.0, []
        for made, wait_s in enumerate(waits_s, 1):
            now_s += factor * wait_s
            left = holding.leaving(made, left, now_s)
            seen.append(left)
        return seen

    assert leave(lead_ms, 1.0) == leave(0.0, 0.0)
