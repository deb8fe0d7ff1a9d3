"""Codes to sound, frame by frame, for many streams at once.

    codes [B, T, n] -> table -> transformer -> upsample x latent_steps -> blocks -> tanh -> samples
                                                                    or -> vocoder -> samples

The whole path is strictly causal (s2pro layout 9.3), so every frame is decoded once, with what it
needs of the past carried in the slot's state; chunks of any length give the same sound.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.codec.kernels.dense import true_fp32
from engine.codec.layers import (
    ConvNeXt,
    ResidualUnit,
    SnakeConv,
    SnakeUpsample,
    Upsample,
    causal_conv,
    residual_units,
    snake_alpha,
)
from engine.codec.narrow import NarrowWaves, is_small
from engine.codec.quantizer import CodeTable
from engine.codec.sizes import CodecConfig
from engine.codec.slots import SlotPool
from engine.codec.state import Batch, StateLayout, StreamState
from engine.codec.transformer import WindowTransformer
from engine.codec.vocoder import Vocoder
from engine.codec.weights import CodecWeights, load_codec

# A longer call is taken in pieces, so that a piece's activations stay in the processor's caches.
PIECE_FRAMES = 32


class DecoderBlock:
    """Snake and upsampling by the block's rate, then the residual units."""

    def __init__(self, layout: StateLayout, weights: CodecWeights, index: int, rate: int) -> None:
        prefix = f"decoder.model.{index + 1}.block"
        self.upsample = SnakeUpsample(
            layout,
            snake_alpha(weights, f"{prefix}.0.alpha"),
            weights.weight(f"{prefix}.1.conv"),
            weights.bias(f"{prefix}.1.conv"),
            rate,
        )
        self.units: list[ResidualUnit] = residual_units(
            layout, weights, prefix, weights.config.decoder_dilations, first=2
        )

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        x = self.upsample(x, batch)
        for unit in self.units:
            x = unit(x, batch)
        return x


class Waves:
    """Latents to samples, [B, S, latent_dim] -> [B, S * hop]: the convolutions of any size."""

    def __init__(self, layout: StateLayout, weights: CodecWeights) -> None:
        config = weights.config
        self.first = causal_conv(layout, weights, "decoder.model.0.conv")
        self.blocks = [
            DecoderBlock(layout, weights, i, rate) for i, rate in enumerate(config.decoder_rates)
        ]
        last = len(config.decoder_rates) + 1
        self.last = SnakeConv(
            layout,
            snake_alpha(weights, f"decoder.model.{last}.alpha"),
            weights.weight(f"decoder.model.{last + 1}.conv"),
            weights.bias(f"decoder.model.{last + 1}.conv"),
        )

    def __call__(self, x: Tensor, batch: Batch) -> Tensor:
        x = self.first(x, batch)
        for block in self.blocks:
            x = block(x, batch)
        return self.last(x, batch).squeeze(2).tanh_()


class Decoder:
    """The network, without state of its own: `layout` says what a stream must remember.

    `tiles`: let a small codec run in compiled tiles; without them it runs layer by layer.
    """

    def __init__(self, weights: CodecWeights, tiles: bool = True) -> None:
        config = weights.config
        self.config = config
        self.layout = layout = StateLayout()
        self.table = CodeTable(weights)
        self.transformer = (
            WindowTransformer(
                layout,
                weights,
                "quantizer.post_module",
                layers=config.post_layers,
                heads=config.latent_heads,
                window=config.latent_window,
                rate=1,
            )
            if config.post_layers
            else None
        )
        self.upsamples = []
        for i in range(len(config.resample_factors)):
            name = f"quantizer.upsample.{i}"
            upsample = Upsample(weights.weight(f"{name}.0.conv"), weights.bias(f"{name}.0.conv"))
            self.upsamples.append((upsample, ConvNeXt(layout, weights, f"{name}.1")))
        self.waves = _waves(layout, weights, tiles)

    def __call__(self, codes: Tensor, batch: Batch) -> Tensor:
        """codes [B, T, n_codebooks] -> samples [B, T * frame_samples]."""
        return self.sound(self.table.latents(codes), batch)

    def sound(self, latents: Tensor, batch: Batch) -> Tensor:
        """latents [B, T, latent_dim] -> samples [B, T * frame_samples]."""
        x = latents
        if self.transformer is not None:
            x = self.transformer(x, batch)
        for upsample, convnext in self.upsamples:
            x = convnext(upsample(x), batch)
        return self.waves(x, batch)


def _waves(
    layout: StateLayout, weights: CodecWeights, tiles: bool
) -> Vocoder | NarrowWaves | Waves:
    if weights.config.has_vocoder:
        return Vocoder(layout, weights)
    small = tiles and is_small(weights.config, weights.device)
    return (NarrowWaves if small else Waves)(layout, weights)


