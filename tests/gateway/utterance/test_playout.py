"""Positions on the listener's time line."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.utterance.playout import MAX_PRIORITY, Playout, priority


def test_playback_starts_with_the_first_packet_and_stops_at_what_was_sent() -> None:
    playout = Playout()
    assert playout.heard_ms(0.0) == 0.0
    playout.note_sent(100.0, now_ms=50.0)
    assert playout.heard_ms(50.0) == 0.0
    assert playout.heard_ms(110.0) == 60.0
    assert playout.heard_ms(1000.0) == 100.0
    assert playout.lead_ms(110.0) == 40.0
    assert playout.lead_ms(1000.0) == 0.0
    assert playout.end_at_ms() == 150.0


def test_a_late_packet_restarts_playback_where_it_stopped() -> None:
    playout = Playout()
    playout.note_sent(100.0, 0.0)
    playout.note_sent(200.0, 130.0)  # dry for 30 ms
    assert playout.heard_ms(130.0) == 100.0
    assert playout.heard_ms(180.0) == 150.0


def test_a_report_is_believed_and_the_clock_goes_on_from_it() -> None:
    playout = Playout()
    playout.note_sent(1000.0, 0.0)
    playout.report(100.0, 300.0)  # the client started 200 ms later than assumed
    assert playout.heard_ms(300.0) == 100.0
    assert playout.heard_ms(350.0) == 150.0


def test_stale_reports_are_ignored_and_high_ones_capped() -> None:
    playout = Playout()
    playout.report(50.0, 0.0)  # nothing was sent yet
    assert playout.heard_ms(10.0) == 0.0
    playout.note_sent(1000.0, 10.0)
    playout.report(400.0, 500.0)
    playout.report(300.0, 510.0)
    assert playout.heard_ms(510.0) == 410.0
    playout.report(5000.0, 520.0)
    assert playout.heard_ms(520.0) == 1000.0


def test_a_context_is_played_after_the_one_before_it() -> None:
    first = Playout()
    first.note_sent(500.0, 0.0)
    second = Playout(first)
    second.note_sent(300.0, 100.0)
    assert second.heard_ms(450.0) == 0.0
    assert second.position_ms(450.0) == -50.0
    assert second.lead_ms(450.0) == 350.0  # the rest of the first one counts
    assert second.heard_ms(600.0) == 100.0
    first.report(100.0, 300.0)  # the first one is later than assumed, so is the second
    assert second.heard_ms(700.0) == 0.0
    assert second.heard_ms(750.0) == 50.0


def test_a_cut_is_final() -> None:
    playout = Playout()
    playout.note_sent(500.0, 0.0)
    playout.cut(200.0)
    playout.note_sent(520.0, 200.0)  # the faded tail
    playout.report(400.0, 300.0)
    playout.cut(400.0)
    assert playout.heard_ms(1000.0) == 200.0
    assert playout.end_at_ms() == 200.0
    assert Playout(playout).due_at_ms(20.0, 100.0) == 200.0 - 80.0


def test_one_that_was_cut_before_its_turn_leaves_the_listener_with_the_one_before() -> None:
    first = Playout()
    first.note_sent(10_000.0, 0.0)
    first.settle(0.0)
    second = Playout(first)
    third = Playout(second)  # opened before the cut
    second.cut(100.0)
    fourth = Playout(second)  # and after it
    for later in (third, fourth):
        later.note_sent(500.0, 200.0)
        assert later.heard_ms(5_000.0) == 0.0
        assert later.heard_ms(10_200.0) == 200.0
        assert later.lead_ms(5_000.0) == 5_500.0
    first.cut(5_000.0)
    assert third.heard_ms(5_100.0) == fourth.heard_ms(5_100.0) == 100.0


@given(
    st.lists(st.tuples(st.sampled_from(["open", "cut", "wait"]), st.integers(0, 9)), max_size=40)
)
def test_whoever_was_cut_in_the_queue_changes_nothing_for_the_others(
    steps: list[tuple[str, int]],
) -> None:
    """As if those had never been opened."""
    now_ms, first = 0.0, Playout()
    first.note_sent(3_000.0, 0.0)
    queue, kept = [first], [first]
    for kind, amount in steps:
        if kind == "open":
            queue.append(Playout(queue[-1]))
        elif kind == "cut" and amount < len(queue) - 1:
            queue[amount + 1].cut(now_ms)
        else:
            now_ms += 200.0 * amount
    queue.append(Playout(queue[-1]))
    kept = [first, *(Playout(first) for playout in queue[1:] if playout._cut is None)]
    for before, playout in zip(kept, kept[1:], strict=False):
        playout._previous = before
    left = [playout for playout in queue if playout._cut is None]
    for playout in (*left[1:], *kept[1:]):
        playout.note_sent(1_000.0, now_ms)
    for later_ms in (0.0, 500.0, 2_500.0, 4_000.0, 9_000.0):
        at_ms = now_ms + later_ms
        assert [p.heard_ms(at_ms) for p in left] == [p.heard_ms(at_ms) for p in kept]


def test_a_chain_of_those_that_were_cut_does_not_grow() -> None:
    playout = first = Playout()
    first.note_sent(500.0, 0.0)
    for _ in range(5000):
        playout = Playout(playout)
        playout.cut(10.0)
    assert playout.end_at_ms() == 500.0 and playout._previous is first


def test_a_chain_of_empty_contexts_does_not_grow() -> None:
    playout = Playout()
    playout.note_sent(500.0, 0.0)
    for _ in range(5000):
        playout = Playout(playout)
        playout.settle(10.0)
    assert playout.end_at_ms() == 500.0


@pytest.mark.parametrize(
    ("target_ms", "due_ms"), [(100.0, 220.0), (300.0, 20.0), (10.0, 300.0), (0.0, -math.inf)]
)
def test_a_packet_is_due_when_the_lead_has_room_for_it(target_ms: float, due_ms: float) -> None:
    playout = Playout()
    playout.note_sent(300.0, 0.0)
    assert playout.due_at_ms(20.0, target_ms) == due_ms


def test_the_first_packet_is_due_at_once() -> None:
    assert Playout().due_at_ms(20.0, 20.0) == -math.inf


@given(
    st.lists(
        st.tuples(st.sampled_from(["sent", "report", "wait", "cut"]), st.floats(0.0, 500.0)),
        max_size=40,
    )
)
def test_heard_never_exceeds_sent_and_no_lead_is_negative(steps: list[tuple[str, float]]) -> None:
    playout = Playout(Playout())
    now_ms = sent_ms = 0.0
    for kind, amount in steps:
        if kind == "sent":
            sent_ms += amount
            playout.note_sent(sent_ms, now_ms)
        elif kind == "report":
            playout.report(amount * 10, now_ms)
        elif kind == "cut":
            playout.cut(now_ms)
        now_ms += amount
        assert 0.0 <= playout.heard_ms(now_ms) <= playout.sent_ms == sent_ms
        assert playout.lead_ms(now_ms) >= 0.0


@given(st.floats(20.0, 5000.0), st.lists(st.floats(0.0, 400.0), min_size=1, max_size=50))
def test_sending_when_due_keeps_the_lead_within_its_target(
    target_ms: float, delays_ms: list[float]
) -> None:
    playout = Playout()
    now_ms = 0.0
    for delay_ms in delays_ms:  # the shell may come late, never early
        now_ms = max(now_ms, playout.due_at_ms(20.0, target_ms)) + delay_ms
        playout.note_sent(playout.sent_ms + 20.0, now_ms)
        assert playout.lead_ms(now_ms) <= max(target_ms, 20.0) + 1e-6


def test_a_smaller_lead_is_never_less_urgent() -> None:
    urgencies = [priority(lead_ms) for lead_ms in range(-100, 4000, 50)]
    assert urgencies == sorted(urgencies, reverse=True)
    assert (urgencies[0], urgencies[-1]) == (MAX_PRIORITY, 0)
