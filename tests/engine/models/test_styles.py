"""Both styles of the semantic draw against numpy, written from the specification's section 8."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.models import sampling

Floats = NDArray[np.float64]

SEMANTIC = 40  # columns; one more is the end


def softmax(x: Floats) -> Floats:
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())


def filtered(logits: Floats, base: Floats, top_p: float, top_k: int) -> list[int]:
    """Columns in order of rank that pass: rank < top_k, cumulative probability of `base` <= top_p,
    the crossing token dropped, rank 0 kept."""
    order = np.argsort(-logits, kind="stable")
    cumulative = np.cumsum(base[order])
    passes = (cumulative <= top_p) | (top_p >= 1)  # all of it is all, however the sum rounds
    return [int(c) for r, c in enumerate(order) if r == 0 or (r < top_k and passes[r])]


def drawn(logits: Floats, columns: list[int], temperature: float, exponential: Floats) -> int:
    p = softmax(logits[columns] / max(temperature, 1e-5))
    return columns[int(np.argmax(p / exponential[: len(columns)]))]


def fish(
    logits: Floats, spoken: list[int], t: float, p: float, k: int, noise: tuple[Floats, Floats]
) -> int:
    base = softmax(logits)
    first = drawn(logits, filtered(logits, base, p, k), t, noise[0])
    second = drawn(logits, filtered(logits, base, 0.9, k), 1.0, noise[1])
    window = spoken[1:][-10:]  # the prefill step's token never enters
    return second if first < SEMANTIC and first in window else first


def bf16(x: Floats) -> Floats:
    """Round to nearest, ties to even, on the upper 16 bits of a float32."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


def omni(logits: Floats, spoken: list[int], t: float, p: float, k: int, noise: Floats) -> int:
    logits = bf16(logits)
    for column in set(spoken[-16:]):
        logits[column] *= 1 / 1.1 if logits[column] > 0 else 1.1
    last = spoken[-4:]
    if len(spoken) >= 4 and len(set(last)) < 4:
        t, p = 1.0, 0.9
    best = np.argsort(-logits, kind="stable")[:k]
    base = np.zeros_like(logits)
    base[best] = softmax(logits[best])
    return drawn(logits, filtered(logits, base, p, k), t, noise)


def history(spoken: list[int]) -> torch.Tensor:
    """What is not real repeats a likely column, to show that it is never read."""
    padded = [0] * sampling.HISTORY + spoken
    return torch.tensor([padded[-sampling.HISTORY :]])


cases = st.tuples(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 11), max_size=24),  # few columns: repetitions are common
    st.sampled_from([0.0, 0.5, 0.8, 1.0, 1.7]),
    st.sampled_from([0.05, 0.5, 0.8, 0.95, 1.0]),
    st.integers(1, 30),
)


def prepared(seed: int) -> tuple[Floats, torch.Tensor, list[Floats], torch.Tensor]:
    """Logits and the two draws' noise for numpy and for torch. No two logits are equal in bf16."""
    rng = np.random.default_rng(seed)
    grid = rng.permutation(np.arange(-SEMANTIC // 2, SEMANTIC // 2 + 1)) * 0.25
    # less than half of bf16's step at their size: what rounding takes away again
    logits = (grid + rng.uniform(-1e-3, 1e-3, SEMANTIC + 1)).astype(np.float32).astype(np.float64)
    seeds, step = torch.tensor([seed]), torch.tensor([3])
    noise = sampling.gumbel_noise(seeds, step, 2)
    exponential = [np.exp(-lane.numpy().astype(np.float64)) for lane in noise[0]]
    return logits, torch.from_numpy(logits).float().unsqueeze(0), exponential, noise


def settings(t: float, p: float, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.tensor([t]), torch.tensor([p]), torch.tensor([k])


@given(cases)
def test_fish_draws_what_the_specification_says(
    case: tuple[int, list[int], float, float, int],
) -> None:
    seed, spoken, t, p, k = case
    logits, tensor, exponential, noise = prepared(seed)
    ours = sampling.draw_fish(
        tensor,
        history(spoken),
        torch.tensor([len(spoken)]),
        settings(t, p, k),
        (noise[:, 0], noise[:, 1]),
    )
    assert ours.item() == fish(logits, spoken, t, p, k, (exponential[0], exponential[1]))


@given(cases)
@example((294, [3], 0.5, 1.0, 5))
def test_omni_draws_what_the_specification_says(
    case: tuple[int, list[int], float, float, int],
) -> None:
    seed, spoken, t, p, k = case
    logits, tensor, exponential, noise = prepared(seed)
    ours = sampling.draw_omni(
        tensor, history(spoken), torch.tensor([len(spoken)]), settings(t, p, k), noise[:, 0]
    )
    assert ours.item() == omni(logits, spoken, t, p, k, exponential[0])


@pytest.mark.parametrize(
    ("spoken", "hot"),
    [([5, 5, 5], False), ([9, 5, 6, 5], True), ([5, 5, 1, 2, 3, 4], False), ([1, 2, 3, 4], False)],
)
def test_omni_heats_a_draw_after_a_repetition_in_the_last_four(
    spoken: list[int], hot: bool
) -> None:
    # cumulative probabilities 0.43, 0.84, 1: hot, the first two may be drawn; cold, only the first
    logits = torch.full((400, SEMANTIC + 1), -9.0)
    logits[:, 20], logits[:, 21], logits[:, 22] = 3.0, 2.96, 2.0
    ours = sampling.draw_omni(
        logits,
        history(spoken).expand(400, -1),
        torch.full((400,), len(spoken)),
        (torch.full((400,), 1e-4), torch.ones(400), torch.full((400,), 30)),
        sampling.gumbel_noise(torch.arange(400), torch.zeros(400, dtype=torch.int64), 1)[:, 0],
    )
    assert set(ours.tolist()) == ({20, 21} if hot else {20})


def test_omni_rounds_through_bf16_and_fish_does_not() -> None:
    # 5 and 4.99 are one number in bf16, so a cold draw takes either
    logits = torch.full((200, SEMANTIC + 1), -9.0)
    logits[:, 3], logits[:, 4] = 5.0, 4.99
    cold = (torch.full((200,), 1e-4), torch.ones(200), torch.full((200,), 30))
    noise = sampling.gumbel_noise(torch.arange(200), torch.zeros(200, dtype=torch.int64), 2)
    empty, none = torch.zeros(200, sampling.HISTORY, dtype=torch.int64), torch.zeros(200).long()
    omni_draws = sampling.draw_omni(logits, empty, none, cold, noise[:, 0])
    fish_draws = sampling.draw_fish(logits, empty, none, cold, (noise[:, 0], noise[:, 1]))
    assert set(omni_draws.tolist()) == {3, 4}
    assert set(fish_draws.tolist()) == {3}


def test_a_repeated_column_is_penalised_once_and_by_its_sign() -> None:
    logits = torch.zeros(1, 5)
    logits[0] = torch.tensor([2.2, -2.2, 1.0, -1.0, 0.0])
    spoken = [0, 1, 0, 1, 0]
    ours = sampling.penalise(logits, history(spoken), torch.tensor([len(spoken)]))
    assert ours[0].tolist() == pytest.approx([2.0, -2.42, 1.0, -1.0, 0.0])


def test_what_was_said_17_frames_ago_is_forgotten() -> None:
    logits = torch.ones(1, 8)
    spoken = [1, *[2] * 16]
    ours = sampling.penalise(logits, history(spoken), torch.tensor([len(spoken)]))
    assert ours[0].tolist() == pytest.approx([1, 1, 1 / 1.1, 1, 1, 1, 1, 1])
