"""Codes of a voice's parameters: what is said each step is learned, how it sounds is known.

    parameters --encoder--> latents --quantiser--> codes --decoder--> parameters --> vocoder: sound

The vocoder (engine.codec.kernels.source_filter) has nothing to learn, so no waveform is made in
training. The encoder may look ahead, since the codes of the corpus are made offline; the decoder is
the codec's own: causal, and under its tensors' names.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.codec.kernels.source_filter import (
    NOISE_SAMPLES,
    SourceFilter,
    VoiceParameters,
    noise_table,
    overlap_add,
)
from engine.codec.sizes import RESPONSE_SAMPLES, CodecConfig
from engine.codec.vocoder import voice_parameters
from engine.text.frontend.phones import ANCHORS
from engine.workshop.train.networks.channels_last import ConvNeXt, Downsample, Upsample
from engine.workshop.train.networks.quantise import AnchoredResidualQuantiser, Quantised
from engine.workshop.train.networks.wave_decoder import LatentTransformer

# what parameters are about, and how far they spread: log power, log ratio, log Hz
_ENVELOPE, _NOISE, _LOG_F0 = (-9.0, 3.0), (0.0, 4.0), (5.2, 0.35)
_QUIET = -18.0  # log power (-78 dB): nothing below is told apart
_NOISE_RANGE = (-12.0, 9.0)

WEIGHTS = {
    "envelope": 1.0,
    "change": 0.7,
    "noise": 0.25,
    "pitch": 0.7,
    "voicing": 0.4,
    "phone": 0.05,
    "commitment": 0.25,
}


def scales(parameters: VoiceParameters) -> tuple[Tensor, Tensor]:
    """Centre and spread of each parameter, [size] both; voicing stays as it is."""
    parts = [_ENVELOPE] * parameters.bands + [_NOISE] * parameters.noise_bands
    centre, spread = torch.tensor([*parts, _LOG_F0, (0.0, 1.0)]).unbind(1)
    return centre, spread


def normalised(steps: Tensor, parameters: VoiceParameters) -> Tensor:
    """Physical parameters [..., size] to about zero mean and unit spread, what is inaudible cut
    off; voicing becomes 0 or 1.
    """
    centre, spread = scales(parameters)
    bands = parameters.bands
    envelope = steps[..., :bands].clamp(min=_QUIET)
    noise = steps[..., bands:-2].clamp(*_NOISE_RANGE)
    voiced = (steps[..., -1:] > 0).to(steps.dtype)
    return (torch.cat((envelope, noise, steps[..., -2:-1], voiced), -1) - centre) / spread


def physical(steps: Tensor, parameters: VoiceParameters) -> Tensor:
    """The way back, for what a decoder gives (voicing: above 0)."""
    centre, spread = scales(parameters)
    return steps * spread + centre


class VocoderDecoder(nn.Module):
    """Vectors [B, T, vector_dim] -> normalised parameters [B, T * steps a frame, size], causal.

    `vectors`: the books' rows side by side, frozen; `out_proj`: learned, shared by all books.
    Tensor names below `post_module`, `upsample` (under `quantizer.` in codec.pth) and `vocoder`
    are those of codec.pth.
    """

    def __init__(self, config: CodecConfig, vector_dim: int) -> None:
        super().__init__()
        self.config, self.parameters_of_step = config, voice_parameters(config)
        dim, eps = config.latent_dim, config.layer_norm_eps
        self.register_buffer("vectors", torch.zeros(sum(config.codebook_sizes), vector_dim))
        self.vectors: Tensor
        sizes = torch.tensor((0, *config.codebook_sizes[:-1]))
        self.register_buffer("offsets", sizes.cumsum(0), False)
        self.offsets: Tensor
        self.register_buffer("last", torch.tensor(config.codebook_sizes) - 1, False)
        self.last: Tensor
        self.out_proj = nn.Linear(vector_dim, dim, bias=False)
        self.post_module = LatentTransformer(config, config.post_layers)
        self.upsample = nn.ModuleList(
            nn.Sequential(Upsample(dim, dim, factor), ConvNeXt(dim, eps))
            for factor in reversed(config.resample_factors)
        )
        self.vocoder = nn.ModuleDict()
        self.vocoder["blocks"] = nn.ModuleList(
            ConvNeXt(dim, eps) for _ in range(config.vocoder_blocks)
        )
        self.vocoder["head"] = nn.Linear(dim, config.vocoder_steps * self.parameters_of_step.size)

    def latent(self, codes: Tensor) -> Tensor:
        """codes [B, T, books] -> summed vectors [B, T, vector_dim]."""
        # The Dual-AR's head is as wide as the widest book: the codec clamps what is beyond.
        return F.embedding(torch.minimum(codes, self.last) + self.offsets, self.vectors).sum(2)

    def forward(self, vectors: Tensor) -> Tensor:
        """See the class."""
        x: Tensor = self.post_module(self.out_proj(vectors))
        for stage in self.upsample:
            x = stage(x)
        blocks = self.vocoder["blocks"]
        assert isinstance(blocks, nn.ModuleList)
        for block in blocks:
            x = block(x)
        with torch.autocast(x.device.type, enabled=False):
            y: Tensor = self.vocoder["head"](x.float())
        return y.view(x.shape[0], -1, self.parameters_of_step.size)

    @torch.no_grad()
    def waveform(self, codes: Tensor) -> Tensor:
        """codes [B, T, books] -> waveform [B, T * frame_samples], as the engine will make it."""
        config, parameters = self.config, self.parameters_of_step
        steps = physical(self(self.latent(codes)), parameters)
        batch, count, _ = steps.shape
        hop = config.vocoder_hop_samples
        source_filter = SourceFilter(parameters, hop, config.sample_rate_hz, steps.device)
        noise = noise_table()[torch.arange(count * hop) % NOISE_SAMPLES].view(1, count, hop)
        rendered = source_filter.render(
            torch.cat((steps[:, :1], steps), 1), steps.new_zeros(batch), noise.expand(batch, -1, -1)
        )
        tail = steps.new_zeros(batch, RESPONSE_SAMPLES - hop)
        return overlap_add(rendered.segments, tail, hop)[0].clamp(-1.0, 1.0)


class VocoderCodec(nn.Module):
    """Normalised parameters -> codes (given the anchors) -> normalised parameters."""

    def __init__(self, config: CodecConfig, vector_dim: int, width: int = 256) -> None:
        super().__init__()
        self.config = config
        size = config.vocoder_steps * voice_parameters(config).size

        def mixer() -> ConvNeXt:
            return ConvNeXt(width, causal=False, expansion=3)

        self.encoder = nn.Sequential(
            nn.Linear(size, width),
            mixer(),
            mixer(),
            Downsample(width, width, config.latent_steps),
            mixer(),
            mixer(),
            nn.Linear(width, vector_dim),
        )
        self.quantiser = AnchoredResidualQuantiser(
            vector_dim,
            config.semantic_codebook_size,
            config.residual_codebook_size,
            config.n_residual_codebooks,
        )
        self.decoder = VocoderDecoder(config, vector_dim)
        self.phone_head = nn.Linear(vector_dim, len(ANCHORS))

    def latent(self, steps: Tensor) -> Tensor:
        """[B, T * steps a frame, size] -> [B, T, vector_dim]."""
        grouped = steps.reshape(steps.shape[0], -1, self.config.vocoder_steps * steps.shape[2])
        z: Tensor = self.encoder(grouped)
        return z.float()

    def quantise(self, z: Tensor, anchors: Tensor, depth: Tensor | None) -> Quantised:
        """z [B, T, vector_dim], anchors [B, T], depth [B] -> quantised points of all B * T."""
        spread = None if depth is None else depth[:, None].expand(z.shape[:2]).reshape(-1)
        result: Quantised = self.quantiser(z.flatten(0, 1), anchors.flatten(), spread)
        return result

    def forward(
        self, steps: Tensor, anchors: Tensor, depth: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """steps [B, T * steps a frame, size], anchors [B, T] -> what the decoder made of them, and
        the losses by name (`WEIGHTS`).
        """
        z = self.latent(steps)
        phone = F.cross_entropy(self.phone_head(z).float().flatten(0, 1), anchors.flatten())
        losses = {"phone": phone}
        if self.quantiser.ready:
            quantised = self.quantise(z, anchors, depth)
            losses["commitment"] = quantised.commitment
            z = quantised.vector.view(z.shape)
        made = self.decoder(z)
        return made, losses | parameter_losses(made, steps, self.decoder.parameters_of_step.bands)


def parameter_losses(made: Tensor, true: Tensor, bands: int) -> dict[str, Tensor]:
    """Both normalised, [B, K, size]. What is hard to hear counts little; pitch and noise count
    where there is voice.
    """
    voiced = true[..., -1]
    count = voiced.sum() + 1.0
    # a quarter for what is below some -60 dB
    weight = 0.25 + 0.75 * torch.sigmoid(3.0 * true[..., :bands] + 4.0)
    error = made[..., :bands] - true[..., :bands]
    noise = (made - true)[..., bands:-2].abs().mean(-1)
    return {
        "envelope": (error.abs() * weight).mean(),
        "change": (error.diff(dim=1).abs() * weight[:, 1:]).mean(),
        "noise": (noise * voiced).sum() / count,
        "pitch": ((made - true)[..., -2].abs() * voiced).sum() / count,
        "voicing": F.binary_cross_entropy_with_logits(made[..., -1], voiced),
    }


def total(losses: dict[str, Tensor]) -> Tensor:
    """The weighted sum."""
    return torch.stack([WEIGHTS[name] * value for name, value in losses.items()]).sum()
