"""Stage 2's network: codes -> waveform, the codec's decode path in a form that learns.

Whole sequences instead of streams, but the same arithmetic as engine.codec: every layer is causal
and carries the name of its tensors in `codec.pth`, so that `state_dict` and the file differ only
in weight norm (export).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.codec.sizes import CONVNEXT_EXPANSION, KERNEL_STEPS, CodecConfig
from engine.models.layers import rope_table
from engine.workshop.train.networks.dual_ar import FeedForward, RMSNorm


def _snake(x: Tensor, alpha: Tensor) -> Tensor:
    return x + (alpha * x).sin().square() / (alpha + 1e-9)


# Half of the decoder's time is this expression, pass by pass over long tensors; fused, it is a
# tenth.
_fused_snake = torch.compile(_snake, dynamic=True)


class Snake(nn.Module):
    """x + sin^2(alpha x) / alpha, one alpha a channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1, channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, T] -> [B, C, T]."""
        y: Tensor = (_fused_snake if self.training else _snake)(x, self.alpha)
        return y


class CausalConv(nn.Module):
    """Left-padded convolution, stride 1; its weights lie under `.conv`."""

    def __init__(
        self, into: int, out: int, kernel: int, dilation: int = 1, groups: int = 1
    ) -> None:
        super().__init__()
        self.left = (kernel - 1) * dilation
        self.conv = nn.Conv1d(into, out, kernel, dilation=dilation, groups=groups)

    def forward(self, x: Tensor) -> Tensor:
        """[B, in, T] -> [B, out, T]."""
        y: Tensor = self.conv(F.pad(x, (self.left, 0)))
        return y


class CausalUpsample(nn.Module):
    """Transposed convolution of stride s; the last kernel - s outputs are dropped."""

    def __init__(self, into: int, out: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.drop = kernel - stride
        self.conv = nn.ConvTranspose1d(into, out, kernel, stride)

    def forward(self, x: Tensor) -> Tensor:
        """[B, in, T] -> [B, out, T * stride]."""
        y: Tensor = self.conv(x)
        return y[..., : y.shape[-1] - self.drop]


class ResidualUnit(nn.Module):
    """x + conv1(snake(conv7(snake(x))))."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.block = nn.Sequential(
            Snake(channels),
            CausalConv(channels, channels, KERNEL_STEPS, dilation),
            Snake(channels),
            CausalConv(channels, channels, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, T] -> [B, C, T]."""
        y: Tensor = x + self.block(x)
        return y


class DecoderBlock(nn.Module):
    """Snake, upsampling, residual units."""

    def __init__(self, into: int, out: int, stride: int, dilations: tuple[int, ...]) -> None:
        super().__init__()
        self.block = nn.Sequential(
            Snake(into),
            CausalUpsample(into, out, 2 * stride, stride),
            *(ResidualUnit(out, dilation) for dilation in dilations),
        )

    def forward(self, x: Tensor) -> Tensor:
        """[B, into, T] -> [B, out, T * stride]."""
        y: Tensor = self.block(x)
        return y


class ConvNeXt(nn.Module):
    """x + gamma * pwconv2(gelu(pwconv1(norm(dwconv(x)))))."""

    def __init__(self, channels: int, eps: float) -> None:
        super().__init__()
        self.dwconv = CausalConv(channels, channels, KERNEL_STEPS, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=eps)
        self.pwconv1 = nn.Linear(channels, CONVNEXT_EXPANSION * channels)
        self.pwconv2 = nn.Linear(CONVNEXT_EXPANSION * channels, channels)
        self.gamma = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, T] -> [B, C, T]."""
        y = self.norm(self.dwconv(x).transpose(1, 2))
        y = self.gamma * self.pwconv2(F.gelu(self.pwconv1(y)))
        result: Tensor = x + y.transpose(1, 2)
        return result


class LayerScale(nn.Module):
    """A gain per channel."""

    def __init__(self, channels: int, start: float) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.full((channels,), start))

    def forward(self, x: Tensor) -> Tensor:
        """[..., C] -> [..., C]."""
        return x * self.gamma


