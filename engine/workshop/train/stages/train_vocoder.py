"""Train codes and decoder at once on a vocoder's parameters (networks.vocoder_codec), by regression
and then by a critic, too; then turn the corpus into codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from engine.workshop.train.corpus.voice_steps import StepCrops, Stepped
from engine.workshop.train.networks.envelope_critic import (
    EnvelopeCritic,
    critics_loss,
    makers_losses,
)
from engine.workshop.train.networks.vocoder_codec import VocoderCodec, VocoderDecoder, total
from engine.workshop.train.stages.run import Run, clip, schedule, set_rate
from engine.workshop.train.stages.train_codes import depths

Figures = dict[str, float]

_AVERAGE_DECAY = 0.998  # of the weights that are used
_START_BATCHES = 80  # of latents, from which k-means starts the books


@dataclass(frozen=True, slots=True)
class VocoderPlan:
    """Settings of the stage. `other_voices`: share of stretches turned into other speakers'.

    The critic joins in when regression alone has used its share of the budget (`critic_from`), and
    sees `critic_steps` steps of half the stretches. `compiled`: fuse the networks' passes, for half
    a minute at each start. Beside other work, one thread does ten times what two do that
    wait for each other.
    """

    budget_s: float
    batch: int = 8
    crop_frames: int = 28
    rate: float = 2e-3
    critics_rate: float = 8e-4
    critic_from: float = 0.1
    critic_steps: int = 112
    fooling_weight: float = 0.2
    seen_weight: float = 1.0
    steps_before_books: int = 300
    other_voices: float = 0.35
    compiled: bool = True
    seed: int = 1


class VocoderTrainer:
    """The codec, its critic, the average of the decoder's weights, and one step."""

    def __init__(self, codec: VocoderCodec, plan: VocoderPlan) -> None:
        self.codec, self.plan = codec.train(), plan
        self.critic = EnvelopeCritic().train()
        self.average = AveragedModel(
            codec.decoder, multi_avg_fn=get_ema_multi_avg_fn(_AVERAGE_DECAY)
        )
        self.optimiser = _adam(codec, plan.rate)
        self.critics_optimiser = _adam(self.critic, plan.critics_rate)
        if plan.compiled:
            for module in (codec.encoder, codec.decoder, self.critic):
                module.compile()

    def parts(self) -> dict[str, nn.Module | torch.optim.Optimizer]:
        """What a run saves."""
        return {
            "model": self.codec,
            "critic": self.critic,
            "average": self.average,
            "optimiser": self.optimiser,
            "critics_optimiser": self.critics_optimiser,
        }

    def step(self, steps: Tensor, anchors: Tensor, depth: Tensor, criticised: bool) -> Figures:
        """One update on parameters [B, K, size], anchors [B, T], depth [B]; returns the losses."""
        with torch.autocast("cpu", torch.bfloat16):
            made, losses = self.codec(steps, anchors, depth)
        figures = {name: value.item() for name, value in losses.items()}
        loss = total(losses)
        if criticised:
            more = self._criticise(made, steps)
            figures |= {name: value.item() for name, value in more.items()}
            plan = self.plan
            loss = loss + plan.fooling_weight * more["fooling"] + plan.seen_weight * more["seen"]
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        clip(self.codec)
        self.optimiser.step()
        self.average.update_parameters(self.codec.decoder)
        return figures

    def _criticise(self, made: Tensor, true: Tensor) -> dict[str, Tensor]:
        bands, count = self.codec.decoder.parameters_of_step.bands, self.plan.critic_steps
        half, spare = max(1, len(made) // 2), max(made.shape[1] - count, 0)
        first = int(torch.randint(spare + 1, ()))
        fake = made[:half, first : first + count, :bands]
        real = true[:half, first : first + count, :bands]
        with torch.autocast("cpu", torch.bfloat16):
            loss = critics_loss(self.critic, fake, real)
        self.critics_optimiser.zero_grad(set_to_none=True)
        loss.backward()
        clip(self.critic)
        self.critics_optimiser.step()
        with torch.autocast("cpu", torch.bfloat16):
            return {"critic": loss.detach(), **makers_losses(self.critic, fake, real)}


def _adam(module: nn.Module, rate: float) -> torch.optim.AdamW:
    return torch.optim.AdamW(
        module.parameters(), rate, betas=(0.8, 0.99), weight_decay=0.01, fused=True
    )


def train_vocoder(
    codec: VocoderCodec, corpus: list[Stepped], plan: VocoderPlan, folder: Path
) -> None:
    """Train until the budget is used up; resumes from `folder`."""
    trainer = VocoderTrainer(codec, plan)
    run = Run(folder, trainer.parts(), plan.budget_s, report_every_s=60.0)
    seed = plan.seed + run.step
    parameters = codec.decoder.parameters_of_step
    crops = StepCrops(corpus, plan.crop_frames, parameters, plan.other_voices, seed)
    generator = torch.Generator().manual_seed(seed)
    for step in run.steps():
        if step >= plan.steps_before_books and not codec.quantiser.ready:
            start_books(codec, crops, plan.batch)
        criticised = run.progress >= plan.critic_from
        # the critic's pace is the slower one
        rate = plan.critics_rate if criticised else plan.rate
        set_rate(trainer.optimiser, rate * schedule(run.progress, step))
        set_rate(trainer.critics_optimiser, plan.critics_rate * schedule(run.progress, step))
        steps, anchors = crops.batch(plan.batch)
        depth = depths(plan.batch, codec.config.n_codebooks, generator)
        run.record(**trainer.step(steps, anchors, depth, criticised))


def trained_vocoder(codec: VocoderCodec, folder: Path) -> VocoderDecoder:
    """The decoder as last saved, the average of its recent weights, with the codes' vectors."""
    state = torch.load(folder / "last.pt", map_location="cpu", weights_only=True)["average"]
    prefix = "module."
    codec.decoder.load_state_dict(
        {
            name.removeprefix(prefix): value
            for name, value in state.items()
            if name.startswith(prefix)
        }
    )
    codec.decoder.vectors.copy_(codec.quantiser.rows())
    return codec.decoder


@torch.no_grad()
def start_books(codec: VocoderCodec, crops: StepCrops, batch: int) -> None:
    """Start the books by k-means on fresh latents."""
    latents, found = [], []
    for _ in range(_START_BATCHES):
        steps, anchors = crops.batch(batch)
        latents.append(codec.latent(steps).flatten(0, 1))
        found.append(anchors.flatten())
    codec.quantiser.start(torch.cat(latents), torch.cat(found))


@torch.no_grad()
def encode_steps(codec: VocoderCodec, item: Stepped) -> NDArray[np.uint16]:
    """Codes of one utterance, anchored by its own alignment; uint16 [frames, books]."""
    z = codec.latent(torch.from_numpy(item.steps.astype(np.float32))[None])
    quantised = codec.quantise(z, torch.from_numpy(item.anchors)[None], None)
    return quantised.codes.numpy().astype(np.uint16)
