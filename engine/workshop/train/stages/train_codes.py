"""Train stage 1 (code_maker) on the corpus, then turn the whole corpus into codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.workshop.train.corpus.data import Crops, Framed
from engine.workshop.train.networks.code_maker import CodeMaker
from engine.workshop.train.stages.run import Run, clip, schedule, set_rate


@dataclass(frozen=True, slots=True)
class CodesPlan:
    """Settings of stage 1. Sizes come from the checkpoint that is to be made."""

    budget_s: float
    batch: int = 16
    crop_frames: int = 40
    rate: float = 2e-3
    steps_before_books: int = 150
    seed: int = 1


def depths(batch: int, books: int, generator: torch.Generator) -> Tensor:
    """Quantiser dropout: half of the stretches use all, the others 1 or more; int64 [batch]."""
    some = torch.randint(1, books + 1, (batch,), generator=generator)
    return torch.where(torch.rand(batch, generator=generator) < 0.5, torch.tensor(books), some)


def train_codes(
    maker: CodeMaker, corpus: Sequence[Framed], frame_samples: int, plan: CodesPlan, folder: Path
) -> None:
    """Train until the budget is used up; resumes from `folder`."""
    optimiser = torch.optim.AdamW(
        maker.parameters(), plan.rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    run = Run(folder, {"maker": maker, "optimiser": optimiser}, plan.budget_s)
    crops = Crops(corpus, plan.crop_frames, frame_samples, plan.seed + run.step)
    generator = torch.Generator().manual_seed(plan.seed + run.step)
    books = len(maker.quantiser.books)
    maker.train()
    for step in run.steps():
        wave, anchors = crops.batch(plan.batch)
        if step >= plan.steps_before_books and not maker.quantiser.ready:
            start_books(maker, crops)
        set_rate(optimiser, plan.rate * schedule(run.progress, step))
        with torch.autocast("cpu", torch.bfloat16):
            losses = maker(wave, anchors, depths(plan.batch, books, generator))
            loss = losses["features"] + 0.1 * losses["phone"] + 0.25 * losses["commitment"]
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        clip(maker)
        optimiser.step()
        run.record(**{name: value.item() for name, value in losses.items()})


@torch.no_grad()
def start_books(maker: CodeMaker, crops: Crops, stretches: int = 600) -> None:
    """Start the books by k-means on fresh latents."""
    latents, found = [], []
    for _ in range(stretches // 20):
        wave, anchors = crops.batch(20)
        z = maker.latent(maker.features(wave))
        latents.append(z.transpose(1, 2).flatten(0, 1))
        found.append(anchors.flatten())
    maker.quantiser.start(torch.cat(latents), torch.cat(found))


@torch.no_grad()
def encode(maker: CodeMaker, item: Framed, frame_samples: int) -> NDArray[np.uint16]:
    """Codes of one utterance, anchored by its own alignment; uint16 [frames, books]."""
    samples = np.zeros(item.frames * frame_samples, np.float32)
    samples[: len(item.utterance.samples)] = item.utterance.samples.astype(np.float32) / 32768.0
    z = maker.latent(maker.features(torch.from_numpy(samples)[None]))
    quantised = maker.quantise(z, torch.from_numpy(item.anchors)[None], None)
    return quantised.codes.numpy().astype(np.uint16)
