"""What the scheduler's hook hands the model is for one step, of these very requests."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.models.request_table import DrawMode, RequestTable

BOOKS = 3


@pytest.fixture
def table() -> RequestTable:
    return RequestTable(4, BOOKS, "cpu")


def rows(count: int, value: int = 1) -> np.ndarray:
    return np.full((count, BOOKS), value, np.int64)


def test_staged_codes_are_taken_once(table: RequestTable) -> None:
    table.stage_prefill(["a", "b"], rows(5, 7))
    assert torch.equal(table.take_prefill(["a", "b"], 5), torch.full((5, BOOKS), 7))
    with pytest.raises(RuntimeError, match="expected 5 rows from the scheduler's hook, got none"):
        table.take_prefill(["a", "b"], 5)


def test_a_step_of_requests_without_codes_is_an_error(table: RequestTable) -> None:
    with pytest.raises(RuntimeError, match="expected 2 rows from the scheduler's hook, got none"):
        table.take_prefill(["a"], 2)


def test_sglangs_own_passes_have_no_requests_and_no_codes(table: RequestTable) -> None:
    assert torch.equal(table.take_prefill((), 6), torch.zeros((6, BOOKS), dtype=torch.int64))
    table.stage_prefill(["a"], rows(6))
    assert not table.take_prefill((), 6).any()
    with pytest.raises(RuntimeError, match="got none"):  # they are not left for anybody else
        table.take_prefill(["a"], 6)


@pytest.mark.parametrize("requests", [["b"], ["a", "b"], ["b", "a"]])
def test_codes_of_other_requests_are_an_error(table: RequestTable, requests: list[str]) -> None:
    table.stage_prefill(["a"] if requests != ["b", "a"] else ["a", "b"], rows(4))
    with pytest.raises(RuntimeError, match="expected those of .*, got those of a"):
        table.take_prefill(requests, 4)


def test_codes_of_another_length_are_an_error(table: RequestTable) -> None:
    table.stage_prefill(["a"], rows(4))
    with pytest.raises(RuntimeError, match="expected 3 rows, got 4"):
        table.take_prefill(["a"], 3)


def test_a_step_that_nobody_announced_gets_a_mode_that_serves_every_batch(
    table: RequestTable,
) -> None:
    assert table.take_mode() is DrawMode.ANY
    table.stage_mode(DrawMode.GREEDY)
    assert table.take_mode() is DrawMode.GREEDY
    assert table.take_mode() is DrawMode.ANY
