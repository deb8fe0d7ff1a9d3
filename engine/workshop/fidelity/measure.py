"""Two captures of the same sequences -> numbers, and numbers beside their marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.workshop.fidelity.capture import Capture
from engine.workshop.fidelity.marks import Mark


@dataclass(frozen=True, slots=True)
class Measure:
    """One judged number."""

    key: str
    title: str
    value: float
    mark: Mark

    @property
    def passed(self) -> bool:
        """Whether the value meets its mark."""
        return self.mark.passed(self.value)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the language model's two runs have in common.

    layer_cosines: mean over all positions, one value a layer of the slow AR.
    agreement: share of frames with the same best choice, one value a codebook.
    divergence_nats: mean Kullback-Leibler divergence a draw, one value a codebook.
    hidden_cosine: of the worst frame. regret_nats: of the worst first frame.
    """

    frames: int
    layer_cosines: tuple[float, ...]
    agreement: tuple[float, ...]
    divergence_nats: tuple[float, ...]
    hidden_cosine: float
    regret_nats: float
    first_frames_equal: int
    sequences: int

    @property
    def layer_loss(self) -> float:
        """Greatest loss of cosine a layer, depth taken into account."""
        return max((1 - c) / depth for depth, c in enumerate(self.layer_cosines, start=1))

    def measures(self, marks: Mapping[str, Mark]) -> list[Measure]:
        """The language model's part of the table."""
        frames = f"{self.frames} frames"
        first = f"{self.first_frames_equal} of {self.sequences} equal"
        rows = (
            ("layer_loss", "cosine lost a layer, worst layer", self.layer_loss),
            ("hidden_cosine", "cosine of the final hidden state, worst frame", self.hidden_cosine),
            ("regret_nats", f"first frame's token, regret in nats ({first})", self.regret_nats),
            ("agreement", f"same choice, worst codebook ({frames})", min(self.agreement)),
            ("divergence_nats", "divergence in nats, worst codebook", max(self.divergence_nats)),
        )
        return [Measure(key, title, value, marks[key]) for key, title, value in rows]


def compare(reference: Sequence[Capture], candidate: Sequence[Capture]) -> Comparison:
    """Captures of the same sequences in the same order. Raises ValueError if they are not."""
    names = [c.name for c in reference], [c.name for c in candidate]
    if names[0] != names[1] or not names[0]:
        raise ValueError(f"expected captures of {names[0]}, got {names[1]}")
    pairs = list(zip(reference, candidate, strict=True))
    slow = [(a.slow, b.slow) for a, b in pairs]
    books = [_codebook([(a[:, None], b[:, None]) for a, b in slow])]
    if reference[0].fast.shape[1]:
        books.append(_codebook([(a.fast, b.fast) for a, b in pairs]))
    regrets = [_regret(a[0], b[0]) for a, b in slow]
    agreement, divergence = (torch.cat(parts).tolist() for parts in zip(*books, strict=True))
    return Comparison(
        frames=sum(len(a) for a, _ in slow),
        layer_cosines=tuple(_layer_cosines(pairs)),
        agreement=tuple(agreement),
        divergence_nats=tuple(divergence),
        hidden_cosine=min(float(_cosine(a.hidden, b.hidden).min()) for a, b in pairs),
        regret_nats=max(regrets),
        first_frames_equal=regrets.count(0.0),
        sequences=len(pairs),
    )


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    # in double: fp32 resolves 1 - cosine only to 1e-7, what an exact run is judged by
    return F.cosine_similarity(a.double(), b.double(), dim=-1)


def _layer_cosines(pairs: Sequence[tuple[Capture, Capture]]) -> list[float]:
    per_layer = torch.cat([_cosine(a.layers, b.layers) for a, b in pairs], dim=1)
    means: list[float] = per_layer.mean(dim=1).tolist()
    return means


def _codebook(pairs: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Scores [T, K, C] of two runs -> agreement [K] and divergence [K], over all T."""
    same, divergence = [], []
    for a, b in pairs:
        same.append((a.argmax(-1) == b.argmax(-1)).double())
        p, q = a.double().log_softmax(-1), b.double().log_softmax(-1)
        divergence.append(F.kl_div(q, p, reduction="none", log_target=True).sum(-1))
    return torch.cat(same).mean(0), torch.cat(divergence).mean(0)


def _regret(reference: Tensor, candidate: Tensor) -> float:
    """Scores [C] of two runs: how far below the best the reference scores the candidate's best."""
    return float(reference.max() - reference[candidate.argmax()])
