"""Vector quantisers that learn by moving averages, one of them anchored to phones.

The anchored book gives each phone its own rows: a frame is assigned to the nearest row *of its
phone*, which is known in training from the teacher's alignment. A semantic code so says which
sound it is, and an AR model learns to read far sooner than with purely acoustic codes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

_DECAY = 0.99
_DEAD_USES = 0.05  # a row used less often than this per batch, on average, is moved onto data


def k_means(points: Tensor, count: int, rounds: int, generator: torch.Generator) -> Tensor:
    """Centres [count, D] of points [N, D]; N may be less than count (then centres repeat,
    jittered).
    """
    pick = torch.randperm(len(points), generator=generator)[:count]
    centres = points[pick].clone()
    if len(centres) < count:
        extra = torch.randint(len(points), (count - len(centres),), generator=generator)
        noise = torch.randn(len(extra), points.shape[1], generator=generator)
        centres = torch.cat([centres, points[extra] + 0.01 * noise])
    for _ in range(rounds):
        nearest = torch.cdist(points, centres).argmin(1)
        counts = torch.bincount(nearest, minlength=count).float()
        sums = torch.zeros_like(centres).index_add_(0, nearest, points)
        used = counts > 0
        centres[used] = sums[used] / counts[used, None]
    return centres


def share_rows(uses: Tensor, rows: int) -> Tensor:
    """Rows for each anchor, by the square root of how often it occurs, at least one; sums to
    `rows`.
    """
    weight = uses.float().sqrt()
    if len(uses) > rows:
        raise ValueError(f"expected at least {len(uses)} rows for as many anchors, got {rows}")
    shares = (weight / weight.sum() * (rows - len(uses))).floor().long() + 1
    order = weight.argsort(descending=True)
    for index in range(rows - int(shares.sum())):
        shares[order[index % len(order)]] += 1
    return shares


class Codebook(nn.Module):
    """Rows [size, D] with moving-average updates. `anchors`: the anchor of each row, or None."""

    def __init__(self, size: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(size, dim))
        self.register_buffer("uses", torch.ones(size))
        self.register_buffer("sums", torch.zeros(size, dim))
        self.register_buffer("row_anchor", torch.full((size,), -1))
        self.rows: Tensor
        self.uses: Tensor
        self.sums: Tensor
        self.row_anchor: Tensor

    def start(self, points: Tensor, anchors: Tensor | None, generator: torch.Generator) -> None:
        """K-means start on points [N, D]; with anchors [N], each anchor gets rows of its own."""
        size = len(self.rows)
        if anchors is None:
            self.rows.copy_(k_means(points, size, 12, generator))
        else:
            shares = share_rows(torch.bincount(anchors), size).tolist()
            begin = 0
            for anchor, share in enumerate(shares):
                own = points[anchors == anchor]
                own = own if len(own) else points.mean(0, keepdim=True)
                self.rows[begin : begin + share] = k_means(own, share, 12, generator)
                self.row_anchor[begin : begin + share] = anchor
                begin += share
        self.uses.fill_(1.0)
        self.sums.copy_(self.rows)

    def nearest(self, points: Tensor, anchors: Tensor | None) -> Tensor:
        """Index [N] of the nearest row, of the point's own anchor where anchors [N] are given."""
        distance = torch.cdist(points, self.rows)
        if anchors is not None:
            distance = distance.masked_fill(anchors[:, None] != self.row_anchor, float("inf"))
        return distance.argmin(1)

    @torch.no_grad()
    def update(self, points: Tensor, codes: Tensor, anchors: Tensor | None) -> None:
        """Move each row towards the points assigned to it; move dead rows onto data."""
        size = len(self.rows)
        counts = torch.bincount(codes, minlength=size).float()
        self.uses.mul_(_DECAY).add_(counts, alpha=1 - _DECAY)
        totals = torch.zeros_like(self.sums).index_add_(0, codes, points)
        self.sums.mul_(_DECAY).add_(totals, alpha=1 - _DECAY)
        self.rows.copy_(self.sums / self.uses.clamp(min=1e-4)[:, None])
        dead = (self.uses < _DEAD_USES).nonzero().flatten()
        for row in dead[torch.randperm(len(dead))[:8]].tolist():
            own = points if anchors is None else points[anchors == self.row_anchor[row]]
            if len(own):
                self.rows[row] = own[torch.randint(len(own), ())]
                self.uses[row] = 0.3
                self.sums[row] = self.rows[row] * 0.3


@dataclass(frozen=True, slots=True)
class Quantised:
    """`vector` [N, D] with straight-through gradient; `codes` [N, books]; `commitment` scalar."""

    vector: Tensor
    codes: Tensor
    commitment: Tensor


class AnchoredResidualQuantiser(nn.Module):
    """An anchored semantic book, then residual books over what remains."""

    def __init__(
        self, dim: int, semantic_size: int, residual_size: int, residual_books: int
    ) -> None:
        super().__init__()
        sizes = [semantic_size] + [residual_size] * residual_books
        self.books = nn.ModuleList(Codebook(size, dim) for size in sizes)
        self.register_buffer("ready", torch.tensor(False))
        self.ready: Tensor

    @torch.no_grad()
    def start(self, points: Tensor, anchors: Tensor, seed: int = 0) -> None:
        """Start all books by k-means on latents [N, D] with their anchors [N]."""
        generator = torch.Generator().manual_seed(seed)
        residual = points
        for index, book in enumerate(self.books):
            assert isinstance(book, Codebook)
            own = anchors if index == 0 else None
            book.start(residual, own, generator)
            residual = residual - book.rows[book.nearest(residual, own)]
        self.ready.fill_(True)

    def forward(self, points: Tensor, anchors: Tensor, depth: Tensor | None = None) -> Quantised:
        """points [N, D], anchors [N]; depth [N]: books used by each point (None: all)."""
        residual, total = points.detach(), torch.zeros_like(points)
        commitment = points.new_zeros(())
        codes = []
        for index, book in enumerate(self.books):
            assert isinstance(book, Codebook)
            own = anchors if index == 0 else None
            chosen = book.nearest(residual, own)
            if self.training:
                book.update(residual, chosen, own)
            vector = book.rows[chosen]
            if depth is not None:
                vector = vector * (depth > index)[:, None]
            codes.append(chosen)
            total = total + vector
            residual = residual - vector
            commitment = commitment + (points - total).square().mean()
        return Quantised(
            points + (total - points).detach(), torch.stack(codes, 1), commitment / len(self.books)
        )

    @property
    def anchored(self) -> Codebook:
        """The semantic book."""
        book = self.books[0]
        assert isinstance(book, Codebook)
        return book

    def rows(self) -> Tensor:
        """The rows of all books, one after the other."""
        return torch.cat([book.rows for book in self.books if isinstance(book, Codebook)])

    def decode(self, codes: Tensor) -> Tensor:
        """codes [N, books] (the first ones suffice) -> vectors [N, D]."""
        books = [book.rows for book in self.books if isinstance(book, Codebook)]
        return sum((books[i][codes[:, i]] for i in range(codes.shape[1])), torch.zeros(()))
