from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.codec.slots import SlotError, SlotPool


@given(st.lists(st.integers(0, 5), max_size=60))
def test_slots_are_never_lost_or_shared(choices: list[int]) -> None:
    """Even choices allocate, odd ones free one of those in use."""
    pool, used = SlotPool(4), set[int]()
    for choice in choices:
        if choice % 2 and used:
            slot = sorted(used)[choice % len(used)]
            pool.free(slot)
            used.remove(slot)
        elif len(used) < pool.size:
            slot = pool.allocate()
            assert slot == min(set(range(4)) - used)  # running streams stay close together
            used.add(slot)
        else:
            with pytest.raises(SlotError, match="all 4 are in use"):
                pool.allocate()
        pool.check()
        assert pool.free_count == 4 - len(used)


def test_freeing_twice_is_an_error() -> None:
    pool = SlotPool(2)
    slot = pool.allocate()
    pool.free(slot)
    with pytest.raises(SlotError, match="expected an allocated slot, got 0"):
        pool.free(slot)
    pool.check()


def test_a_pool_has_at_least_one_slot() -> None:
    with pytest.raises(ValueError, match="at least 1 slot, got 0"):
        SlotPool(0)


def test_the_integrity_check_can_fail() -> None:
    pool = SlotPool(2)
    pool._used.add(0)
    with pytest.raises(AssertionError, match="lost or doubled"):
        pool.check()
