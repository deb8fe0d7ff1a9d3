"""The filter against the reference's probabilities; draws against their own distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from engine.models import sampling
from tests.golden_data import description, vectors

CASES = description("sampling")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_the_filter_leaves_the_references_probabilities(case: dict[str, Any]) -> None:
    golden = vectors("sampling")
    logits = torch.from_numpy(golden[f"{case['case']}.logits"]).unsqueeze(0)
    values, indices, cumulative = sampling.ranked(logits, ranks=logits.shape[-1])
    kept = sampling.keep(cumulative, torch.tensor([case["top_p"]]), torch.tensor([case["top_k"]]))
    assert int(kept.sum()) == case["n_kept"]
    tempered = (values / case["temperature"]).masked_fill(~kept, float("-inf"))
    ours = torch.zeros_like(logits).scatter(-1, indices, tempered.softmax(-1))[0].numpy()
    assert np.abs(ours - golden[f"{case['case']}.probs"]).max() <= 1e-5


def test_noise_is_a_function_of_seed_step_lane_and_rank() -> None:
    seeds = torch.tensor([1, 1, 2, 2**62])
    steps = torch.tensor([0, 1, 0, 0])
    noise = sampling.gumbel_noise(seeds, steps, lanes=11)
    alone = sampling.gumbel_noise(seeds[2:3], steps[2:3], lanes=11)
    assert torch.equal(noise[2:3], alone)
    assert noise.flatten().unique().numel() > 0.99 * noise.numel()


def test_noise_is_gumbel_distributed() -> None:
    seeds = torch.arange(4096)
    noise = sampling.gumbel_noise(seeds, torch.zeros_like(seeds), lanes=4).double()
    # mean is Euler's constant, variance pi^2 / 6; the error of the mean is about 0.0013 here
    assert noise.mean().item() == pytest.approx(0.5772, abs=0.01)
    assert noise.var().item() == pytest.approx(np.pi**2 / 6, abs=0.03)
    # no column and no lane leans
    assert noise.mean(dim=0).sub(0.5772).abs().max().item() < 0.12


def test_draws_follow_the_filtered_distribution() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0, -3.0]]).expand(20000, 5)
    rows = logits.shape[0]
    noise = sampling.gumbel_noise(torch.arange(rows), torch.zeros(rows, dtype=torch.int64), 1)
    temperature, top_p = torch.full((rows,), 0.7), torch.full((rows,), 0.97)
    top_k = torch.full((rows,), 3)
    drawn = sampling.draw(logits, temperature, top_p, top_k, noise[:, 0])
    share = torch.bincount(drawn, minlength=5).double() / rows
    expected = (logits[0, :3] / 0.7).softmax(0).double()
    assert torch.allclose(share[:3], expected, atol=0.015)
    assert share[3:].sum() == 0


def test_rank_zero_survives_any_filter() -> None:
    logits = torch.tensor([[0.0, 5.0, 0.0]])
    one = torch.ones(1)
    noise = sampling.gumbel_noise(torch.tensor([3]), torch.tensor([0]), 1)[:, 0]
    assert sampling.draw(logits, one, one * 1e-9, one.long() * 30, noise).item() == 1
