"""`config.json`: every key that is checked, and the project's own extension object."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.checkpoint.config_json import LanguageModelConfig, SamplingDefaults, parse_config
from engine.errors import CheckpointError

CONFIG = Path(__file__).parents[2] / "golden" / "s2-pro-tiny" / "config.json"


def parse_with(dotted: str, value: Any) -> LanguageModelConfig:
    """The tiny configuration with one key set, or removed when `value` is `...`."""
    config = json.loads(CONFIG.read_bytes())
    *parents, key = dotted.split(".")
    node = config
    for parent in parents:
        node = node.setdefault(parent, {})
    if value is ...:
        del node[key]
    else:
        node[key] = value
    return parse_config(json.dumps(config).encode())


def test_sizes_and_ids_of_the_tiny_model() -> None:
    config = parse_config(CONFIG.read_bytes())
    slow, fast = config.text_config, config.audio_decoder_config
    assert (slow.n_layer, slow.dim, slow.vocab_size, slow.max_seq_len) == (3, 64, 4672, 4096)
    assert (slow.attention_dim, slow.qkv_dim) == (4 * 128, 8 * 128)
    assert (slow.attention_qk_norm, fast.attention_qk_norm) == (True, False)
    assert (config.num_codebooks, config.codebook_size, config.num_semantic) == (10, 4096, 4096)
    assert (config.eos_token_id, config.semantic_start_token_id) == (514, 547)
    edges = [config.is_semantic(token_id) for token_id in (546, 547, 4642, 4643)]
    assert edges == [False, True, True, False]


def test_the_extension_is_optional() -> None:
    gateway = parse_config(CONFIG.read_bytes()).voice_gateway
    assert (gateway.text_frontend, gateway.alignment_heads) == ("bpe", ())
    assert gateway.sampling == SamplingDefaults()
    assert gateway.extra == {}


def test_the_extension_is_read_and_other_keys_are_kept() -> None:
    gateway = parse_with(
        "voice_gateway",
        {
            "text_frontend": "phones",
            "alignment_heads": [[1, 0], [2, 3]],
            "sampling": {"temperature": 0, "top_k": 1, "residual_temperature": 0.5},
            "codec": {"frame_samples": 1024},
        },
    ).voice_gateway
    assert gateway.text_frontend == "phones"
    assert gateway.alignment_heads == ((1, 0), (2, 3))
    assert gateway.sampling == SamplingDefaults(temperature=0, top_k=1, residual_temperature=0.5)
    assert gateway.extra == {"codec": {"frame_samples": 1024}}


def test_fewer_semantic_tokens_than_codes_are_legal() -> None:
    config = parse_with("semantic_end_token_id", 547 + 489)
    assert (config.num_semantic, config.codebook_size) == (490, 4096)


# Key of config.json, bad value (`...`: removed), fragments that the message must hold.
BAD_CONFIG: list[tuple[str, Any, list[str]]] = [
    ("model_type", "llama", ["model_type", "llama"]),
    ("model_type", ..., ["missing required field `model_type`"]),
    ("text_config", ..., ["missing required field `text_config`"]),
    ("text_config", 7, ["`object`", "$.text_config", "got 7"]),
    ("text_config.dim", ..., ["missing required field `dim`", "$.text_config"]),
    ("text_config.dim", "64", ["Expected `int`, got `str`", "$.text_config.dim", "got '64'"]),
    ("text_config.dim", 64.5, ["$.text_config.dim", "got 64.5"]),
    ("text_config.dim", True, ["Expected `int`, got `bool`", "$.text_config.dim"]),
    ("text_config.dim", 0, ["`int` >= 1", "$.text_config.dim", "got 0"]),
    ("text_config.n_layer", -3, ["`int` >= 1", "$.text_config.n_layer", "got -3"]),
    ("text_config.n_layer", 10**9, ["`int` <= 1024", "$.text_config.n_layer"]),
    ("text_config.norm_eps", 0, ["$.text_config.norm_eps", "got 0"]),
    ("text_config.rope_base", None, ["Expected `float`, got `null`", "$.text_config.rope_base"]),
    ("text_config.model_type", "fish_qwen4", ["$.text_config.model_type", "fish_qwen4"]),
    ("text_config.n_local_heads", 3, ["n_head to be a multiple", "got 4 and 3"]),
    ("text_config.head_dim", 127, ["even text_config.head_dim", "got 127"]),
    ("text_config.attention_qkv_bias", True, ["text_config.attention_qkv_bias false, got true"]),
    ("text_config.attention_o_bias", True, ["text_config.attention_o_bias false"]),
    ("text_config.use_moe", True, ["text_config.use_moe false"]),
    ("text_config.tie_word_embeddings", False, ["text_config.tie_word_embeddings true"]),
    ("audio_decoder_config.tie_word_embeddings", True, ["tie_word_embeddings false, got true"]),
    ("audio_decoder_config.text_dim", 128, ["text_dim 64 (text_config.dim), got 128"]),
    ("audio_decoder_config.max_seq_len", 9, ["at least num_codebooks (10), got 9"]),
    ("audio_decoder_config.num_codebooks", 0, ["audio_decoder_config.num_codebooks", "got 0"]),
    ("audio_decoder_config.vocab_size", 1 << 17, ["<= 65536", "got 131072"]),
    ("audio_decoder_config.vocab_size", 4095, ["at most 4095 semantic tokens", "got 4096"]),
    ("semantic_end_token_id", 4672, ["text_config.vocab_size (4672)", "got 547 and 4672"]),
    ("semantic_end_token_id", 546, ["got 547 and 546"]),
    ("eos_token_id", 547, ["eos_token_id below 4672 and outside", "547..4642", "got 547"]),
    ("eos_token_id", -1, ["`int` >= 0", "$.eos_token_id", "got -1"]),
    ("pad_token_id", 4700, ["pad_token_id below 4672", "got 4700"]),
    ("audio_pad_token_id", 4642, ["audio_pad_token_id", "got 4642"]),
    ("dtype", "int8", ["dtype", "int8"]),
    ("voice_gateway", [], ["`object`, got `array`", "$.voice_gateway"]),
    ("voice_gateway.text_frontend", 5, ["$.voice_gateway.text_frontend", "got 5"]),
    ("voice_gateway.alignment_heads", [[3, 0]], ["3 layers and 4 heads, got [3, 0]"]),
    ("voice_gateway.alignment_heads", [[0, 4]], ["3 layers and 4 heads, got [0, 4]"]),
    ("voice_gateway.alignment_heads", [[0]], ["length 2", "alignment_heads"]),
    ("voice_gateway.alignment_heads", [[0, -1]], ["`int` >= 0", "alignment_heads"]),
    ("voice_gateway.sampling.temperature", -0.1, ["sampling.temperature", "got -0.1"]),
    ("voice_gateway.sampling.top_p", 0, ["sampling.top_p", "got 0"]),
    ("voice_gateway.sampling.top_p", 1.5, ["sampling.top_p", "got 1.5"]),
    ("voice_gateway.sampling.top_k", 0, ["sampling.top_k", "got 0"]),
    ("voice_gateway.sampling.topk", 1, ["top_k", "got 'topk'"]),
]


@pytest.mark.parametrize(("key", "value", "fragments"), BAD_CONFIG)
def test_bad_values(key: str, value: Any, fragments: list[str]) -> None:
    with pytest.raises(CheckpointError) as caught:
        parse_with(key, value)
    for fragment in ["config.json: ", *fragments]:
        assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("data", "fragment"),
    [
        (b"", "expected JSON"),
        (CONFIG.read_bytes()[:-2], "expected JSON, got: Input data was truncated"),
        (b'{"model_type": "\xff"}', "expected JSON"),
        (b"[]", "Expected `object`, got `array`"),
        (b"null", "Expected `object`, got `null`"),
    ],
)
def test_not_a_configuration(data: bytes, fragment: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        parse_config(data, "somewhere/config.json")
    assert str(caught.value).startswith("somewhere/config.json: ")
    assert fragment in str(caught.value)


def test_all_inconsistencies_are_told_at_once() -> None:
    config = json.loads(CONFIG.read_bytes())
    config["text_config"] |= {"n_local_heads": 3, "head_dim": 127, "use_moe": True}
    with pytest.raises(CheckpointError) as caught:
        parse_config(json.dumps(config).encode())
    for fragment in ("n_head to be a multiple", "even text_config.head_dim", "use_moe false"):
        assert fragment in str(caught.value)


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys, engine.checkpoint.folder, engine.text.tokenizer, engine.text.prompt;"
        "import engine.host.cache_salt;"
        "print([m for m in ('torch', 'sglang', 'transformers', 'safetensors') if m in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"
