"""Numbers of a comparison, on captures whose numbers are known."""

from __future__ import annotations

import math

import pytest
import torch

from engine.workshop.fidelity.capture import Capture
from engine.workshop.fidelity.marks import MARKS
from engine.workshop.fidelity.measure import Measure, compare

FRAMES, LAYERS, BOOKS, WIDTH, DIM = 5, 3, 4, 7, 16


def a_capture(seed: int = 0, name: str = "a") -> Capture:
    noise = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=noise)

    return Capture(
        name,
        random(LAYERS, FRAMES + 2, DIM),
        random(FRAMES, DIM),
        random(FRAMES, WIDTH),
        random(FRAMES, BOOKS - 1, WIDTH),
    )


def changed(capture: Capture, **tensors: torch.Tensor) -> Capture:
    kept = {f: getattr(capture, f) for f in ("name", "layers", "hidden", "slow", "fast")}
    return Capture(**(kept | tensors))  # type: ignore[arg-type]


def test_a_run_compared_with_itself_passes_the_strictest_marks() -> None:
    one = [a_capture(), a_capture(1, "b")]
    comparison = compare(one, one)
    assert comparison.frames == 2 * FRAMES
    assert len(comparison.layer_cosines) == LAYERS
    assert len(comparison.agreement) == len(comparison.divergence_nats) == BOOKS
    assert comparison.first_frames_equal == comparison.sequences == 2
    assert all(m.passed for m in comparison.measures(MARKS["float32"]))


def test_one_wrong_layer_shows_at_its_depth_and_fails() -> None:
    reference = a_capture()
    layers = reference.layers.clone()
    layers[1] = -layers[1]
    comparison = compare([reference], [changed(reference, layers=layers)])
    assert comparison.layer_cosines == pytest.approx((1, -1, 1))
    assert comparison.layer_loss == pytest.approx(2 / 2)
    failed = {m.key for m in comparison.measures(MARKS["quantised"]) if not m.passed}
    assert failed == {"layer_loss"}


def test_agreement_and_divergence_are_by_codebook() -> None:
    reference = a_capture()
    fast = reference.fast.clone()
    fast[:2, 1] = fast[:2, 1].roll(1, dims=-1)  # codebook 2 of two frames of five
    comparison = compare([reference], [changed(reference, fast=fast)])
    assert comparison.agreement == pytest.approx((1, 1, 3 / 5, 1))
    p = reference.fast[:2, 1].double().softmax(-1)
    q = fast[:2, 1].double().softmax(-1)
    expected = float((p * (p / q).log()).sum(-1).sum() / FRAMES)
    assert comparison.divergence_nats == pytest.approx((0, 0, expected, 0), abs=1e-12)


def test_divergence_does_not_see_a_constant_added_to_all_scores() -> None:
    reference = a_capture()
    comparison = compare([reference], [changed(reference, slow=reference.slow + 3)])
    assert max(comparison.divergence_nats) < 1e-12


def test_regret_is_what_the_first_choice_costs_under_the_reference() -> None:
    reference = a_capture()
    slow = reference.slow.clone()
    slow[0] = torch.tensor([0.0, 5, 4.5, 0, 0, 0, 0])
    other = slow.clone()
    other[0, 2] = 6.0
    comparison = compare([changed(reference, slow=slow)], [changed(reference, slow=other)])
    assert comparison.regret_nats == pytest.approx(0.5)
    assert comparison.first_frames_equal == 0
    other[1:] = -other[1:]  # later frames do not count
    again = compare([changed(reference, slow=slow)], [changed(reference, slow=other)])
    assert again.regret_nats == pytest.approx(0.5)


def test_the_worst_frame_decides_the_hidden_cosine() -> None:
    reference = a_capture()
    hidden = reference.hidden.clone()
    hidden[3] = 0
    hidden[3, 0] = 1
    expected = float(reference.hidden[3, 0] / reference.hidden[3].norm())
    comparison = compare([reference], [changed(reference, hidden=hidden)])
    assert comparison.hidden_cosine == pytest.approx(expected, abs=1e-6)


def test_not_a_number_never_passes() -> None:
    for marks in MARKS.values():
        for key, mark in marks.items():
            assert not Measure(key, key, math.nan, mark).passed


def test_captures_of_other_sequences_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected captures of \['a'\], got \['b'\]"):
        compare([a_capture()], [a_capture(name="b")])
    with pytest.raises(ValueError, match="expected captures"):
        compare([], [])


def test_each_set_of_marks_is_no_stricter_than_the_one_before() -> None:
    order = ("float32", "bfloat16", "quantised")
    for strict, loose in zip(order, order[1:], strict=False):
        for key, mark in MARKS[strict].items():
            other = MARKS[loose][key]
            assert mark.side == other.side and mark.reason and other.reason
            assert other.passed(mark.bound), key