class WindowAttention(nn.Module):
    """Causal attention over the last `window` steps; RoPE on adjacent pairs, tables rounded to
    bf16.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        width = config.latent_heads * config.head_dim
        self.heads, self.head_dim, self.window = (
            config.latent_heads,
            config.head_dim,
            config.latent_window,
        )
        self.base = config.rope_base
        self.wqkv = nn.Linear(config.latent_dim, 3 * width, bias=False)
        self.wo = nn.Linear(width, config.latent_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        steps = x.shape[1]
        qkv = self.wqkv(x).float().unflatten(-1, (3, self.heads, self.head_dim))
        turn = rope_table(steps, self.head_dim, self.base)[:, None, None]
        rotated = torch.view_as_complex(
            qkv[:, :, :2].unflatten(-1, (-1, 2)).contiguous()
        ) * turn.transpose(1, 2)
        q, k = torch.view_as_real(rotated).flatten(-2).unbind(2)
        back = torch.arange(steps)[:, None] - torch.arange(steps)
        mask = (back >= 0) & (back < self.window)
        v = qkv[:, :, 2]
        y = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask
        )
        out: Tensor = self.wo(y.transpose(1, 2).flatten(2))
        return out


class LatentLayer(nn.Module):
    """Pre-norm transformer layer with layer scales."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__()
        dim = config.latent_dim
        self.attention = WindowAttention(config)
        self.feed_forward = FeedForward(dim, config.latent_ff)
        self.attention_norm = RMSNorm(dim, eps=config.rms_norm_eps)
        self.ffn_norm = RMSNorm(dim, eps=config.rms_norm_eps)
        self.attention_layer_scale = LayerScale(dim, 0.3)
        self.ffn_layer_scale = LayerScale(dim, 0.3)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        x = x + self.attention_layer_scale(self.attention(self.attention_norm(x)))
        y: Tensor = x + self.ffn_layer_scale(self.feed_forward(self.ffn_norm(x)))
        return y


class LatentTransformer(nn.Module):
    """The module after the quantisers (and, in cloning, before them)."""

    def __init__(self, config: CodecConfig, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(LatentLayer(config) for _ in range(layers))
        self.norm = RMSNorm(config.latent_dim, eps=config.rms_norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, C] -> [B, T, C]."""
        for layer in self.layers:
            x = layer(x)
        y: Tensor = self.norm(x)
        return y


class WaveDecoder(nn.Module):
    """Codes -> waveform. `vectors`: the books' rows side by side, frozen; `out_proj`: learned,
    shared by all books.

    Tensor names below `post_module`, `upsample` and `decoder` are those of codec.pth (the first
    two under `quantizer.` there).
    """

    def __init__(self, config: CodecConfig, vector_dim: int) -> None:
        super().__init__()
        self.config = config
        dim, widths = config.latent_dim, config.decoder_widths
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
            nn.Sequential(
                CausalUpsample(dim, dim, factor, factor), ConvNeXt(dim, config.layer_norm_eps)
            )
            for factor in reversed(config.resample_factors)
        )
        blocks = [
            DecoderBlock(widths[i], widths[i + 1], rate, config.decoder_dilations)
            for i, rate in enumerate(config.decoder_rates)
        ]
        self.decoder = nn.ModuleDict()
        self.decoder["model"] = nn.Sequential(
            CausalConv(dim, widths[0], KERNEL_STEPS),
            *blocks,
            Snake(widths[-1]),
            CausalConv(widths[-1], 1, KERNEL_STEPS),
            nn.Tanh(),
        )

    def latent(self, codes: Tensor) -> Tensor:
        """codes [B, T, books] -> summed vectors [B, T, vector_dim]."""
        # The Dual-AR's head is as wide as the widest book: the codec clamps what is beyond.
        return F.embedding(torch.minimum(codes, self.last) + self.offsets, self.vectors).sum(2)

    def forward(self, codes: Tensor) -> Tensor:
        """codes [B, T, books] -> waveform [B, T * frame_samples]."""
        x = self.post_module(self.out_proj(self.latent(codes))).transpose(1, 2)
        for stage in self.upsample:
            x = stage(x)
        layers = self.decoder["model"]
        assert isinstance(layers, nn.Sequential)
        last_block = len(self.config.decoder_rates)
        x = layers[:last_block](x)
        # Where samples are made, bf16 is too coarse for silence.
        with torch.autocast(x.device.type, enabled=False):
            wave: Tensor = layers[last_block:](x.float())
        return wave[:, 0]

    def waveform(self, codes: Tensor) -> Tensor:
        """The same by the name that all decoders share."""
        result: Tensor = self(codes)
        return result
