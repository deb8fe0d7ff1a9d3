"""Stage 3: train the Dual-AR on the corpus's codes, with attention guided by the alignment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.workshop.train.corpus.mixture import Mixture
from engine.workshop.train.corpus.sequences import IGNORE, Batch
from engine.workshop.train.networks.dual_ar import DualAR
from engine.workshop.train.stages.run import Run, clip, schedule, set_rate


@dataclass(frozen=True, slots=True)
class ArPlan:
    """Settings of stage 3. `alignment_heads`: (layer, head) pairs that must look at the spoken
    token.
    """

    budget_s: float
    rate: float = 1.5e-3
    guide_weight: float = 0.5
    residual_share: float = 0.5
    alignment_heads: tuple[tuple[int, int], ...] = ((1, 0), (1, 1))


def guide_loss(q: Tensor, k: Tensor, guide: Tensor, heads: list[int]) -> Tensor:
    """-log of the attention that `heads` give to the guided token and its neighbours, mean over
    guided positions.

    q [B, H, L, d], k [B, K, L, d]; guide [B, L]: a position, or -1.
    """
    ratio = q.shape[1] // k.shape[1]
    batch, position = (guide >= 0).nonzero(as_tuple=True)
    goal = guide[batch, position]
    columns = torch.arange(k.shape[2])
    future = columns[None] > position[:, None]
    near = (columns[None] - goal[:, None]).abs() <= 1
    total = q.new_zeros(())
    for head in heads:
        scores = (q[:, head] @ k[:, head // ratio].transpose(1, 2))[batch, position]  # [N, L]
        scores = (scores.float() * q.shape[-1] ** -0.5).masked_fill(future, float("-inf"))
        logp = scores.log_softmax(-1)
        total = total - logp.masked_fill(~near, float("-inf")).logsumexp(-1).mean()
    return total / len(heads)


def losses(
    model: DualAR, batch: Batch, plan: ArPlan, generator: torch.Generator
) -> dict[str, Tensor]:
    """Semantic and residual cross-entropy, accuracy, and the guide's loss."""
    watched = frozenset(layer for layer, _ in plan.alignment_heads)
    out = model.slow(model.embed(batch.ids, batch.codes), watch=watched)
    wanted = batch.target != IGNORE
    normed, target = out.normed[wanted], batch.target[wanted]
    logits = model.semantic_logits(normed).float()
    guide = sum(
        (
            guide_loss(*out.guides[layer], batch.guide, heads)
            for layer in watched
            for heads in [[head for at, head in plan.alignment_heads if at == layer]]
        ),
        torch.zeros(()),
    ) / len(watched)  # fmt: skip
    frames = (target < logits.shape[-1] - 1).nonzero().flatten()
    count = max(int(len(frames) * plan.residual_share), 1)
    frames = frames[torch.randperm(len(frames), generator=generator)[:count]]
    codes = batch.target_codes[wanted][frames]
    residual = model.fast(normed[frames], codes[:, :-1]).float()
    return {
        "semantic": F.cross_entropy(logits, target),
        "residual": F.cross_entropy(residual.flatten(0, 1), codes[:, 1:].flatten()),
        "guide": guide,
        "accuracy": (logits.argmax(-1) == target).float().mean().detach(),
    }


def train_ar(
    model: DualAR, mixture: Mixture, held_out: list[Batch], plan: ArPlan, folder: Path, seed: int
) -> None:
    """Train until the budget is used up; resumes from `folder`."""
    optimiser = torch.optim.AdamW(
        model.parameters(), plan.rate, betas=(0.9, 0.98), weight_decay=0.02, fused=True
    )
    run = Run(folder, {"model": model, "optimiser": optimiser}, plan.budget_s, report_every_s=60.0)
    generator = torch.Generator().manual_seed(seed + run.step)
    batches = mixture.batches()
    for step in run.steps():
        batch = next(batches)
        set_rate(optimiser, plan.rate * schedule(run.progress, step))
        with torch.autocast("cpu", torch.bfloat16):
            parts = losses(model, batch, plan, generator)
        loss = parts["semantic"] + parts["residual"] + plan.guide_weight * parts["guide"]
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = clip(model)
        optimiser.step()
        positions = float((batch.target != IGNORE).sum())
        run.record(
            norm=norm, frames=positions, **{name: value.item() for name, value in parts.items()}
        )
        if step % 500 == 499:
            run.report(
                **{
                    f"held_{name}": round(value, 4)
                    for name, value in measure(model, held_out, plan).items()
                }
            )


@torch.no_grad()
def measure(model: DualAR, batches: list[Batch], plan: ArPlan) -> dict[str, float]:
    """Mean losses over held-out batches."""
    generator = torch.Generator().manual_seed(0)
    totals: dict[str, float] = {}
    for batch in batches:
        with torch.autocast("cpu", torch.bfloat16):
            parts = losses(model, batch, plan, generator)
        for name, value in parts.items():
            totals[name] = totals.get(name, 0.0) + value.item() / len(batches)
    return totals
