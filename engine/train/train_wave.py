"""Stage 2: train the codec's decode path on frozen codes.

Spectral magnitudes first, then critics beside them, which make it sharp, and in the second half, in
the critics' place, the shape of the waveform, which makes it clear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from engine.train.data import Crops, Framed
from engine.train.discriminators import Critics, critics_loss, generator_losses
from engine.train.features import LogMel
from engine.train.run import Run, clip, schedule, set_rate
from engine.train.wave_decoder import WaveDecoder
from engine.train.waveform_distance import WaveformDistance

_AVERAGE_DECAY = 0.999  # of the weights that are used: over about the last 1,000 steps
_SCALES = ((2048, 120), (1024, 80), (512, 64), (256, 32))  # (n_fft, mel bands)


@dataclass(frozen=True, slots=True)
class WavePlan:
    """Settings of stage 2. The first `lead_frames` of a crop only fill the decoder's history.

    Shares of the budget: critics judge between `critics_from` and `waveform_from`, the waveform
    counts from there on; from `projection_until` on the quantiser's projection stands still, so
    that the encoder can be trained beside the rest.
    """

    budget_s: float
    batch: int = 4
    crop_frames: int = 30
    lead_frames: int = 5
    critic_frames: int = 9
    critics_from: float = 0.1
    waveform_from: float = 0.5
    waveform_weight: float = 3.0
    projection_until: float = 0.25
    rate: float = 1.2e-3
    critic_rate: float = 4e-4
    code_noise: float = 0.02
    seed: int = 2


class SpectralDistance(nn.Module):
    """L1 of log-mel and of log-magnitude at several scales."""

    def __init__(self, rate_hz: int) -> None:
        super().__init__()
        self.mels = nn.ModuleList(
            LogMel(rate_hz, n_fft, n_fft // 4, bands, floor=1e-4) for n_fft, bands in _SCALES
        )

    def forward(self, made: Tensor, true: Tensor) -> Tensor:
        """Waveforms [B, samples] -> scalar."""
        total = made.new_zeros(())
        for mel in self.mels:
            assert isinstance(mel, LogMel)
            a, b = mel.magnitude(made), mel.magnitude(true)
            total = (
                total
                + ((mel.filters @ a) + 1e-5)
                .log()
                .sub(((mel.filters @ b) + 1e-5).log())
                .abs()
                .mean()
            )
            total = total + 0.5 * (a + 1e-4).log().sub((b + 1e-4).log()).abs().mean()
        return total / len(self.mels)


class CodeCrops(Crops):
    """Crops with their codes; `noise`: share of residual codes replaced, since an AR model errs
    too.
    """

    def __init__(
        self,
        corpus: Sequence[Framed],
        codes: Sequence[np.ndarray],
        frames: int,
        frame_samples: int,
        seed: int,
    ) -> None:
        super().__init__(corpus, frames, frame_samples, seed)
        kept = [i for i, item in enumerate(corpus) if item.frames >= 3]
        self._codes = [codes[i] for i in kept]

    def code_batch(self, size: int, noise: float) -> tuple[Tensor, Tensor]:
        """Waveforms [size, samples] and codes [size, frames, books]."""
        waves, rows = [], []
        for _ in range(size):
            index, first = self.draw()
            samples, _ = self.stretch(index, first)
            own = self._codes[index][first : first + self._frames].astype(np.int64)
            pad = self._frames - len(own)
            own = np.concatenate([own, np.repeat(own[-1:], pad, 0)]) if pad else own.copy()
            swap = self._rng.random(own.shape) < noise
            swap[:, 0] = False
            own[swap] = own[self._rng.permutation(len(own))][swap]
            waves.append(samples)
            rows.append(own)
        return torch.from_numpy(np.stack(waves)), torch.from_numpy(np.stack(rows))


class WaveTrainer:
    """Decoder, critics, their optimisers, and one step of each."""

    def __init__(self, decoder: WaveDecoder, plan: WavePlan) -> None:
        self.decoder, self.plan = decoder, plan
        self.frame_samples = decoder.config.frame_samples
        self.critics = Critics()
        self.distance = SpectralDistance(decoder.config.sample_rate_hz)
        self.waveform_distance = WaveformDistance()
        self.average = AveragedModel(decoder, multi_avg_fn=get_ema_multi_avg_fn(_AVERAGE_DECAY))
        betas = (0.8, 0.99)
        self.optimiser = torch.optim.AdamW(decoder.parameters(), plan.rate, betas=betas)
        self.critic_optimiser = torch.optim.AdamW(
            self.critics.parameters(), plan.critic_rate, betas=betas
        )
        self._rng = np.random.default_rng(plan.seed)

    def parts(self) -> dict[str, nn.Module | torch.optim.Optimizer]:
        """What a run saves."""
        return {
            "decoder": self.decoder,
            "average": self.average,
            "critics": self.critics,
            "optimiser": self.optimiser,
            "critic_optimiser": self.critic_optimiser,
        }

    def step(self, true: Tensor, codes: Tensor, progress: float) -> dict[str, float]:
        """One update on waveforms [B, samples] and codes [B, frames, books]; returns the losses.

        `progress`: the share of the budget that is used up.
        """
        plan = self.plan
        with torch.autocast("cpu", torch.bfloat16):
            made = self.decoder(codes)
        lead = plan.lead_frames * self.frame_samples
        made, true = made[:, lead:].float(), true[:, lead:]
        loss = self.distance(made, true)
        figures = {"spectral": loss.item()}
        if progress >= plan.waveform_from:
            waveform = self.waveform_distance(made, true)
            loss = loss + plan.waveform_weight * waveform
            figures["waveform"] = waveform.item()
        elif progress >= plan.critics_from:
            judged, verdicts = self._judged(true, made)
            loss = loss + judged
            figures |= verdicts
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        figures["norm"] = clip(self.decoder, 2.0)
        self.optimiser.step()
        self.average.update_parameters(self.decoder)
        return figures

    def _judged(self, true: Tensor, made: Tensor) -> tuple[Tensor, dict[str, float]]:
        """The critics' part of the loss, after an update of theirs."""
        size = self.plan.critic_frames * self.frame_samples
        first = int(self._rng.integers(0, true.shape[1] - size + 1))
        a, b = true[:, first : first + size], made[:, first : first + size]
        figures = {"critics": self._critic_step(a, b.detach())}
        with torch.autocast("cpu", torch.bfloat16):
            self.critics.requires_grad_(False)
            with torch.no_grad():
                real = self.critics(a)
            adversarial, features = generator_losses(real, self.critics(b))
            self.critics.requires_grad_(True)
        figures |= {"adversarial": adversarial.item(), "feature": features.item()}
        return 0.3 * adversarial + 0.7 * features, figures

    def _critic_step(self, real: Tensor, fake: Tensor) -> float:
        with torch.autocast("cpu", torch.bfloat16):
            loss = critics_loss(self.critics(real), self.critics(fake))
        self.critic_optimiser.zero_grad(set_to_none=True)
        loss.backward()
        clip(self.critics, 5.0)
        self.critic_optimiser.step()
        return loss.item()


def train_wave(
    decoder: WaveDecoder,
    corpus: Sequence[Framed],
    codes: Sequence[np.ndarray],
    plan: WavePlan,
    folder: Path,
) -> None:
    """Train until the budget is used up; resumes from `folder`."""
    trainer = WaveTrainer(decoder, plan)
    run = Run(folder, trainer.parts(), plan.budget_s, report_every_s=60.0)
    crops = CodeCrops(corpus, codes, plan.crop_frames, trainer.frame_samples, plan.seed + run.step)
    decoder.train()
    for step in run.steps():
        factor = schedule(run.progress, step)
        set_rate(trainer.optimiser, plan.rate * factor)
        set_rate(trainer.critic_optimiser, plan.critic_rate * factor)
        decoder.out_proj.requires_grad_(run.progress < plan.projection_until)
        true, codes_batch = crops.code_batch(plan.batch, plan.code_noise)
        run.record(**trainer.step(true, codes_batch, run.progress))


def trained_weights(folder: Path) -> dict[str, Tensor]:
    """The decoder as last saved: the average of its recent weights, which errs less than any."""
    state = torch.load(folder / "last.pt", map_location="cpu", weights_only=True)["average"]
    prefix = "module."
    return {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }
