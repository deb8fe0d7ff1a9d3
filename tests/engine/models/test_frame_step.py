"""The step on a batch: each row as if it were alone, whatever its neighbours' style."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
import torch
from torch import Tensor

from engine.checkpoint.folder import Checkpoint
from engine.models.frame_step import FrameStep
from engine.models.plain import PlainLoop
from engine.models.request_table import DrawMode, RequestTable, RowSettings, draw_mode
from engine.models.weights import build_dual_ar
from tests.golden_data import TINY

FISH = RowSettings(0.9, 0.7, 0.9, 30, seed=7, min_frames=0)
OMNI = RowSettings(0.9, 0.7, 0.9, 30, seed=7, min_frames=0, style="omni")
GREEDY = RowSettings(0.9, 0.7, 0.9, 1, seed=7, min_frames=0)
STEPS = 24


@pytest.fixture(scope="module")
def loop() -> PlainLoop:
    return PlainLoop(TINY, frames_at_once=8)


def step_of(loop: PlainLoop, slots: int = 8) -> FrameStep:
    return FrameStep(loop.slow, loop.fast, RequestTable(slots, loop.fast.num_codebooks, "cpu"))


def inputs(model: PlainLoop | FrameStep, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Logits of few likely columns, so that repetitions happen, and a hidden state; by step."""
    generator = torch.Generator().manual_seed(seed)
    width, dim = model.slow.head.shape
    for _ in range(STEPS):
        logits = torch.full((1, width), -12.0)
        logits[0, :6] = torch.randn(6, generator=generator)
        yield logits, torch.randn(1, dim, generator=generator)


def run(
    step: FrameStep, rows: Mapping[int, RowSettings], seeds: Mapping[int, int], mode: DrawMode
) -> dict[int, list[list[int]]]:
    """Speak in the given slots at once; each slot's own sequence of inputs -> its codes."""
    streams = {slot: inputs(step, seeds[slot]) for slot in rows}
    made: dict[int, list[list[int]]] = {slot: [] for slot in rows}
    for slot, settings in rows.items():
        step.table.begin(slot, settings, ())
    for _ in range(STEPS):
        parts = [next(streams[slot]) for slot in rows]
        logits, hidden = (torch.cat(side) for side in zip(*parts, strict=True))
        _, codes = step(logits, hidden, torch.tensor(list(rows)), mode)
        for slot, frame in zip(rows, codes.tolist(), strict=True):
            made[slot].append(frame)
    return made


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def test_rows_of_mixed_styles_draw_as_if_alone(loop: PlainLoop) -> None:
    rows = {0: FISH, 3: OMNI, 4: GREEDY, 6: OMNI, 7: FISH}
    seeds = {0: 1, 3: 1, 4: 1, 6: 2, 7: 2}
    together = run(step_of(loop), rows, seeds, draw_mode(rows.values()))
    for slot, settings in rows.items():
        alone = run(step_of(loop), {slot: settings}, seeds, draw_mode([settings]))
        assert together[slot] == alone[slot]
    # same seed and inputs, other style: the styles do differ
    assert together[0] != together[3]


def test_omni_takes_the_best_residual_codes(loop: PlainLoop) -> None:
    made = run(step_of(loop), {0: OMNI}, {0: 5}, DrawMode.ANY)[0]
    for frame, (_, hidden) in zip(made, inputs(loop, 5), strict=True):
        semantic = torch.tensor(frame[:1])
        best = loop.fast(hidden, semantic, lambda k, x: x.argmax(-1))
        assert frame == best[0].tolist()


def test_a_less_needy_mode_draws_the_same(loop: PlainLoop) -> None:
    assert draw_mode([GREEDY, GREEDY]) is DrawMode.GREEDY
    assert draw_mode([GREEDY, FISH]) is DrawMode.FISH
    assert draw_mode([FISH, OMNI]) is DrawMode.ANY
    assert draw_mode([GREEDY, RowSettings(1, 1, 1, 1, 0, 0, "omni")]) is DrawMode.ANY
    for settings, mode in ((GREEDY, DrawMode.GREEDY), (FISH, DrawMode.FISH)):
        cheap = run(step_of(loop), {2: settings}, {2: 9}, mode)
        assert cheap == run(step_of(loop), {2: settings}, {2: 9}, DrawMode.ANY)


@pytest.mark.parametrize("settings", [FISH, OMNI])
@pytest.mark.parametrize("retracted_after", [1, 5, 17, 23])
def test_after_a_retraction_the_draws_go_on(
    loop: PlainLoop, settings: RowSettings, retracted_after: int
) -> None:
    whole = run(step_of(loop), {0: settings}, {0: 3}, DrawMode.ANY)[0]
    step = step_of(loop)
    spoken = [frame[0] for frame in whole[:retracted_after]]
    step.table.begin(5, settings, spoken)
    resumed = []
    for logits, hidden in list(inputs(loop, 3))[retracted_after:]:
        _, codes = step(logits, hidden, torch.tensor([5]), DrawMode.ANY)
        resumed += codes.tolist()
    assert resumed == whole[retracted_after:]


@pytest.mark.parametrize("settings", [FISH, OMNI, GREEDY])
def test_the_end_waits_for_the_shortest_length(loop: PlainLoop, settings: RowSettings) -> None:
    step = step_of(loop)
    patient = RowSettings(
        settings.temperature, 1.0, settings.top_p, settings.top_k, 1, 3, settings.style
    )
    step.table.begin(0, patient, ())
    ends = []
    for logits, hidden in list(inputs(loop, 1))[:5]:
        logits[0, -1] = 50.0
        ids, _ = step(logits, hidden, torch.tensor([0]), draw_mode([patient]))
        ends.append(int(ids) == loop.slow.end_id)
    assert ends == [False, False, False, True, True]


def test_a_slot_begins_anew(loop: PlainLoop) -> None:
    step = step_of(loop)
    first = run(step, {0: FISH}, {0: 4}, DrawMode.FISH)
    assert run(step, {0: FISH}, {0: 4}, DrawMode.FISH) == first
    with pytest.raises(IndexError, match="expected 0 to 7, got 8"):
        step.table.begin(8, FISH, ())


def test_nothing_is_asked_of_the_device() -> None:
    """The step runs on tensors that have no values, so it never looks at one."""
    config = Checkpoint.open(TINY).config
    books = config.num_codebooks
    with torch.device("meta"):
        slow, fast = build_dual_ar(config, 4)
        step = FrameStep(slow, fast, RequestTable(4, books, "meta"))
        logits, hidden = torch.empty(3, slow.head.shape[0]), torch.empty(3, config.text_config.dim)
        ids, codes = step(logits, hidden, torch.zeros(3, dtype=torch.int64), DrawMode.ANY)
    assert ids.shape == (3,)
    assert codes.shape == (3, books)
