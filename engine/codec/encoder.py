"""Sound to codes: what cloning needs of a recording.

    samples -> blocks -> transformer -> downsample / resample_factors -> transformer -> quantisers

Causal like the decoder (s2pro layout 9.3), so a long recording is taken in chunks with carried
state, and memory does not grow with its length. Everything is fp32 with TF32 off: with it, about
3 % of the codes change (s2pro layout 9.2).
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.codec.kernels.dense import true_fp32
from engine.codec.layers import (
    CausalConv,
    ConvNeXt,
    ResidualUnit,
    SnakeConv,
    causal_conv,
    residual_units,
    snake_alpha,
)
from engine.codec.quantizer import Quantizer
from engine.codec.resample import resample
from engine.codec.sizes import CodecConfig
from engine.codec.state import Batch, StateLayout, StreamState
from engine.codec.transformer import WindowTransformer
from engine.codec.weights import CodecWeights, load_codec
from engine.errors import CheckpointError

CHUNK_FRAMES = 32


class EncoderBlock:
    """Residual units, Snake and a strided convolution, and in some blocks a transformer."""

    def __init__(
        self, layout: StateLayout, weights: CodecWeights, index: int, steps_per_frame: int
    ) -> None:
        config = weights.config
        prefix = f"encoder.block.{index + 1}.block"
        rate, units = config.encoder_rates[index], len(config.residual_dilations)
        self.units: list[ResidualUnit] = residual_units(
            layout, weights, prefix, config.residual_dilations, first=0
        )
        self.down = SnakeConv(
            layout,
            snake_alpha(weights, f"{prefix}.{units}.alpha"),
            weights.weight(f"{prefix}.{units + 1}.conv"),
            weights.bias(f"{prefix}.{units + 1}.conv"),
            stride=rate,
        )
        layers = config.encoder_transformer_layers[index]
        self.transformer = (
            WindowTransformer(
                layout,
                weights,
                f"{prefix}.{units + 2}",
                layers=layers,
                heads=config.encoder_transformer_heads,
                window=config.encoder_window,
                rate=steps_per_frame,
            )
            if layers
            else None
        )

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        for unit in self.units:
            x = unit(x, batch)
        x = self.down(x, batch)
        return x if self.transformer is None else self.transformer(x, batch)


class EncoderNetwork:
    """Samples to the latents that are quantised; stateless, `layout` says what a stream needs."""

    def __init__(self, weights: CodecWeights) -> None:
        config = weights.config
        self.layout = layout = StateLayout()
        self.first = causal_conv(layout, weights, "encoder.block.0.conv")
        self.blocks = []
        steps = config.frame_samples
        for i, rate in enumerate(config.encoder_rates):
            steps //= rate
            self.blocks.append(EncoderBlock(layout, weights, i, steps))
        last = len(config.encoder_rates) + 1
        self.last = SnakeConv(
            layout,
            snake_alpha(weights, f"encoder.block.{last}.alpha"),
            weights.weight(f"encoder.block.{last + 1}.conv"),
            weights.bias(f"encoder.block.{last + 1}.conv"),
        )
        self.downsamples: list[tuple[CausalConv, ConvNeXt]] = []
        for i, factor in enumerate(config.resample_factors):
            name = f"quantizer.downsample.{i}"
            down = causal_conv(layout, weights, f"{name}.0.conv", stride=factor)
            self.downsamples.append((down, ConvNeXt(layout, weights, f"{name}.1")))
        self.transformer = (
            WindowTransformer(
                layout,
                weights,
                "quantizer.pre_module",
                layers=config.pre_layers,
                heads=config.latent_heads,
                window=config.latent_window,
                rate=1,
            )
            if config.pre_layers
            else None
        )

    def __call__(self, samples: Tensor, batch: Batch) -> Tensor:
        """samples [1, T * frame_samples] -> latents [1, T, latent_dim]."""
        x = self.first(samples.unsqueeze(2), batch)
        for block in self.blocks:
            x = block(x, batch)
        x = self.last(x, batch)
        for down, convnext in self.downsamples:
            x = convnext(down(x, batch), batch)
        return x if self.transformer is None else self.transformer(x, batch)


class Encoder:
    """Turns recordings into codes."""

    def __init__(self, weights: CodecWeights) -> None:
        if not weights.config.has_encoder:
            raise CheckpointError(
                "expected a codec with an encoder, to clone voices; got one without (encoder_dim 0)"
            )
        self.config: CodecConfig = weights.config
        self._network = EncoderNetwork(weights)
        self._quantizer = Quantizer(weights)
        self._device = weights.device

    @classmethod
    def from_checkpoint(cls, directory: str | Path, device: str | torch.device = "cpu") -> Encoder:
        """The encoder of a checkpoint directory.

        Raises CheckpointError if the checkpoint cannot be used, or has no encoder.
        """
        return cls(load_codec(directory, device))

    def encode(self, samples: NDArray[np.floating], rate_hz: int) -> NDArray[np.uint16]:
        """Mono samples [n] at any rate -> codes [ceil(n' / frame_samples), n_codebooks].

        n' is the length at the codec's rate. The last frame is padded with zeros on the right;
        loudness is left as it is. Raises ValueError for samples that are not one-dimensional,
        empty or not finite.
        """
        with torch.inference_mode(), true_fp32(self._device):
            codes = self._quantizer.codes(self._latents(self._frames(samples, rate_hz)))
        return cast("NDArray[np.uint16]", codes.cpu().numpy().astype(np.uint16))

    def latents(self, samples: NDArray[np.floating], rate_hz: int) -> Tensor:
        """What `encode` would find if codebooks did not round -> [frames, latent_dim]."""
        with torch.inference_mode(), true_fp32(self._device):
            return self._quantizer.unrounded(self._latents(self._frames(samples, rate_hz)))

    def _frames(self, samples: NDArray[np.floating], rate_hz: int) -> Tensor:
        if samples.ndim != 1 or not samples.size:
            raise ValueError(f"expected mono samples [n >= 1], got shape {list(samples.shape)}")
        if not np.isfinite(samples).all():
            raise ValueError("expected finite samples, got infinities or NaN")
        mono = resample(samples.astype(np.float32), rate_hz, self.config.sample_rate_hz)
        frame = self.config.frame_samples
        return torch.from_numpy(np.pad(mono, (0, -mono.size % frame)))

    def _latents(self, samples: Tensor) -> Tensor:
        state = StreamState(self._network.layout, 1, self._device)
        latents = []
        chunk_samples = CHUNK_FRAMES * self.config.frame_samples
        for chunk in torch.split(samples.to(self._device), chunk_samples):
            batch = state.open([0])
            latents.append(self._network(chunk[None], batch)[0])
            batch.close(chunk.numel() // self.config.frame_samples)
        return torch.cat(latents)
