"""How the peers decode: whole windows through plain modules, one stream at a time.

The codec's decode path in the usual form (channels first, left padding, torch's convolutions, Snake
from descript-audio-codec), without state: a window starts from nothing, positions at 0. Streaming
then means to decode overlapping windows and to keep each one's last part, as SGLang-Omni 0.1.9
does: 40 frames first, then 45 new ones at a time behind 20 repeated ones, joined by a crossfade of
512 samples. Weight norm is folded beforehand, which is more than some peers do. It is also an
independent check of `engine.codec`, with which it shares no arithmetic.
"""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.codec.weights import CodecWeights, quantizer_names

FIRST_FRAMES, NEXT_FRAMES, CONTEXT_FRAMES, FADE_SAMPLES = 40, 45, 20, 512


def dac_layers() -> Any:
    """descript-audio-codec's layers module, without the package's own imports (audiotools)."""
    package = importlib.util.find_spec("dac")
    assert package is not None and package.submodule_search_locations
    path = Path(package.submodule_search_locations[0]) / "nn" / "layers.py"
    spec = importlib.util.spec_from_file_location("dac_nn_layers", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():  # it uses torch.jit.script, which torch deprecates
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


class WindowDecoder:
    """codes [T, n_codebooks] -> samples [T * frame_samples], every call from nothing."""

    def __init__(self, weights: CodecWeights) -> None:
        self.weights, self.config = weights, weights.config
        self.layers = dac_layers()
        self.cache: dict[str, Any] = {}
        self.decode(torch.zeros(2, self.config.n_codebooks, dtype=torch.long))  # fills the cache

    @torch.inference_mode()
    def decode(self, codes: Tensor) -> Tensor:
        """One window."""
        config = self.config
        x = self._latents(codes)
        if config.post_layers:
            x = self._transformer(x)
        for i, factor in enumerate(reversed(config.resample_factors)):
            name = f"quantizer.upsample.{i}"
            x = self._convnext(self._upsample(x, f"{name}.0.conv", factor), f"{name}.1")
        x = self._conv(x, "decoder.model.0.conv")
        for i, rate in enumerate(config.decoder_rates):
            prefix = f"decoder.model.{i + 1}.block"
            x = self._upsample(self._snake(x, f"{prefix}.0"), f"{prefix}.1.conv", rate)
            for unit, dilation in enumerate(config.decoder_dilations):
                name = f"{prefix}.{unit + 2}.block"
                y = self._conv(self._snake(x, f"{name}.0"), f"{name}.1.conv", dilation)
                x = x + self._conv(self._snake(y, f"{name}.2"), f"{name}.3.conv")
        last = len(config.decoder_rates) + 1
        x = self._conv(self._snake(x, f"decoder.model.{last}"), f"decoder.model.{last + 1}.conv")
        return torch.tanh(x)[0, 0]

    def _get(self, name: str, make: Any) -> Any:
        if name not in self.cache:
            self.cache[name] = make()
        return self.cache[name]

    def _weight(self, module: str) -> Tensor:
        weight: Tensor = self._get(f"{module}.weight", lambda: self.weights.weight(module))
        return weight

    def _tensor(self, name: str) -> Tensor:
        tensor: Tensor = self._get(name, lambda: self.weights.tensor(name))
        return tensor

    def _snake(self, x: Tensor, name: str) -> Tensor:
        def make() -> nn.Module:
            module: nn.Module = self.layers.Snake1d(x.shape[1])
            module.load_state_dict({"alpha": self.weights.tensor(f"{name}.alpha")})
            return module

        y: Tensor = self._get(name, make)(x)
        return y

    def _conv(self, x: Tensor, name: str, dilation: int = 1, groups: int = 1) -> Tensor:
        weight = self._weight(name)
        padded = F.pad(x, ((weight.shape[-1] - 1) * dilation, 0))
        bias = self._tensor(f"{name}.bias")
        return F.conv1d(padded, weight, bias, dilation=dilation, groups=groups)

    def _upsample(self, x: Tensor, name: str, rate: int) -> Tensor:
        y = F.conv_transpose1d(x, self._weight(name), self._tensor(f"{name}.bias"), stride=rate)
        return y[..., : x.shape[-1] * rate]

    def _convnext(self, x: Tensor, name: str) -> Tensor:
        width = x.shape[1]
        y = self._conv(x, f"{name}.dwconv.conv", groups=width).transpose(1, 2)
        norm = self._weight(f"{name}.norm"), self._tensor(f"{name}.norm.bias")
        y = F.layer_norm(y, (width,), *norm, self.config.layer_norm_eps)
        for i in (1, 2):
            y = F.linear(
                y, self._weight(f"{name}.pwconv{i}"), self._tensor(f"{name}.pwconv{i}.bias")
            )
            y = F.gelu(y) if i == 1 else y
        return x + (y * self._tensor(f"{name}.gamma")).transpose(1, 2)

    def _latents(self, codes: Tensor) -> Tensor:
        total = torch.zeros(1, self.config.latent_dim, codes.shape[0])
        names = zip(quantizer_names(self.config), self.config.codebook_sizes, strict=True)
        for book, (name, size) in enumerate(names):
            entries = F.embedding(
                codes[:, book].clamp(max=size - 1), self._tensor(f"{name}.codebook.weight")
            )
            bias = self._tensor(f"{name}.out_proj.bias")
            total += F.conv1d(entries.T[None], self._weight(f"{name}.out_proj"), bias)
        return total

    def _transformer(self, x: Tensor) -> Tensor:
        config, steps = self.config, x.shape[-1]
        x = x.transpose(1, 2)
        angles = torch.outer(
            torch.arange(steps).float(),
            1 / config.rope_base ** (torch.arange(0, config.head_dim, 2).float() / config.head_dim),
        )
        cos, sin = angles.cos().bfloat16().float(), angles.sin().bfloat16().float()
        back = torch.arange(steps)[:, None] - torch.arange(steps)
        mask = (back >= 0) & (back < config.latent_window)

        def rotate(y: Tensor) -> Tensor:
            even, odd = y[..., 0::2], y[..., 1::2]
            pairs = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
            return pairs.flatten(-2)

        for i in range(config.post_layers):
            layer = f"quantizer.post_module.layers.{i}"
            y = self._norm(x, f"{layer}.attention_norm")
            qkv = F.linear(y, self._weight(f"{layer}.attention.wqkv")).chunk(3, dim=-1)
            shape = (1, steps, config.latent_heads, config.head_dim)
            q, k, v = (part.reshape(shape).transpose(1, 2) for part in qkv)
            y = F.scaled_dot_product_attention(rotate(q), rotate(k), v, mask)
            y = F.linear(y.transpose(1, 2).flatten(2), self._weight(f"{layer}.attention.wo"))
            x = x + y * self._tensor(f"{layer}.attention_layer_scale.gamma")
            y = self._norm(x, f"{layer}.ffn_norm")
            gate, up = (F.linear(y, self._weight(f"{layer}.feed_forward.w{n}")) for n in (1, 3))
            y = F.linear(F.silu(gate) * up, self._weight(f"{layer}.feed_forward.w2"))
            x = x + y * self._tensor(f"{layer}.ffn_layer_scale.gamma")
        return self._norm(x, "quantizer.post_module.norm").transpose(1, 2)

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self._weight(name), self.config.rms_norm_eps)


@dataclass
class WindowStream:
    """One stream, decoded window by window."""

    decoder: WindowDecoder
    done: int = 0
    tail: Tensor | None = None

    @torch.inference_mode()
    def next(self, codes: Tensor) -> Tensor:
        """The next window's new samples. codes [frames so far, n_codebooks]."""
        frame = self.decoder.config.frame_samples
        first = max(0, self.done - CONTEXT_FRAMES)
        window = self.decoder.decode(codes[first:])
        start = (self.done - first) * frame
        if self.tail is not None:
            fade = torch.linspace(0, 1, FADE_SAMPLES)
            seam = slice(start - FADE_SAMPLES, start)
            window[seam] = self.tail * (1 - fade) + window[seam] * fade
            start -= FADE_SAMPLES
        self.done = codes.shape[0]
        self.tail = window[-FADE_SAMPLES:]
        return window[start:-FADE_SAMPLES]
