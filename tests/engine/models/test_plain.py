"""The modules' arithmetic against the reference's vectors, through the plain loop."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.models.plain import PlainLoop
from engine.models.request_table import RowSettings
from tests.golden_data import (
    GENERATIONS,
    HIDDEN_TOLERANCE,
    LOGITS_TOLERANCE,
    TINY,
    vectors,
)

GREEDY = RowSettings(1.0, 1.0, 1.0, top_k=1, seed=0, min_frames=0)


@pytest.fixture(scope="module")
def loop() -> PlainLoop:
    return PlainLoop(TINY)


def close(ours: torch.Tensor, golden: np.ndarray, tolerance: float) -> None:
    difference = np.abs(ours.detach().numpy() - golden).max()
    assert difference <= tolerance, f"expected within {tolerance}, got {difference}"


def test_embeddings_and_every_layer_match(loop: PlainLoop) -> None:
    golden = vectors("slow_ar")
    prompt = torch.from_numpy(golden["input"].astype(np.int64))
    x = loop.slow.embed(prompt[0], prompt[1:].T)
    close(x, golden["input_embeds"], 1e-6)
    loop._keys, loop._values = [], []
    turn = loop.slow.turns[torch.arange(prompt.shape[1])]
    for i, block in enumerate(loop.slow.layers):
        x = block(x, turn, loop._attend)
        # the tolerance is stated for normed hidden states; these have a spread of 2 to 4
        layer = golden[f"layer{i}_out"]
        close(x, layer, HIDDEN_TOLERANCE * layer.std())
    close(x, golden["hidden_pre_norm"], HIDDEN_TOLERANCE * golden["hidden_pre_norm"].std())
    close(loop.slow.norm(x), golden["hidden_normed"], HIDDEN_TOLERANCE)


def test_the_restricted_head_scores_what_the_whole_one_would(loop: PlainLoop) -> None:
    golden = vectors("slow_ar")
    normed = torch.from_numpy(golden["hidden_normed"][-4:])
    logits = loop.slow.logits(normed)
    slow = loop.slow
    whole = golden["logits_last4"]
    close(logits[:, :-1], whole[:, slow.first_id : slow.last_id + 1], LOGITS_TOLERANCE)
    close(logits[:, -1], whole[:, slow.end_id], LOGITS_TOLERANCE)


def test_rope_tables_are_rounded_as_the_model_was_trained(loop: PlainLoop) -> None:
    golden = vectors("slow_ar")
    turns = loop.slow.turns[torch.from_numpy(golden["rope_slow_pos"].astype(np.int64))]
    close(torch.view_as_real(turns), golden["rope_slow_cos_sin"].astype(np.float32), 0.0)
    fast = vectors("fast_ar")["rope_fast_cos_sin"].astype(np.float32)
    close(torch.view_as_real(loop.fast.turns), fast, 0.0)


@pytest.mark.parametrize("request_name", ["clone", "multi_speaker"])
def test_fast_logits_match(loop: PlainLoop, request_name: str) -> None:
    golden = vectors("fast_ar")
    hidden = torch.from_numpy(golden[f"{request_name}.slow_hidden"]).reshape(1, -1)
    codes = torch.from_numpy(golden[f"{request_name}.codes"].astype(np.int64)).reshape(1, -1)
    logits = loop.fast.teacher_forced(hidden, codes)[0]
    # the reference's row 0 predicts nothing that is used
    close(logits, golden[f"{request_name}.logits"][1:], LOGITS_TOLERANCE)


@pytest.mark.parametrize("name", GENERATIONS)
def test_greedy_generation_matches_every_token_and_code(loop: PlainLoop, name: str) -> None:
    golden = vectors("generation")
    expected = golden[f"{name}.generated"].astype(np.int64)
    made = list(loop.generate(golden[f"{name}.prompt"].astype(np.int64), GREEDY, expected.shape[1]))
    assert [token for token, _ in made] == expected[0].tolist()
    assert np.array_equal(np.stack([codes for _, codes in made]).T, expected[1:])


def test_a_batch_larger_than_the_cache_is_refused(loop: PlainLoop) -> None:
    hidden = torch.zeros(2, 64)
    with pytest.raises(ValueError, match="expected a batch of at most 1, got 2"):
        loop.fast(hidden, torch.zeros(2, dtype=torch.int64), lambda k, x: x.argmax(-1))
