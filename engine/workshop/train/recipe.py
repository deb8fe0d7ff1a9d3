"""The training configuration: one TOML file, and the checkpoint's own configurations made from
it.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from engine.checkpoint.config_json import LanguageModelConfig, parse_config
from engine.codec.sizes import CodecConfig
from engine.text.frontend import vocabulary
from engine.text.tokenizer import AUDIO_PAD, IM_END, PAD


@dataclass(frozen=True, slots=True)
class VoiceConfig:
    """A parsed training configuration. `sections`: the file's tables, for the stages' plans."""

    codec: CodecConfig
    model: LanguageModelConfig
    model_json: str
    sections: dict[str, dict[str, Any]]

    @classmethod
    def load(cls, path: Path | None = None) -> VoiceConfig:
        """Read a file, by default the built-in voice's. Raises CheckpointError on sizes that do
        not fit.
        """
        source = path or files("engine.workshop.train").joinpath("voice.toml")
        data: dict[str, dict[str, Any]] = tomllib.loads(source.read_text("utf-8"))
        sizes: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in data["codec"].items()
        }
        codec = CodecConfig(**sizes)
        text = model_json(data, codec)
        return cls(codec, parse_config(text.encode(), "training configuration"), text, data)


def model_json(data: dict[str, dict[str, Any]], codec: CodecConfig) -> str:
    """The checkpoint's config.json."""
    ids = vocabulary.ids()
    start, count = vocabulary.SEMANTIC_START, codec.semantic_codebook_size
    books = codec.n_codebooks
    plain = {"attention_qkv_bias": False, "attention_o_bias": False}
    config = {
        "model_type": "fish_qwen3_omni",
        "dtype": "bfloat16",
        "eos_token_id": ids[IM_END],
        "pad_token_id": ids[PAD],
        "audio_pad_token_id": ids[AUDIO_PAD],
        "semantic_start_token_id": start,
        "semantic_end_token_id": start + count - 1,
        "text_config": {
            "model_type": "fish_qwen3",
            **data["slow"],
            **plain,
            "attention_qk_norm": True,
            "tie_word_embeddings": True,
            "vocab_size": start + count,
        },
        "audio_decoder_config": {
            "model_type": "fish_qwen3_audio_decoder",
            **data["fast"],
            **plain,
            "attention_qk_norm": False,
            "tie_word_embeddings": False,
            "vocab_size": max(codec.codebook_sizes),
            "num_codebooks": books,
            "text_dim": data["slow"]["dim"],
            "max_seq_len": books + 1,
        },
        "voice_gateway": {
            "text_frontend": "phones",
            "wants_words": True,
            "alignment_heads": data.get("guide", {}).get("alignment_heads", [[1, 0], [1, 1]]),
            "sampling": data.get("sampling", {}),
        },
    }
    return json.dumps(config, indent=2)
