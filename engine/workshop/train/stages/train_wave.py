"""Stage 2: train the codec's decode path on frozen codes, by spectral magnitudes and the shape of
the waveform.

No critics: an hour of them did less for DNSMOS than a quarter of an hour of the waveform's shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from engine.workshop.train.corpus.data import Crops, Framed
from engine.workshop.train.networks.features import LogMel
from engine.workshop.train.networks.wave_decoder import WaveDecoder
from engine.workshop.train.networks.waveform_distance import WaveformDistance
from engine.workshop.train.stages.run import Run, clip, schedule, set_rate

_AVERAGE_DECAY = 0.999  # of the weights that are used: over about the last 1,000 steps
_SCALES = ((2048, 120), (1024, 80), (512, 64), (256, 32))  # (n_fft, mel bands)


@dataclass(frozen=True, slots=True)
class WavePlan:
    """Settings of stage 2. The first `lead_frames` of a crop only fill the decoder's history.

    From the share `projection_until` of the budget on the quantiser's projection stands still, so
    that the encoder can be trained beside the rest.
    """

    budget_s: float
    batch: int = 4
    crop_frames: int = 30
    lead_frames: int = 5
    waveform_weight: float = 3.0
    projection_until: float = 0.25
    rate: float = 1.2e-3
    code_noise: float = 0.02
    seed: int = 2


def _log_distance(a: Tensor, b: Tensor, floor: float) -> Tensor:
    return (a + floor).log().sub((b + floor).log()).abs().mean()


class SpectralDistance(nn.Module):
    """L1 of log-mel and of log-magnitude, and the relative error of magnitudes, at several scales.

    With logarithms alone the energy under 500 Hz came out 2 dB too great.
    """

    def __init__(self, rate_hz: int) -> None:
        super().__init__()
        self.mels = nn.ModuleList(
            LogMel(rate_hz, n_fft, n_fft // 4, bands) for n_fft, bands in _SCALES
        )

    def forward(self, made: Tensor, true: Tensor) -> Tensor:
        """Waveforms [B, samples] -> scalar."""
        total = made.new_zeros(())
        for mel in self.mels:
            assert isinstance(mel, LogMel)
            a, b = mel.magnitude(made), mel.magnitude(true)
            total = total + _log_distance(mel.filters @ a, mel.filters @ b, 1e-5)
            total = total + 0.5 * _log_distance(a, b, 1e-4)
            error, whole = (a - b).flatten(1).norm(dim=1), b.flatten(1).norm(dim=1)
            total = total + (error / (whole + 1e-2)).mean()
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
    """The decoder, the average of its weights, and one step."""

    def __init__(self, decoder: WaveDecoder, plan: WavePlan) -> None:
        self.decoder, self.plan = decoder, plan
        self.frame_samples = decoder.config.frame_samples
        self.distance = SpectralDistance(decoder.config.sample_rate_hz)
        self.waveform_distance = WaveformDistance()
        self.average = AveragedModel(decoder, multi_avg_fn=get_ema_multi_avg_fn(_AVERAGE_DECAY))
        self.optimiser = torch.optim.AdamW(decoder.parameters(), plan.rate, betas=(0.8, 0.99))

    def parts(self) -> dict[str, nn.Module | torch.optim.Optimizer]:
        """What a run saves."""
        return {
            "decoder": self.decoder,
            "average": self.average,
            "optimiser": self.optimiser,
        }

    def step(self, true: Tensor, codes: Tensor) -> dict[str, float]:
        """One update on waveforms [B, samples] and codes [B, frames, books]; returns the losses."""
        plan = self.plan
        with torch.autocast("cpu", torch.bfloat16):
            made = self.decoder(codes)
        lead = plan.lead_frames * self.frame_samples
        made, true = made[:, lead:].float(), true[:, lead:]
        spectral = self.distance(made, true)
        waveform = self.waveform_distance(made, true)
        loss = spectral + plan.waveform_weight * waveform
        figures = {"spectral": spectral.item(), "waveform": waveform.item()}
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        figures["norm"] = clip(self.decoder, 2.0)
        self.optimiser.step()
        self.average.update_parameters(self.decoder)
        return figures


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
        set_rate(trainer.optimiser, plan.rate * schedule(run.progress, step))
        decoder.out_proj.requires_grad_(run.progress < plan.projection_until)
        true, codes_batch = crops.code_batch(plan.batch, plan.code_noise)
        run.record(**trainer.step(true, codes_batch))


def trained_weights(folder: Path) -> dict[str, Tensor]:
    """The decoder as last saved: the average of its recent weights, which errs less than any."""
    state = torch.load(folder / "last.pt", map_location="cpu", weights_only=True)["average"]
    prefix = "module."
    return {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }
