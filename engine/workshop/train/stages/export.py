"""Write the checkpoint in S2-Pro's layout: config, tokenizer, safetensors, codec.pth,
codec_config.json.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from engine.checkpoint.folder import SINGLE_FILE
from engine.codec.sizes import CONFIG_FILE as CODEC_CONFIG_FILE
from engine.codec.sizes import CodecConfig
from engine.codec.weights import WEIGHTS_FILE
from engine.text.frontend.vocabulary import tokenizer_files
from engine.workshop.train.networks.vocoder_codec import VocoderDecoder, physical, scales
from engine.workshop.train.networks.wave_decoder import WaveDecoder
from engine.workshop.train.networks.wave_encoder import WaveEncoder
from engine.workshop.train.recipe import VoiceConfig

Decoder = WaveDecoder | VocoderDecoder


def sphere(rows: Tensor) -> tuple[Tensor, float]:
    """Rows [K, D] -> rows [K, D + 2] of one length, and the constant of the query, so that cosine
    search is Euclidean search.

    The codec looks for the entry with the greatest cosine. With the query (x, b, 0) and the
    entries (c, -|c|^2 / 2b, g), all of one length thanks to g, that is the entry with the
    greatest x c - |c|^2 / 2: the nearest to x. b is the greatest |c|.
    """
    squared = rows.double().square().sum(1)
    b = float(squared.max().sqrt().clamp(min=1e-6))
    lifted = -squared / (2 * b)
    length = squared + lifted.square()
    rest = (length.max() - length).clamp(min=0).sqrt()
    return torch.cat([rows.double(), lifted[:, None], rest[:, None]], 1).float(), b


def quantiser_tensors(decoder: Decoder, has_encoder: bool) -> dict[str, Tensor]:
    """The quantisers: lifted rows, and projections out of and into the latent.

    A projection is W x, W learned; into the latent's space of rows leads its pseudo-inverse.
    """
    config = decoder.config
    weight = decoder.out_proj.weight.detach()  # [latent, D]
    inverse = torch.linalg.pinv(weight.double()).float()
    # one tensor for all quantisers: the file holds it once
    out = torch.cat([weight, torch.zeros(weight.shape[0], 2)], 1)[..., None]
    into = torch.cat([inverse, torch.zeros(2, inverse.shape[1])])[..., None]
    tensors: dict[str, Tensor] = {}
    sizes = list(config.codebook_sizes)
    for index, rows in enumerate(torch.split(decoder.vectors, sizes)):
        name = (
            "quantizer.semantic_quantizer.quantizers.0"
            if index == 0
            else f"quantizer.quantizer.quantizers.{index - 1}"
        )
        lifted, b = sphere(rows)
        tensors[f"{name}.codebook.weight"] = lifted
        tensors |= _weight_norm(f"{name}.out_proj", out, ("_g", "_v"))
        tensors[f"{name}.out_proj.bias"] = torch.zeros(weight.shape[0])
        if has_encoder:
            # Rows of zero would have no direction for weight norm: the file may spell a weight
            # plainly.
            tensors[f"{name}.in_proj.weight"] = into
            tensors[f"{name}.in_proj.bias"] = torch.cat(
                [torch.zeros(rows.shape[1]), torch.tensor([b, 0.0])]
            )
    return tensors


_PARAMETRISED = (".parametrizations.weight.original0", ".parametrizations.weight.original1")


def _weight_norm(module: str, weight: Tensor, spelling: tuple[str, str]) -> dict[str, Tensor]:
    norm = weight.flatten(1).norm(dim=1).view(-1, *(1,) * (weight.dim() - 1))
    prefix = ".weight" if spelling[0].startswith("_") else ""
    return {f"{module}{prefix}{spelling[0]}": norm, f"{module}{prefix}{spelling[1]}": weight}


def codec_tensors(decoder: Decoder, has_encoder: bool) -> dict[str, Tensor]:
    """Everything of codec.pth that speaks, under its names, fp32."""
    tensors = quantiser_tensors(decoder, has_encoder)
    state = decoder.state_dict()
    if isinstance(decoder, VocoderDecoder):
        state |= physical_head(decoder)
    for name, value in state.items():
        if name in ("vectors", "out_proj.weight"):
            continue
        value = value.detach().float()
        if name.startswith("decoder.") and name.endswith(".conv.weight"):
            tensors |= _weight_norm(name.removesuffix(".weight"), value, _PARAMETRISED)
        else:
            prefix = "" if name.startswith(("decoder.", "vocoder.")) else "quantizer."
            tensors[prefix + name] = value
    return tensors


def physical_head(decoder: VocoderDecoder) -> dict[str, Tensor]:
    """The head with the parameters' scales folded in: the engine's vocoder takes physical ones."""
    head = decoder.vocoder["head"]
    assert isinstance(head, nn.Linear)
    parameters = decoder.parameters_of_step
    steps = decoder.config.vocoder_steps
    weight = head.weight.detach().unflatten(0, (steps, parameters.size))
    _, spread = scales(parameters)
    bias = physical(head.bias.detach().unflatten(0, (steps, parameters.size)), parameters)
    return {
        "vocoder.head.weight": (weight * spread[:, None]).flatten(0, 1),
        "vocoder.head.bias": bias.flatten(),
    }


def encoder_tensors(encoder: WaveEncoder) -> dict[str, Tensor]:
    """What codec.pth holds for taking recordings in, beside the quantisers, fp32."""
    tensors: dict[str, Tensor] = {}
    for name, value in encoder.state_dict().items():
        value = value.detach().float()
        if name.startswith("encoder.") and name.endswith(".conv.weight"):
            tensors |= _weight_norm(name.removesuffix(".weight"), value, _PARAMETRISED)
        else:
            tensors[("" if name.startswith("encoder.") else "quantizer.") + name] = value
    return tensors


def codec_config_json(config: CodecConfig) -> str:
    """The sizes that differ from S2-Pro's."""
    default = asdict(CodecConfig())
    return json.dumps({k: v for k, v in asdict(config).items() if v != default[k]}, indent=2)


