"""The full layout on the meta device: every tensor through the loader, every byte accounted for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from engine.checkpoint.config_json import LanguageModelConfig
from engine.checkpoint.folder import SCALE_SUFFIX, expected_tensors, quantised_matrices
from engine.checkpoint.safetensors_header import DTYPE_BYTES
from engine.codec.sizes import CodecConfig
from engine.codec.weights import expected_tensors as codec_tensors
from engine.codec.weights import quantizer_names
from engine.models.fast_ar import FastAR
from engine.models.plain import default_dtype
from engine.models.slow_ar import SlowAR
from engine.models.weights import build_dual_ar, load_dual_ar
from engine.workshop.dryrun import published

Entry = tuple[str, tuple[int, ...]]  # dtype as safetensors spells it, shape

TORCH_DTYPES = {
    "BF16": torch.bfloat16, "F32": torch.float32, "I8": torch.int8,
    "F8_E4M3": torch.float8_e4m3fn, "BOOL": torch.bool,
}  # fmt: skip
# rows of the tables that the reference's codec saved beside its weights: encoder, other two
_LEGACY_POSITIONS = (16384, 4096)


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison. `most`: `got` may be up to this, where equality is not what is expected."""

    what: str
    expected: int
    got: int
    most: int | None = None

    @property
    def passed(self) -> bool:
        """Whether it came out as expected."""
        if self.most is None:
            return self.got == self.expected
        return self.expected <= self.got <= self.most


def lm_layout(config: LanguageModelConfig) -> dict[str, Entry]:
    """Every tensor of the language model as it would be stored, bf16 unless quantised."""
    quantised = quantised_matrices(config)
    layout = {}
    for name, shape in expected_tensors(config).items():
        scale = name.removesuffix(SCALE_SUFFIX) in quantised and name not in quantised
        layout[name] = (quantised.get(name, "F32" if scale else "BF16"), shape)
    return layout


def codec_layout(config: CodecConfig) -> dict[str, Entry]:
    """Every tensor of codec.pth as the reference stores it: weight norm in two parts, and the
    position tables and masks that it saved and nobody needs.
    """
    quantisers = tuple(quantizer_names(config))
    layout: dict[str, Entry] = {}
    for name, shape in codec_tensors(config):
        module = name.removesuffix(".weight")
        if module == name or len(shape) != 3:
            layout[name] = ("F32", shape)
            continue
        norm = (shape[0], 1, 1)
        if name.startswith(("encoder.", "decoder.")):
            layout[f"{module}.parametrizations.weight.original0"] = ("F32", norm)
            layout[f"{module}.parametrizations.weight.original1"] = ("F32", shape)
        elif name.startswith(quantisers):
            layout[f"{module}.weight_g"] = ("F32", norm)
            layout[f"{module}.weight_v"] = ("F32", shape)
        else:
            layout[name] = ("F32", shape)
    return layout | _legacy_buffers(config)


def _legacy_buffers(config: CodecConfig) -> dict[str, Entry]:
    long, short = _LEGACY_POSITIONS
    modules = {"quantizer.pre_module": short, "quantizer.post_module": short}
    units = len(config.residual_dilations)
    for index, layers in enumerate(config.encoder_transformer_layers):
        if layers:
            modules[f"encoder.block.{index + 1}.block.{units + 2}"] = long
    layout: dict[str, Entry] = {}
    for module, positions in modules.items():
        layout[f"{module}.freqs_cis"] = ("BF16", (positions, config.head_dim // 2, 2))
        layout[f"{module}.causal_mask"] = ("BOOL", (positions, positions))
    return layout


def num_bytes(layout: dict[str, Entry]) -> int:
    """Bytes of all tensors of a layout."""
    return sum(math.prod(shape) * DTYPE_BYTES[dtype] for dtype, shape in layout.values())


def build_on_meta(config: LanguageModelConfig, frames_at_once: int) -> tuple[SlowAR, FastAR]:
    """The engine's modules in bf16 without memory, loaded with a tensor of every name.

    Raises KeyError for a name that has no place, RuntimeError for a shape that does not fit.
    """
    with default_dtype(torch.bfloat16), torch.device("meta"):
        slow_ar, fast_ar = build_dual_ar(config, frames_at_once)
        tensors = (
            (name, torch.empty(shape, dtype=TORCH_DTYPES[dtype]))
            for name, (dtype, shape) in lm_layout(config).items()
        )
        load_dual_ar(slow_ar, fast_ar, tensors)
    return slow_ar, fast_ar


def module_elements(slow: SlowAR, fast: FastAR) -> int:
    """Elements of all parameters."""
    return sum(p.numel() for module in (slow, fast) for p in module.parameters())


def repeated_elements(config: LanguageModelConfig) -> int:
    """Elements that the modules hold more often than the file: the rows of the semantic head,
    copied out of the embeddings, and the q and k norms, one row a head.
    """
    slow, fast = config.text_config, config.audio_decoder_config
    head = (config.num_semantic + 1) * slow.dim
    norms = sum(
        part.n_layer * (part.n_head + part.n_local_heads - 2) * part.head_dim
        for part in (slow, fast)
        if part.attention_qk_norm
    )
    return head + norms


def check_layout(config: LanguageModelConfig, codec: CodecConfig) -> list[Check]:
    """Everything that can be checked without weights; against what is published where `config`
    and `codec` are S2-Pro's. Raises what `build_on_meta` raises.
    """
    layout = lm_layout(config)
    elements = sum(math.prod(shape) for _, shape in layout.values())
    built = module_elements(*build_on_meta(config, frames_at_once=1))
    checks = [
        Check("elements in the engine's modules", elements + repeated_elements(config), built)
    ]
    known = published.s2_pro()
    if (config.text_config, config.audio_decoder_config) == (
        known.text_config,
        known.audio_decoder_config,
    ):
        checks += [
            Check("language model: tensors", published.LM_TENSORS, len(layout)),
            Check("language model: parameters", published.LM_PARAMETERS, elements),
            Check("language model: bytes", published.LM_BYTES, num_bytes(layout)),
        ]
    if codec == CodecConfig():
        checks += _codec_checks(codec_layout(codec))
    return checks


def _codec_checks(layout: dict[str, Entry]) -> list[Check]:
    file = published.CODEC_FILE_BYTES
    fp32 = sum(dtype == "F32" for dtype, _ in layout.values())
    return [
        Check("codec: tensors", published.CODEC_TENSORS, len(layout)),
        Check("codec: fp32 tensors", published.CODEC_FP32_TENSORS, fp32),
        Check(
            "codec: bytes, less the archive's own",
            file - published.CODEC_ARCHIVE_BYTES,
            num_bytes(layout),
            most=file,
        ),
    ]
