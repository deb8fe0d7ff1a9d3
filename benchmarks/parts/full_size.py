"""A checkpoint of S2-Pro's size with random weights, for speed: 9.1 GB and the codec's 1.6.

Its sizes are the published ones; its tokenizer, and with it the number of text tokens, is that of
the tiny checkpoint, which costs no step anything: the text table is only looked up, and the head
scores the 4096 semantic ids and the end, as S2-Pro's does.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from benchmarks.parts.checkpoints import TINY, add_voices
from engine.checkpoint.config_json import LanguageModelConfig, parse_config
from engine.codec.sizes import CodecConfig
from engine.workshop.dryrun.layout import codec_layout, lm_layout
from engine.workshop.dryrun.materialise import write_shards
from engine.workshop.dryrun.published import CONFIG_PATH

VOICES = 8
_TRANSCRIPT = "This recording is ten seconds long, and nobody has ever heard it."
_SECTIONS = ("text_config", "audio_decoder_config")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def published_sizes() -> dict[str, Any]:
    """S2-Pro's configuration."""
    sizes: dict[str, Any] = json.loads(CONFIG_PATH.read_text())
    return sizes


def config_json(sizes: dict[str, Any]) -> dict[str, Any]:
    """A configuration with these sizes and the tiny checkpoint's ids."""
    merged: dict[str, Any] = json.loads((TINY / "config.json").read_text())
    for section in _SECTIONS:
        merged[section] |= sizes[section]
    tiny = json.loads((TINY / "config.json").read_text())
    merged["text_config"]["vocab_size"] = tiny["text_config"]["vocab_size"]
    return merged


def full_size(
    folder: Path,
    sizes: dict[str, Any],
    codec: CodecConfig,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> tuple[Path, LanguageModelConfig]:
    """Write it, with voices of 10 s. A `codec` of other sizes than the published ones needs its
    codec_config.json beside it."""
    checkpoint = folder / "random"
    checkpoint.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config_json(sizes))
    (checkpoint / "config.json").write_text(text)
    config = parse_config(text.encode(), "config.json")
    layout = lm_layout(config)
    weight_map: dict[str, str] = {}
    for path in write_shards(layout, checkpoint, progress):
        with safe_open(path, "pt") as shard:
            weight_map |= dict.fromkeys(shard.keys(), path.name)
    index = {"metadata": {}, "weight_map": weight_map}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index))
    for name in _TOKENIZER:
        shutil.copyfile(TINY / name, checkpoint / name)
    progress("writing the codec", 0, 1)
    noise = torch.Generator().manual_seed(1)
    torch.save(
        {
            name: torch.empty(shape).normal_(0, 0.02, generator=noise)
            for name, (dtype, shape) in codec_layout(codec).items()
            if dtype == "F32"
        },
        checkpoint / "codec.pth",
    )
    add_voices(checkpoint, {f"voice{i}": (_TRANSCRIPT, 10.0) for i in range(VOICES)})
    return checkpoint, config
