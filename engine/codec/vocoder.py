"""Latents to samples by way of a voice's parameters: a few ConvNeXt blocks, then a source and a
filter (engine.codec.kernels.source_filter), for many streams.

A latent step becomes `vocoder_steps` steps of `vocoder_hop_samples` samples. A stream remembers the
last step's parameters, the phase of its pulses, and the sound that its last steps still owe.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.codec.kernels.dense import Linear
from engine.codec.kernels.source_filter import (
    N_FFT,
    NOISE_SAMPLES,
    SourceFilter,
    VoiceParameters,
    noise_table,
    overlap_add,
)
from engine.codec.layers import ConvNeXt
from engine.codec.sizes import CodecConfig
from engine.codec.state import Batch, StateLayout
from engine.codec.weights import CodecWeights


def voice_parameters(config: CodecConfig) -> VoiceParameters:
    """What a step of this codec's vocoder has."""
    return VoiceParameters(config.vocoder_bands, config.vocoder_noise_bands)


class Vocoder:
    """[B, S, latent_dim] -> [B, S * vocoder_steps * vocoder_hop_samples]."""

    def __init__(self, layout: StateLayout, weights: CodecWeights) -> None:
        config = weights.config
        self.steps, self.hop = config.vocoder_steps, config.vocoder_hop_samples
        self.frame_samples = config.frame_samples
        self.parameters = voice_parameters(config)
        self.blocks = [
            ConvNeXt(layout, weights, f"vocoder.blocks.{i}") for i in range(config.vocoder_blocks)
        ]
        self.head = Linear(weights.weight("vocoder.head"), weights.bias("vocoder.head"))
        self.source_filter = SourceFilter(
            self.parameters, self.hop, config.sample_rate_hz, weights.device
        )
        self.noise = noise_table().to(weights.device)
        self.before = layout.history(1, self.parameters.size)
        self.phase = layout.history(1, 1)
        self.tail = layout.history(N_FFT - self.hop, 1)

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        steps = self.parameters_of(x, batch)
        before = batch.histories[self.before.index]  # [B, 1, size]
        phase = batch.histories[self.phase.index].view(-1)
        tail = batch.histories[self.tail.index].squeeze(2)
        fresh = torch.tensor([not frame for frame in batch.first_frame], device=x.device)
        # a stream's first step has none before it: it stands in for that itself
        first = torch.where(fresh[:, None, None], steps[:, :1], before)
        rendered = self.source_filter.render(
            torch.cat((first, steps), 1), phase, self._noise(batch, steps.shape[1])
        )
        samples, owed = overlap_add(rendered.segments, tail, self.hop)
        before.copy_(steps[:, -1:])
        phase.copy_(rendered.phase)
        tail.copy_(owed)
        return samples.clamp_(-1.0, 1.0)

    def parameters_of(self, x: Tensor, batch: Batch) -> Tensor:
        """[B, S, latent_dim] -> [B, S * vocoder_steps, size]."""
        for block in self.blocks:
            x = block(x, batch)
        return self.head(x).view(x.shape[0], -1, self.parameters.size)

    def _noise(self, batch: Batch, steps: int) -> Tensor:
        """[B, steps, hop], by each stream's own position."""
        first = torch.tensor(batch.first_frame, device=self.noise.device) * self.frame_samples
        at = first[:, None] + torch.arange(steps * self.hop, device=self.noise.device)
        return self.noise[at % NOISE_SAMPLES].view(len(first), steps, self.hop)
