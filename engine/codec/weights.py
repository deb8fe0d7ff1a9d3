"""Loads `codec.pth`: checks every tensor against the config, then folds weight norm on access.

The file is a flat mapping from name to tensor. Convolutions carry weight norm in one of two
spellings, or none: `X.parametrizations.weight.original0/1`, `X.weight_g/weight_v`, `X.weight`.
Buffers that older code saved beside the weights (`*.freqs_cis`, `*.causal_mask`) are ignored.
Nothing is allocated before all names, shapes and types are right: the file is only mapped.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.codec.sizes import CONFIG_FILE, CONVNEXT_EXPANSION, KERNEL_STEPS, CodecConfig
from engine.errors import CheckpointError

WEIGHTS_FILE = "codec.pth"
IGNORED_SUFFIXES = (".freqs_cis", ".causal_mask")
ACCEPTED_DTYPES = (torch.float32, torch.float16, torch.bfloat16)
# (suffix of g, suffix of v): torch's parametrised weight norm, and the one before it.
WEIGHT_NORM_SPELLINGS = (
    (".parametrizations.weight.original0", ".parametrizations.weight.original1"),
    (".weight_g", ".weight_v"),
)
MAX_LISTED = 20

Shape = tuple[int, ...]


@dataclass(frozen=True)
class CodecWeights:
    """A checked codec checkpoint. Tensors are read from the mapped file when asked for."""

    config: CodecConfig
    tensors: Mapping[str, Tensor]
    device: torch.device = torch.device("cpu")

    def tensor(self, name: str) -> Tensor:
        """One plain tensor, fp32."""
        return self.tensors[name].to(self.device, torch.float32)

    def weight(self, module: str) -> Tensor:
        """The weight of a module, fp32, with weight norm folded where it has one.

        w = g * v / ||v||, the norm over all dimensions but the first, for transposed
        convolutions too (s2pro layout: g is per input channel there).
        """
        for g_suffix, v_suffix in WEIGHT_NORM_SPELLINGS:
            if module + g_suffix in self.tensors:
                g = self.tensors[module + g_suffix].double()
                v = self.tensors[module + v_suffix].double()
                norm = v.flatten(1).norm(dim=1).view(-1, *(1,) * (v.dim() - 1))
                folded: Tensor = (g * v / norm).to(self.device, torch.float32)
                return folded
        return self.tensor(f"{module}.weight")

    def bias(self, module: str) -> Tensor:
        """The bias of a module, fp32."""
        return self.tensor(f"{module}.bias")


def load_codec(directory: str | Path, device: str | torch.device = "cpu") -> CodecWeights:
    """Map and check the codec of a checkpoint directory; `device` is where weights will go.

    Raises CheckpointError if the file is missing or no flat mapping of tensors, and for any
    missing, unexpected, misshapen or mistyped tensor; the message lists all of them.
    """
    config = CodecConfig.from_checkpoint(directory)
    path = Path(directory) / WEIGHTS_FILE
    tensors = _map_file(path)
    if problems := find_problems(config, tensors):
        origin = (
            f"sizes from {CONFIG_FILE}"
            if (path.parent / CONFIG_FILE).exists()
            else f"no {CONFIG_FILE}, so S2-Pro's sizes"
        )
        listed = problems[:MAX_LISTED]
        if len(problems) > MAX_LISTED:
            listed.append(f"... and {len(problems) - MAX_LISTED} more")
        raise CheckpointError(f"{path} ({origin}):\n  " + "\n  ".join(listed))
    return CodecWeights(config, tensors, torch.device(device))


def _map_file(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise CheckpointError(f"{path}: expected the codec's weights, found no such file")
    try:
        loaded: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (RuntimeError, ValueError, OSError, EOFError, pickle.UnpicklingError) as error:
        raise CheckpointError(
            f"{path}: expected a file written by torch.save that holds only tensors, "
            f"got {type(error).__name__}: {str(error).splitlines()[0]}"
        ) from error
    if not isinstance(loaded, Mapping):
        raise CheckpointError(f"{path}: expected a mapping of tensors, got {type(loaded).__name__}")
    for name, value in loaded.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise CheckpointError(
                f"{path}: expected a flat mapping from name to tensor, "
                f"got {type(value).__name__} under {name!r}"
            )
    return {k: v for k, v in loaded.items() if not k.endswith(IGNORED_SUFFIXES)}


def find_problems(config: CodecConfig, tensors: Mapping[str, Tensor]) -> list[str]:
    """What is wrong with these tensors, one line each; empty if nothing is."""
    wanted: dict[str, Shape] = {}
    for name, shape in expected_tensors(config):
        wanted.update(_spell(name, shape, tensors))
    problems = [
        f"missing {name}, expected shape {list(shape)}"
        for name, shape in wanted.items()
        if name not in tensors
    ]
    for name, tensor in tensors.items():
        if name not in wanted:
            problems.append(f"unexpected {name} of shape {list(tensor.shape)}")
        elif tuple(tensor.shape) != wanted[name]:
            problems.append(
                f"{name}: expected shape {list(wanted[name])}, got {list(tensor.shape)}"
            )
        elif tensor.dtype not in ACCEPTED_DTYPES:
            accepted = " or ".join(str(dtype) for dtype in ACCEPTED_DTYPES)
            problems.append(f"{name}: expected {accepted}, got {tensor.dtype}")
    return problems


def _spell(name: str, shape: Shape, tensors: Mapping[str, Tensor]) -> dict[str, Shape]:
    """The stored names that make up one weight, in the spelling this file uses for it."""
    module = name.removesuffix(".weight")
    if module != name and len(shape) == 3:
        for g_suffix, v_suffix in WEIGHT_NORM_SPELLINGS:
            if module + g_suffix in tensors or module + v_suffix in tensors:
                return {module + g_suffix: (shape[0], 1, 1), module + v_suffix: shape}
    return {name: shape}


def expected_tensors(config: CodecConfig) -> Iterator[tuple[str, Shape]]:
    """Name and shape of every tensor of such a codec, weight norm folded."""
    if config.has_encoder:
        yield from _encoder(config)
    yield from _quantizer(config)
    yield from _vocoder(config) if config.has_vocoder else _decoder(config)


def _conv(module: str, out: int, into: int, kernel: int) -> Iterator[tuple[str, Shape]]:
    yield f"{module}.weight", (out, into, kernel)
    yield f"{module}.bias", (out,)


def _residual_unit(prefix: str, channels: int) -> Iterator[tuple[str, Shape]]:
    yield f"{prefix}.block.0.alpha", (1, channels, 1)
    yield from _conv(f"{prefix}.block.1.conv", channels, channels, KERNEL_STEPS)
    yield f"{prefix}.block.2.alpha", (1, channels, 1)
    yield from _conv(f"{prefix}.block.3.conv", channels, channels, 1)


def _encoder(config: CodecConfig) -> Iterator[tuple[str, Shape]]:
    widths = config.encoder_widths
    units = len(config.residual_dilations)
    yield from _conv("encoder.block.0.conv", widths[0], 1, KERNEL_STEPS)
    for i, rate in enumerate(config.encoder_rates):
        prefix = f"encoder.block.{i + 1}.block"
        for unit in range(units):
            yield from _residual_unit(f"{prefix}.{unit}", widths[i])
        yield f"{prefix}.{units}.alpha", (1, widths[i], 1)
        yield from _conv(f"{prefix}.{units + 1}.conv", widths[i + 1], widths[i], 2 * rate)
        if layers := config.encoder_transformer_layers[i]:
            yield from _transformer(
                f"{prefix}.{units + 2}",
                layers,
                widths[i + 1],
                config.encoder_transformer_heads * config.head_dim,
                config.encoder_transformer_ff,
            )
    last = len(config.encoder_rates) + 1
    yield f"encoder.block.{last}.alpha", (1, widths[-1], 1)
    yield from _conv(f"encoder.block.{last + 1}.conv", config.latent_dim, widths[-1], 3)


def _quantizer(config: CodecConfig) -> Iterator[tuple[str, Shape]]:
    latent, width = config.latent_dim, config.codebook_dim
    factors = config.resample_factors
    for name, size in zip(quantizer_names(config), config.codebook_sizes, strict=True):
        if config.has_encoder:
            yield from _conv(f"{name}.in_proj", width, latent, 1)
        yield from _conv(f"{name}.out_proj", latent, width, 1)
        yield f"{name}.codebook.weight", (size, width)
    attention = config.latent_heads * config.head_dim
    if config.has_encoder:
        for i, factor in enumerate(factors):
            yield from _conv(f"quantizer.downsample.{i}.0.conv", latent, latent, factor)
            yield from _convnext(f"quantizer.downsample.{i}.1", latent)
        yield from _transformer(
            "quantizer.pre_module", config.pre_layers, latent, attention, config.latent_ff
        )
    yield from _transformer(
        "quantizer.post_module", config.post_layers, latent, attention, config.latent_ff
    )
    for i, factor in enumerate(reversed(factors)):
        yield from _conv(f"quantizer.upsample.{i}.0.conv", latent, latent, factor)
        yield from _convnext(f"quantizer.upsample.{i}.1", latent)


def _vocoder(config: CodecConfig) -> Iterator[tuple[str, Shape]]:
    for i in range(config.vocoder_blocks):
        yield from _convnext(f"vocoder.blocks.{i}", config.latent_dim)
    size = config.vocoder_bands + config.vocoder_noise_bands + 2
    yield "vocoder.head.weight", (config.vocoder_steps * size, config.latent_dim)
    yield "vocoder.head.bias", (config.vocoder_steps * size,)


def _decoder(config: CodecConfig) -> Iterator[tuple[str, Shape]]:
    widths = config.decoder_widths
    yield from _conv("decoder.model.0.conv", widths[0], config.latent_dim, KERNEL_STEPS)
    for i, rate in enumerate(config.decoder_rates):
        prefix = f"decoder.model.{i + 1}.block"
        yield f"{prefix}.0.alpha", (1, widths[i], 1)
        # a transposed convolution stores [in, out, kernel]
        yield f"{prefix}.1.conv.weight", (widths[i], widths[i + 1], 2 * rate)
        yield f"{prefix}.1.conv.bias", (widths[i + 1],)
        for unit in range(len(config.decoder_dilations)):
            yield from _residual_unit(f"{prefix}.{unit + 2}", widths[i + 1])
    last = len(config.decoder_rates) + 1
    yield f"decoder.model.{last}.alpha", (1, widths[-1], 1)
    yield from _conv(f"decoder.model.{last + 1}.conv", 1, widths[-1], KERNEL_STEPS)


def _convnext(prefix: str, width: int) -> Iterator[tuple[str, Shape]]:
    inner = CONVNEXT_EXPANSION * width
    yield from _conv(f"{prefix}.dwconv.conv", width, 1, KERNEL_STEPS)
    yield f"{prefix}.norm.weight", (width,)
    yield f"{prefix}.norm.bias", (width,)
    yield f"{prefix}.pwconv1.weight", (inner, width)
    yield f"{prefix}.pwconv1.bias", (inner,)
    yield f"{prefix}.pwconv2.weight", (width, inner)
    yield f"{prefix}.pwconv2.bias", (width,)
    yield f"{prefix}.gamma", (width,)


def _transformer(
    prefix: str, layers: int, width: int, attention: int, ff: int
) -> Iterator[tuple[str, Shape]]:
    for i in range(layers):
        layer = f"{prefix}.layers.{i}"
        yield f"{layer}.attention.wqkv.weight", (3 * attention, width)
        yield f"{layer}.attention.wo.weight", (width, attention)
        yield f"{layer}.feed_forward.w1.weight", (ff, width)
        yield f"{layer}.feed_forward.w3.weight", (ff, width)
        yield f"{layer}.feed_forward.w2.weight", (width, ff)
        for name in ("attention_norm.weight", "ffn_norm.weight"):
            yield f"{layer}.{name}", (width,)
        for name in ("attention_layer_scale.gamma", "ffn_layer_scale.gamma"):
            yield f"{layer}.{name}", (width,)
    if layers:
        yield f"{prefix}.norm.weight", (width,)


def quantizer_names(config: CodecConfig) -> list[str]:
    """Prefixes of the quantisers' tensors, semantic first."""
    return [
        "quantizer.semantic_quantizer.quantizers.0",
        *(f"quantizer.quantizer.quantizers.{i}" for i in range(config.n_residual_codebooks)),
    ]
