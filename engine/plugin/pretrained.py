"""The checkpoint's configuration as SGLang and transformers want to see it."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from transformers import PretrainedConfig

from engine.checkpoint.config_json import FastConfig, LanguageModelConfig, SlowConfig
from engine.plugin.frame_ids import ID_LIMIT

MODEL_TYPE: Final = "fish_qwen3_omni"


class DualARConfig(PretrainedConfig):
    """S2-Pro's config.json; its own field names, aliased to those that SGLang reads."""

    model_type = MODEL_TYPE

    def __init__(self, **kwargs: Any) -> None:
        slow = kwargs.pop("text_config", None) or {}
        fast = kwargs.pop("audio_decoder_config", None) or {}
        extension = kwargs.pop("voice_gateway", None) or {}
        self.alignment_heads = [tuple(pair) for pair in extension.get("alignment_heads", ())]
        self.slow_config, self.fast_config = dict(slow), dict(fast)
        self.semantic_start_token_id = kwargs.pop("semantic_start_token_id", None)
        self.semantic_end_token_id = kwargs.pop("semantic_end_token_id", None)
        self.hidden_size = slow.get("dim", 0)
        self.num_hidden_layers = slow.get("n_layer", 0)
        self.num_attention_heads = slow.get("n_head", 0)
        self.num_key_value_heads = slow.get("n_local_heads", 0)
        self.head_dim = slow.get("head_dim", 0)
        self.intermediate_size = slow.get("intermediate_size", 0)
        # what SGLang takes for legal ids; the tables have text_config.vocab_size rows
        self.vocab_size = ID_LIMIT
        self.max_position_embeddings = slow.get("max_seq_len", 0)
        self.rms_norm_eps = slow.get("norm_eps", 1e-6)
        super().__init__(**kwargs)

    @property
    def language_model(self) -> LanguageModelConfig:
        """The same as the rest of the engine sees it."""
        return LanguageModelConfig(
            model_type=MODEL_TYPE,
            text_config=msgspec.convert(self.slow_config, SlowConfig),
            audio_decoder_config=msgspec.convert(self.fast_config, FastConfig),
            eos_token_id=self.eos_token_id,
            pad_token_id=self.pad_token_id,
            audio_pad_token_id=self.audio_pad_token_id,
            semantic_start_token_id=self.semantic_start_token_id,
            semantic_end_token_id=self.semantic_end_token_id,
        )