class StreamingDecoder:
    """Decodes streams in slots.

    A slot is one stream from its first frame on; slots may be at different frames in one call.
    One thread decodes at a time; another may allocate and free slots that are not being decoded.
    """

    def __init__(self, weights: CodecWeights, max_slots: int, tiles: bool = True) -> None:
        self.config: CodecConfig = weights.config
        self.pool = SlotPool(max_slots)
        self._decoder = Decoder(weights, tiles)
        self._device = weights.device
        self._state = StreamState(self._decoder.layout, max_slots, weights.device)

    @classmethod
    def from_checkpoint(
        cls, directory: str | Path, max_slots: int, device: str | torch.device = "cpu"
    ) -> StreamingDecoder:
        """The decoder of a checkpoint directory. Raises CheckpointError if it cannot be used."""
        return cls(load_codec(directory, device), max_slots)

    @property
    def state_bytes_per_slot(self) -> int:
        """Memory that one more slot takes."""
        return self._state.bytes_per_row

    def allocate(self) -> int:
        """A slot with a fresh stream. Raises SlotError when all are in use."""
        slot = self.pool.allocate()
        self._state.reset(slot)
        return slot

    def free(self, slot: int) -> None:
        """Give a slot back; its stream is over. Raises SlotError if it is not allocated."""
        self.pool.free(slot)

    def frames_decoded(self, slot: int) -> int:
        """Frames that the slot's stream has had so far."""
        self.pool.check_allocated(slot)
        return self._state.frames[slot]

    def decode(
        self, slots: Sequence[int], codes: NDArray[np.integer] | Tensor
    ) -> NDArray[np.float32]:
        """Next T frames of B streams: codes [B, T, n_codebooks] -> samples [B, T * frame_samples].

        Codes past their codebook's size are clamped. Raises SlotError for a slot that is not
        allocated, ValueError for a repeated slot and for codes of another shape or below 0.
        """
        tensor = self._check(slots, codes)
        return self._run(self._state, slots, tensor)

    def decode_whole(self, codes: NDArray[np.integer] | Tensor) -> NDArray[np.float32]:
        """A whole utterance, codes [T, n_codebooks] -> samples [T * frame_samples], in no slot."""
        tensor = self._check([0], codes[None], allocated=False)
        state = StreamState(self._decoder.layout, 1, self._device)
        whole: NDArray[np.float32] = self._run(state, [0], tensor)[0]
        return whole

    def check(self) -> None:
        """Decode a frame of zeros, in no slot. Raises what the device raises where it is broken."""
        self.decode_whole(np.zeros((1, self.config.n_codebooks), np.int64))

    @torch.inference_mode()
    def decode_latents(self, latents: Tensor) -> NDArray[np.float32]:
        """A whole utterance from latents that no codebook has rounded, [T, latent_dim] -> samples.

        What the decoder could do if the codes were perfect; nothing that serves needs it.
        """
        state = StreamState(self._decoder.layout, 1, self._device)
        pieces = []
        with true_fp32(self._device):
            for piece in torch.split(latents.to(self._device), PIECE_FRAMES):
                batch = state.open([0])
                pieces.append(self._decoder.sound(piece[None], batch)[0])
                batch.close(len(piece))
        samples: NDArray[np.float32] = torch.cat(pieces).cpu().numpy()
        return samples

    @torch.inference_mode()
    def _run(self, state: StreamState, slots: Sequence[int], codes: Tensor) -> NDArray[np.float32]:
        pieces = []
        with true_fp32(self._device):
            for piece in torch.split(codes, max(1, PIECE_FRAMES // len(slots)), dim=1):
                batch = state.open(slots)
                pieces.append(self._decoder(piece, batch))
                batch.close(piece.shape[1])
        samples = pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=1)
        array: NDArray[np.float32] = samples.cpu().numpy()
        return array

    def _check(
        self,
        slots: Sequence[int],
        codes: NDArray[np.integer] | Tensor,
        allocated: bool = True,
    ) -> Tensor:
        for slot in slots if allocated else ():
            self.pool.check_allocated(slot)
        if not slots or len(set(slots)) != len(slots):
            raise ValueError(f"expected one or more different slots, got {list(slots)}")
        array = np.asarray(codes)
        shape = (len(slots), array.shape[1] if array.ndim > 1 else 0, self.config.n_codebooks)
        if array.shape != shape or not shape[1]:
            raise ValueError(
                f"expected codes [{len(slots)}, frames >= 1, {self.config.n_codebooks}], "
                f"got {list(array.shape)}"
            )
        if array.dtype.kind not in "iu":
            raise ValueError(f"expected integer codes, got {array.dtype}")
        if array.dtype.kind == "i" and array.min() < 0:
            raise ValueError(f"expected codes >= 0, got {array.min()}")
        return torch.from_numpy(array.astype(np.int64)).to(self._device)
