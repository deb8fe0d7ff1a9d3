"""When to try again and when to stop, on a clock of numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clients.python.retries import (
    FIRST_WAIT_S,
    LASTED_S,
    LONGEST_WAIT_S,
    MAX_FRUITLESS,
    Retries,
)


def waits(retries: Retries, now_s: float, window_s: float) -> list[float]:
    """Every wait of one outage in which no try succeeds."""
    retries.lost(window_s, 0, now_s)
    found = []
    while (wait_s := retries.next_wait_s(now_s)) is not None:
        found.append(wait_s)
        now_s += wait_s
    return found


def test_the_first_try_is_at_once_and_the_others_are_further_and_further_apart() -> None:
    found = waits(Retries(0.0, chance=lambda: 0.0), 10.0, 30.0)
    assert found[:4] == [0.0, FIRST_WAIT_S, 2 * FIRST_WAIT_S, 4 * FIRST_WAIT_S]
    assert found[-1] == LONGEST_WAIT_S and sum(found) < 30.0


@given(st.floats(0, 1), st.floats(0.01, 600))
def test_tries_end_with_the_window_and_are_spread(chance: float, window_s: float) -> None:
    found = waits(Retries(0.0, chance=lambda: chance), 0.0, window_s)
    assert sum(found) < window_s
    assert all(FIRST_WAIT_S / 2 <= wait_s <= LONGEST_WAIT_S for wait_s in found[1:])


@given(st.floats(1, 60), st.floats(0, LASTED_S / 2))
def test_connections_that_do_not_last_are_part_of_one_outage(
    window_s: float, life_s: float
) -> None:
    retries, now_s, tries = Retries(0.0, chance=lambda: 0.0), 0.0, 0
    while True:
        retries.lost(window_s, 7, now_s)
        wait_s = retries.next_wait_s(now_s)
        if wait_s is None:
            break
        tries += 1
        now_s += wait_s
        assert retries.reopened(0, 0, now_s)
        now_s += life_s
    assert now_s < window_s + life_s + LONGEST_WAIT_S
    assert tries < 10 + window_s / LONGEST_WAIT_S


@given(st.lists(st.sampled_from(["sent", "received", "lasted"]), min_size=1, max_size=20))
def test_any_progress_begins_a_new_outage(progress: list[str]) -> None:
    retries, now_s, sent, received = Retries(0.0, chance=lambda: 0.0), 0.0, 0, 0
    for kind in progress:
        retries.lost(10.0, received, now_s)
        while (wait_s := retries.next_wait_s(now_s)) is not None:
            if wait_s == LONGEST_WAIT_S:
                break
            now_s += wait_s
        assert wait_s is not None
        sent += kind == "sent"
        received += kind == "received"
        assert retries.reopened(sent, 0, now_s)
        now_s += LASTED_S + 1.0 if kind == "lasted" else 0.1


def test_a_connection_that_lasted_brings_the_first_wait_back() -> None:
    retries = Retries(0.0, chance=lambda: 0.0)
    retries.lost(30.0, 1, 0.0)
    assert [retries.next_wait_s(0.0) for _ in range(3)] == [0.0, FIRST_WAIT_S, 2 * FIRST_WAIT_S]
    assert retries.reopened(1, 0, 1.0)
    retries.lost(30.0, 2, 1.5)
    assert retries.next_wait_s(1.5) == 4 * FIRST_WAIT_S
    assert retries.reopened(2, 0, 2.0)
    retries.lost(30.0, 2, 3.0 + LASTED_S)
    assert retries.next_wait_s(3.0 + LASTED_S) == 0.0


@given(st.integers(0, 50), st.floats(0, 1000))
def test_what_the_gateway_sends_does_not_excuse_a_message_that_kills(
    before: int, apart_s: float
) -> None:
    retries = Retries(0.0)
    assert retries.reopened(before + 1, 1, 1.0)
    tries = []
    for i in range(MAX_FRUITLESS):
        retries.lost(30.0, 10 * i, 1.0 + apart_s * i)
        tries.append(retries.reopened(before + 1, 1, 1.0 + apart_s * (i + 1)))
    assert tries == [True] * (MAX_FRUITLESS - 1) + [False]


def test_a_message_that_gets_through_at_last_is_no_killer() -> None:
    retries = Retries(0.0)
    for sent in range(1, 20):
        for _ in range(MAX_FRUITLESS - 1):
            assert retries.reopened(sent, 1, 1.0)
        assert retries.reopened(sent + 1, 0, 1.0)
