"""Checkpoints to measure with: the tiny one with voices of any length, and larger ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from engine.codec.sizes import CodecConfig

TINY = Path(__file__).parents[2] / "tests" / "golden" / "s2-pro-tiny"

_PREFIX = "text_model.model.layers."
_ADDED = "model-added.safetensors"


def with_voices(folder: Path, voices: Mapping[str, tuple[str, float]], source: Path = TINY) -> Path:
    """A copy of a checkpoint with voices: name -> (transcript, seconds), random codes."""
    checkpoint = folder / source.resolve().name
    shutil.copytree(source, checkpoint)
    add_voices(checkpoint, voices)
    return checkpoint


def add_voices(checkpoint: Path, voices: Mapping[str, tuple[str, float]]) -> None:
    """Put voices of random codes beside a checkpoint: name -> (transcript, seconds)."""
    codec = CodecConfig.from_checkpoint(checkpoint)
    place = checkpoint / "voices"
    place.mkdir(exist_ok=True)
    for seed, (name, (transcript, seconds)) in enumerate(voices.items()):
        rng = np.random.default_rng(seed)
        frames = round(seconds * codec.frame_rate_hz)
        codes = rng.integers(0, codec.codebook_sizes, (frames, codec.n_codebooks))
        np.save(place / f"{name}.npy", codes.astype(np.uint16))
        (place / f"{name}.txt").write_text(transcript, encoding="utf-8")


def grown(source: Path, folder: Path, slow_layers: int) -> Path:
    """A copy of a tiny checkpoint whose slow AR repeats its layers until it has `slow_layers`:
    the same load as on a machine that is so much slower."""
    from safetensors.torch import load_file, save_file

    checkpoint = folder / f"s2-pro-{slow_layers}-layers"
    shutil.copytree(source, checkpoint)
    config = json.loads((checkpoint / "config.json").read_text())
    have = config["text_config"]["n_layer"]
    config["text_config"]["n_layer"] = slow_layers
    (checkpoint / "config.json").write_text(json.dumps(config))
    index_path = checkpoint / "model.safetensors.index.json"
    index = json.loads(index_path.read_text())
    stored = load_file(checkpoint / index["weight_map"]["text_model.model.norm.weight"])
    added = {
        _PREFIX + f"{layer}.{rest}": tensor.clone()
        for name, tensor in stored.items()
        if name.startswith(_PREFIX)
        for layer_of_it, rest in [name.removeprefix(_PREFIX).split(".", 1)]
        for layer in range(int(layer_of_it) + have, slow_layers, have)
    }
    save_file(added, checkpoint / _ADDED)
    index["weight_map"] |= dict.fromkeys(added, _ADDED)
    index["metadata"]["total_parameters"] += sum(tensor.numel() for tensor in added.values())
    index["metadata"]["total_size"] += sum(tensor.nbytes for tensor in added.values())
    index_path.write_text(json.dumps(index))
    return checkpoint
