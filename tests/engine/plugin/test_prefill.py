"""What the scheduler's hook stages: codes of prompts and of frames made before a retraction."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.models.request_table import RequestTable, RowSettings
from engine.plugin.prefill import stage_extend, to_custom_params

BOOKS = 3
SETTINGS = RowSettings(0.8, 0.7, 0.9, 30, seed=5, min_frames=0)


@dataclass
class Request:
    """As far as the hook reads one of SGLang's."""

    rid: str
    slot: int
    prompt: int
    spans: list[tuple[int, int]]
    made: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = sum(end - start for start, end in self.spans)
        self.codes = np.arange(count * BOOKS, dtype=np.uint16).reshape(-1, BOOKS) + 1
        params = to_custom_params(SETTINGS, self.spans, self.codes, (0, 1))
        self.sampling_params = SimpleNamespace(custom_params=params)
        self.customized_info = {"codes": self.made} if self.made else None
        self.kv = SimpleNamespace(req_pool_idx=self.slot)
        self.origin_input_ids = [0] * self.prompt


def batch(*parts: tuple[Request, int, int]) -> Any:
    requests, starts, lengths = zip(*parts, strict=True)
    return SimpleNamespace(reqs=requests, prefix_lens=starts, extend_lens=lengths)


def test_the_codes_of_a_batch_are_staged_for_its_requests() -> None:
    table = RequestTable(4, BOOKS, "cpu")
    voice = Request("voice", 0, 6, [(1, 4)])
    plain = Request("plain", 2, 3, [])
    stage_extend(table, batch((voice, 0, 6), (plain, 1, 2)), "codes")
    staged = table.take_prefill(["voice", "plain"], 8).numpy()
    assert np.array_equal(staged[1:4], voice.codes)
    assert not staged[[0, 4, 5, 6, 7]].any()


def test_a_part_of_a_prompt_gets_its_part_of_the_codes() -> None:
    table = RequestTable(4, BOOKS, "cpu")
    voice = Request("voice", 0, 9, [(1, 4), (6, 8)])
    stage_extend(table, batch((voice, 3, 4)), "codes")
    staged = table.take_prefill(["voice"], 4).numpy()
    assert np.array_equal(staged[0], voice.codes[2])
    assert not staged[1:3].any()
    assert np.array_equal(staged[3], voice.codes[3])


def test_frames_made_before_a_retraction_come_back() -> None:
    table = RequestTable(4, BOOKS, "cpu")
    made = [np.array([5 + i, 1, 2], "<u2").tobytes() for i in range(2)]
    request = Request("again", 1, 3, [], made)
    stage_extend(table, batch((request, 0, 5)), "codes")
    staged = table.take_prefill(["again"], 5).numpy()
    assert staged[3:].tolist() == [[5, 1, 2], [6, 1, 2]]
    assert int(table.step[1]) == 2


def test_a_hook_that_fails_leaves_nothing_that_a_step_could_take() -> None:
    table = RequestTable(4, BOOKS, "cpu")
    good, bad = Request("good", 0, 2, []), Request("bad", 99, 2, [])
    with pytest.raises(IndexError):
        stage_extend(table, batch((good, 0, 2), (bad, 0, 2)), "codes")
    with pytest.raises(RuntimeError, match="got none"):
        table.take_prefill(["good", "bad"], 4)


def test_frames_that_begin_the_answer_count_as_made() -> None:
    table = RequestTable(4, BOOKS, "cpu")
    request = Request("goes on", 1, 7, [(1, 3), (4, 7)])
    params = to_custom_params(SETTINGS, request.spans, request.codes, (0, 1), answered=3)
    request.sampling_params.custom_params = params
    stage_extend(table, batch((request, 2, 5)), "codes")
    assert int(table.step[1]) == 3
    assert table.history[1, -3:].tolist() == request.codes[2:, 0].tolist()
    assert np.array_equal(table.take_prefill(["goes on"], 5).numpy()[2:], request.codes[2:])
