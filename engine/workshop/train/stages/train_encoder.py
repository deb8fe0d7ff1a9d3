"""Stage 4: teach the encode path to find the codes that the code maker found with the alignment.

The codes and the decoder are frozen. The encoder has to land near the vector of the right
semantic row (so it has to hear the phone, which the code maker was told) and near the sum of all
books' vectors, so that the residual books see what they were made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.workshop.train.corpus.data import Framed
from engine.workshop.train.networks.vocoder_codec import VocoderDecoder
from engine.workshop.train.networks.wave_decoder import WaveDecoder
from engine.workshop.train.networks.wave_encoder import WaveEncoder
from engine.workshop.train.stages.run import Run, clip, schedule, set_rate
from engine.workshop.train.stages.train_wave import CodeCrops

Decoder = WaveDecoder | VocoderDecoder


@dataclass(frozen=True, slots=True)
class EncoderPlan:
    """Settings of stage 4."""

    budget_s: float
    batch: int = 8
    crop_frames: int = 32
    lead_frames: int = 4
    rate: float = 1.5e-3
    seed: int = 4


class Landing(nn.Module):
    """Latents of the encoder against the frozen rows, in the rows' own space.

    `into` [D, latent]: the way from the latent to the rows' space (the pseudo-inverse of the
    decoder's projection); `rows` [S, D]: the semantic book.
    """

    def __init__(self, into: Tensor, rows: Tensor) -> None:
        super().__init__()
        self.register_buffer("into", into)
        self.register_buffer("rows", rows)
        self.into: Tensor
        self.rows: Tensor
        self.scale = nn.Parameter(torch.tensor(0.0))

    def forward(self, latents: Tensor, true: Tensor, semantic: Tensor) -> dict[str, Tensor]:
        """latents [B, T, latent], true [B, T, D], semantic codes [B, T] -> losses, accuracy."""
        points = (latents.float() @ self.into.T).flatten(0, 1)
        goal, codes = true.flatten(0, 1), semantic.flatten()
        variance = goal.var(0).mean().clamp(min=1e-6)
        distances = torch.cdist(points, self.rows).square()
        scores = -distances / variance / points.shape[1] * 8.0 * self.scale.exp()
        return {
            "latent": (points - goal).square().mean() / variance,
            "semantic": F.cross_entropy(scores, codes),
            "accuracy": (distances.argmin(1) == codes).float().mean().detach(),
        }


def train_encoder(
    encoder: WaveEncoder,
    landing: Landing,
    decoder: Decoder,
    data: tuple[Sequence[Framed], Sequence[np.ndarray]],
    plan: EncoderPlan,
    folder: Path,
) -> None:
    """Train until the budget is used up; resumes from `folder`."""
    parameters = [*encoder.parameters(), landing.scale]
    optimiser = torch.optim.AdamW(parameters, plan.rate, betas=(0.9, 0.98))
    parts = {"encoder": encoder, "landing": landing, "optimiser": optimiser}
    run = Run(folder, parts, plan.budget_s, report_every_s=60.0)
    frame_samples = encoder.config.frame_samples
    crops = CodeCrops(*data, plan.crop_frames, frame_samples, plan.seed + run.step)
    encoder.train()
    for step in run.steps():
        wave, codes = crops.code_batch(plan.batch, noise=0.0)
        set_rate(optimiser, plan.rate * schedule(run.progress, step))
        figures = encoder_step(encoder, landing, decoder, (wave, codes), plan)
        optimiser.zero_grad(set_to_none=True)
        (figures["latent"] + figures["semantic"]).backward()
        clip(encoder)
        optimiser.step()
        run.record(**{name: value.item() for name, value in figures.items()})


def encoder_step(
    encoder: WaveEncoder,
    landing: Landing,
    decoder: Decoder,
    batch: tuple[Tensor, Tensor],
    plan: EncoderPlan,
) -> dict[str, Tensor]:
    """Losses on waveforms [B, samples] and codes [B, T, books]."""
    wave, codes = batch
    with torch.no_grad():
        true = decoder.latent(codes)
    with torch.autocast("cpu", torch.bfloat16):
        latents = encoder(wave)
    lead = plan.lead_frames
    losses: dict[str, Tensor] = landing(latents[:, lead:], true[:, lead:], codes[:, lead:, 0])
    return losses
