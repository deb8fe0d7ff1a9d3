"""Codes to latents and back: one semantic and several residual codebooks (s2pro layout 9.2)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.codec.kernels.dense import Linear
from engine.codec.weights import CodecWeights, quantizer_names


class CodeTable:
    """Every codebook's entries as the latents they stand for: out_proj(entry), bias included.

    One table of all codebooks, so that a frame's latent is one sum over n_codebooks rows.
    """

    def __init__(self, weights: CodecWeights) -> None:
        rows = []
        for name in quantizer_names(weights.config):
            project = weights.weight(f"{name}.out_proj").squeeze(2)  # [latent, width]
            entries = weights.tensor(f"{name}.codebook.weight")  # [size, width]
            rows.append(F.linear(entries, project, weights.bias(f"{name}.out_proj")))
        self.table = torch.cat(rows)
        sizes = torch.tensor(weights.config.codebook_sizes, device=weights.device)
        self.last = sizes - 1
        self.offsets = sizes.cumsum(0) - sizes

    def latents(self, codes: Tensor) -> Tensor:
        """codes [B, T, n_codebooks], clamped in a copy to each codebook's size -> [B, T, latent].

        The residual rows of the model's head are wider than their codebooks: the clamp is part of
        the codec.
        """
        index = torch.minimum(codes, self.last) + self.offsets
        summed = F.embedding_bag(index.flatten(0, 1), self.table, mode="sum")
        return summed.view(codes.shape[0], codes.shape[1], -1)

    def row(self, codebook: int, codes: Tensor) -> Tensor:
        """One codebook's latents for codes [T] -> [T, latent]."""
        return self.table[codes + self.offsets[codebook]]


class Quantizer:
    """Latents to codes: the nearest entry by cosine, semantic first, then residual by residual."""

    def __init__(self, weights: CodecWeights) -> None:
        self.table = CodeTable(weights)
        self.projections, self.directions, self.returns = [], [], []
        for name in quantizer_names(weights.config):
            project = weights.weight(f"{name}.in_proj").squeeze(2)
            self.projections.append(Linear(project, weights.bias(f"{name}.in_proj")))
            back = weights.weight(f"{name}.out_proj").squeeze(2)
            self.returns.append(Linear(back, weights.bias(f"{name}.out_proj")))
            self.directions.append(F.normalize(weights.tensor(f"{name}.codebook.weight")))

    def codes(self, latents: Tensor) -> Tensor:
        """latents [T, latent] -> int64 codes [T, n_codebooks]."""
        residual = latents
        codes = []
        for i, (project, directions) in enumerate(
            zip(self.projections, self.directions, strict=True)
        ):
            nearest = (F.normalize(project(residual)) @ directions.T).argmax(dim=1)
            residual = residual - self.table.row(i, nearest)
            codes.append(nearest)
        return torch.stack(codes, dim=1)

    def unrounded(self, latents: Tensor) -> Tensor:
        """The same way through all codebooks with nothing rounded, [T, latent] -> [T, latent].

        What is lost here is lost by the projections' widths, not by the codes.
        """
        residual, total = latents, torch.zeros_like(latents)
        for project, back in zip(self.projections, self.returns, strict=True):
            part = back(project(residual))
            residual, total = residual - part, total + part
        return total
