from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gateway.audio.fifo import SampleFifo


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 50)), max_size=40))
def test_gives_back_what_came_in_order(steps: list[tuple[bool, int]]) -> None:
    fifo, pushed, taken = SampleFifo(), 0, 0
    for push, count in steps:
        if push:
            fifo.push(np.arange(pushed, pushed + count, dtype=np.float32))
            pushed += count
        else:
            got = fifo.take(count)
            assert len(got) == min(count, pushed - taken)
            assert np.array_equal(got, np.arange(taken, taken + len(got), dtype=np.float32))
            taken += len(got)
        assert len(fifo) == pushed - taken


def test_clear_forgets_a_half_taken_chunk() -> None:
    fifo = SampleFifo()
    fifo.push(np.ones(10, np.float32))
    fifo.take(3)
    fifo.clear()
    fifo.push(np.zeros(2, np.float32))
    assert len(fifo) == 2
    assert not fifo.take(5).any()