def write_checkpoint(
    target: Path,
    config: VoiceConfig,
    model: Mapping[str, Tensor],
    decoder: Decoder,
    encoder: WaveEncoder | None = None,
) -> None:
    """Write a checkpoint beside `target`, then move it there.

    bf16 for the language model, as in S2-Pro; fp16 for the codec, which the engine widens.
    """
    part = target.with_name(target.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    (part / "config.json").write_text(config.model_json, "utf-8")
    (part / CODEC_CONFIG_FILE).write_text(codec_config_json(config.codec), "utf-8")
    for name, text in tokenizer_files(config.codec.semantic_codebook_size).items():
        (part / name).write_text(text, "utf-8")
    save_file(
        {name: value.bfloat16().contiguous() for name, value in model.items()},
        part / SINGLE_FILE,
    )
    (part / SINGLE_FILE).chmod(0o644)  # the library writes for its user alone
    codec = codec_tensors(decoder, config.codec.has_encoder) | (
        {} if encoder is None else encoder_tensors(encoder)
    )
    halves = {id(value): value.half().contiguous() for value in codec.values()}
    torch.save({name: halves[id(value)] for name, value in codec.items()}, part / WEIGHTS_FILE)
    (part / "README.md").write_text(
        files("engine.workshop.train").joinpath("model_card.md").read_text("utf-8"), "utf-8"
    )
    old = target.with_name(target.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        os.replace(target, old)
    os.replace(part, target)
    shutil.rmtree(old, ignore_errors=True)


def export(work: Path, config: VoiceConfig, decoder: Decoder, target: Path) -> None:
    """Write the checkpoint of a work folder as it is, with this trained decoder; without an encoder
    while there is none.
    """
    encoder: WaveEncoder | None = None
    if (work / "encoder" / "last.pt").exists():
        encoder = WaveEncoder(config.codec)
        encoder.load_state_dict(_state(work / "encoder", "encoder"))
    elif config.codec.has_encoder:
        config = replace(config, codec=speaking_only(config.codec))
    write_checkpoint(target, config, _state(work / "ar", "model"), decoder, encoder)


def speaking_only(codec: CodecConfig) -> CodecConfig:
    """The same codec without its encode path."""
    return replace(
        codec, encoder_dim=0, encoder_rates=(), encoder_transformer_layers=(), pre_layers=0
    )


def _state(folder: Path, part: str) -> dict[str, Tensor]:
    state: dict[str, Tensor] = torch.load(folder / "last.pt", weights_only=True)[part]
    return state
