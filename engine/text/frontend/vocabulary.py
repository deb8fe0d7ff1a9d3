"""The built-in voice's vocabulary: which id is which token, and the tokenizer file that says so.

Scaffold pieces of the prompt are single tokens here (the engine encodes each piece on its own),
so that a prompt costs six tokens beside its phones. White space between tokens means nothing.
"""

from __future__ import annotations

import json
from typing import Any

from engine.text.frontend.phones import PHONE_TOKENS, TAG_TOKENS
from engine.text.prompt import ASSISTANT, CLONE, SPEAK, SPEECH, SYSTEM, USER
from engine.text.tokenizer import AUDIO_PAD, IM_END, IM_START, PAD, VOICE

MAX_SPEAKERS = 8
SPEAKERS = tuple(f"<|speaker:{index}|>" for index in range(MAX_SPEAKERS))
CONTROL = (PAD, IM_START, IM_END, VOICE, AUDIO_PAD)
SCAFFOLD = (SYSTEM, SPEAK, CLONE, SPEECH, USER, ASSISTANT)
_RESERVED = 128  # ids before the first semantic token; the rest of them is spare


def text_tokens() -> tuple[str, ...]:
    """Tokens before the semantic ones, in the order of their ids."""
    tokens = (*CONTROL, *SCAFFOLD, *SPEAKERS, *TAG_TOKENS, *PHONE_TOKENS)
    if len(tokens) > _RESERVED:
        raise ValueError(f"expected at most {_RESERVED} text tokens, got {len(tokens)}")
    return tokens


SEMANTIC_START = _RESERVED


def ids() -> dict[str, int]:
    """Token -> id, without the semantic tokens."""
    return {token: index for index, token in enumerate(text_tokens())}


def semantic_token(code: int) -> str:
    """The token that stands for a code of codebook 0."""
    return f"<|semantic:{code}|>"


def tokenizer_files(num_semantic: int) -> dict[str, str]:
    """Contents of tokenizer.json, tokenizer_config.json and special_tokens_map.json."""
    table = ids()
    control = {token: table[token] for token in (*CONTROL, *SCAFFOLD)}
    control |= {semantic_token(code): SEMANTIC_START + code for code in range(num_semantic)}
    added = [
        {"id": index, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True}
        for token, index in control.items()
    ]  # fmt: skip
    spare = {f"<|spare:{index}|>": index for index in range(len(table), _RESERVED)}
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": table | spare | control, "unk_token": PAD},
    }
    special = {"eos_token": IM_END, "pad_token": PAD}
    config = {
        **special,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 4096,
    }
    files = {
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": config,
        "special_tokens_map.json": special,
    }
    return {name: json.dumps(value, ensure_ascii=False, indent=1) for name, value in files.items()}
