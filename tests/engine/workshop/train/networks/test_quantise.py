"""Quantisers."""

from __future__ import annotations

import pytest
import torch

from engine.workshop.train.networks.quantise import AnchoredResidualQuantiser, k_means, share_rows


def _clusters(count: int, anchors: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(anchors, 6, generator=generator) * 4
    own = torch.randint(anchors, (count,), generator=generator)
    return centres[own] + torch.randn(count, 6, generator=generator), own


def test_k_means_finds_separate_clusters() -> None:
    points = torch.cat([torch.randn(50, 2) * 0.1 + c for c in (-5.0, 0.0, 5.0)])
    centres = k_means(points, 3, 10, torch.Generator().manual_seed(1))
    assert torch.cdist(points, centres).min(1).values.max() < 6.0
    assert k_means(points[:2], 5, 3, torch.Generator().manual_seed(1)).shape == (5, 2)


def test_rows_are_shared_by_the_root_of_use() -> None:
    shares = share_rows(torch.tensor([10000, 100, 0]), 20)
    assert shares.sum() == 20
    assert shares[0] > shares[1] > shares[2] >= 1
    with pytest.raises(ValueError, match="expected at least 3 rows"):
        share_rows(torch.tensor([1, 1, 1]), 2)


def test_a_semantic_code_says_which_anchor_it_is_of() -> None:
    points, anchors = _clusters(600, 7)
    quantiser = AnchoredResidualQuantiser(6, 30, 16, 2)
    quantiser.start(points, anchors)
    # Even a point far from all of its anchor's rows gets one of them.
    wrong = (anchors + 1) % 7
    codes = quantiser.eval()(points, wrong).codes
    assert (quantiser.anchored.row_anchor[codes[:, 0]] == wrong).all()


def test_each_book_brings_the_vector_nearer() -> None:
    points, anchors = _clusters(600, 7)
    quantiser = AnchoredResidualQuantiser(6, 30, 16, 2)
    quantiser.start(points, anchors)
    codes = quantiser.eval()(points, anchors).codes
    errors = [(quantiser.decode(codes[:, :n]) - points).square().mean() for n in (1, 2, 3)]
    assert errors[0] > errors[1] > errors[2]


def test_depth_limits_the_books_and_the_gradient_passes_straight_through() -> None:
    points, anchors = _clusters(100, 7)
    points.requires_grad_()
    quantiser = AnchoredResidualQuantiser(6, 30, 16, 2)
    quantiser.start(points.detach(), anchors)
    quantiser.eval()
    shallow = quantiser(points, anchors, torch.ones(100, dtype=torch.long))
    assert torch.allclose(shallow.vector, quantiser.decode(shallow.codes[:, :1]), atol=1e-5)
    shallow.vector.sum().backward()
    assert points.grad is not None
    assert torch.equal(points.grad, torch.ones_like(points))


def test_training_moves_rows_towards_their_points_and_revives_dead_ones() -> None:
    points, anchors = _clusters(400, 7)
    quantiser = AnchoredResidualQuantiser(6, 30, 16, 1)
    quantiser.start(points, anchors)
    shifted = points + 1.0
    book = quantiser.anchored
    book.rows[0], book.sums[0] = 100.0, 100.0
    before = quantiser.eval()(shifted, anchors).commitment
    quantiser.train()
    for _ in range(400):
        quantiser(shifted, anchors)
    assert quantiser.eval()(shifted, anchors).commitment < before
    assert book.rows.abs().max() < 50
