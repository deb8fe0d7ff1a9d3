"""Buckets, padding and recordings, with a recorder that repeats the work instead of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from engine.models.frame_step import FrameStep
from engine.models.graphs import Outputs, Recording, StepGraphs, batch_buckets
from engine.models.plain import PlainLoop
from engine.models.request_table import DrawMode, RequestTable, RowSettings
from tests.golden_data import TINY

ROWS = [
    RowSettings(0.9, 0.7, 0.9, 30, seed=i, min_frames=0, style="omni" if i % 2 else "fish")
    for i in range(5)
]
SLOTS = torch.tensor([3, 0, 6, 4, 1])


class Repeater:
    """Records by running once; a replay runs again into the same outputs, as a graph would."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def record(self, work: Callable[[], Outputs]) -> Recording:
        outputs = work()
        self.recorded += 1

        def replay() -> None:
            self.replayed += 1
            for place, new in zip(outputs, work(), strict=True):
                place.copy_(new)

        return Recording(replay, outputs)


@pytest.fixture(scope="module")
def loop() -> PlainLoop:
    return PlainLoop(TINY, frames_at_once=8)


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def begun(loop: PlainLoop) -> FrameStep:
    step = FrameStep(loop.slow, loop.fast, RequestTable(8, loop.fast.num_codebooks, "cpu"))
    for slot, settings in zip(SLOTS.tolist(), ROWS, strict=True):
        step.table.begin(slot, settings, ())
    return step


def test_padded_batches_draw_what_the_step_itself_would(loop: PlainLoop) -> None:
    eager, step = begun(loop), begun(loop)
    recorder = Repeater()
    graphs = StepGraphs(step, [1, 2, 4, 8], recorder)
    graphs.record()
    generator = torch.Generator().manual_seed(1)
    for batch in (5, 1, 4, 3, 5, 2):
        logits = torch.randn(batch, loop.slow.head.shape[0], generator=generator)
        hidden = torch.randn(batch, loop.slow.head.shape[1], generator=generator)
        slots = SLOTS[:batch]
        expected = eager(logits.clone(), hidden, slots, DrawMode.ANY)
        ours = graphs(logits, hidden, slots, DrawMode.FISH)
        assert torch.equal(ours[0], expected[0])
        assert torch.equal(ours[1], expected[1])
    assert (recorder.recorded, recorder.replayed) == (4, 6)
    # nobody else's row was touched: not by the recordings, not by the padding
    for name in ("step", "history", "codes"):
        ours_table, expected_table = getattr(step.table, name), getattr(eager.table, name)
        assert torch.equal(ours_table[:-1], expected_table[:-1])
    assert step.table.step[step.table.spare] > 0


def test_a_batch_beyond_the_largest_bucket_is_refused(loop: PlainLoop) -> None:
    graphs = StepGraphs(begun(loop), [1, 2], Repeater())
    graphs.record()
    width, dim = loop.slow.head.shape
    with pytest.raises(ValueError, match="expected a batch of at most 2, got 3"):
        graphs(torch.zeros(3, width), torch.zeros(3, dim), SLOTS[:3], DrawMode.ANY)


def test_buckets_end_with_the_largest_batch_and_waste_little() -> None:
    assert batch_buckets(1) == [1]
    assert batch_buckets(6) == [1, 2, 4, 6]
    assert batch_buckets(64) == [1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64]
    for largest in range(1, 200):
        buckets = batch_buckets(largest)
        assert buckets == sorted(set(buckets))
        assert buckets[-1] == largest
        for batch in range(1, largest + 1):
            padded = next(bucket for bucket in buckets if bucket >= batch)
            assert padded <= 2 * batch
