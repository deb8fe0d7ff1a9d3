"""Stage 1: learn what a code is, by an autoencoder of spectral features with the quantisers inside.

No waveform is made here, so minutes suffice on a CPU: the decoder only has to give the features
back. It is causal, as the real decoder will be, so a code carries what a causal decoder needs at
its time; the encoder may look ahead, since the codes of the corpus are made offline.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.text.frontend.phones import ANCHORS
from engine.workshop.train.networks.features import FEATURES_PER_FRAME, CodeFeatures
from engine.workshop.train.networks.quantise import AnchoredResidualQuantiser, Quantised


class ConvNeXt(nn.Module):
    """Depthwise convolution, then a pointwise MLP, with a residual; [B, C, T] -> [B, C, T]."""

    def __init__(self, channels: int, causal: bool, expansion: int = 3) -> None:
        super().__init__()
        self.padding = (6, 0) if causal else (3, 3)
        self.depthwise = nn.Conv1d(channels, channels, 7, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.up = nn.Linear(channels, expansion * channels)
        self.down = nn.Linear(expansion * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        y = self.depthwise(F.pad(x, self.padding)).transpose(1, 2)
        y = self.down(F.gelu(self.up(self.norm(y))))
        result: Tensor = x + y.transpose(1, 2)
        return result


class CodeMaker(nn.Module):
    """Waveform -> codes (given the anchors) -> features. `dim`: width of the latent."""

    def __init__(
        self,
        rate_hz: int,
        frame_samples: int,
        dim: int,
        semantic_size: int,
        residual_size: int,
        residual_books: int,
        width: int = 256,
    ) -> None:
        super().__init__()
        self.features = CodeFeatures(rate_hz, frame_samples)
        step = FEATURES_PER_FRAME
        self.encoder = nn.Sequential(
            nn.Conv1d(self.features.size, width, 3, padding=1),
            ConvNeXt(width, causal=False),
            nn.Conv1d(width, width, step, stride=step),
            ConvNeXt(width, causal=False),
            ConvNeXt(width, causal=False),
            nn.Conv1d(width, dim, 1),
        )
        self.quantiser = AnchoredResidualQuantiser(
            dim, semantic_size, residual_size, residual_books
        )
        self.decoder = nn.Sequential(
            nn.Conv1d(dim, width, 1),
            ConvNeXt(width, causal=True),
            ConvNeXt(width, causal=True),
            nn.ConvTranspose1d(width, width, step, stride=step),
            ConvNeXt(width, causal=True),
            ConvNeXt(width, causal=True),
            nn.Conv1d(width, self.features.size, 1),
        )
        self.phone_head = nn.Conv1d(dim, len(ANCHORS), 1)

    def latent(self, features: Tensor) -> Tensor:
        """[B, size, FEATURES_PER_FRAME * T] -> [B, dim, T]."""
        z: Tensor = self.encoder(features)
        return z

    def quantise(self, z: Tensor, anchors: Tensor, depth: Tensor | None) -> Quantised:
        """z [B, dim, T], anchors [B, T], depth [B] -> quantised points of all B * T frames."""
        batch, dim, frames = z.shape
        points = z.float().transpose(1, 2).reshape(-1, dim)
        spread = None if depth is None else depth[:, None].expand(batch, frames).reshape(-1)
        result: Quantised = self.quantiser(points, anchors.reshape(-1), spread)
        return result

    def forward(
        self, wave: Tensor, anchors: Tensor, depth: Tensor | None = None
    ) -> dict[str, Tensor]:
        """wave [B, T * frame_samples], anchors [B, T] -> the losses by name."""
        with torch.no_grad():
            target = self.features(wave)
        z = self.latent(target)
        phone = F.cross_entropy(self.phone_head(z), anchors)
        commitment = z.new_zeros(())
        if self.quantiser.ready:
            quantised = self.quantise(z, anchors, depth)
            commitment = quantised.commitment
            z = quantised.vector.view(z.shape[0], z.shape[2], -1).transpose(1, 2)
        error = (self.decoder(z) - target).abs().mean()
        return {"features": error, "phone": phone, "commitment": commitment}
