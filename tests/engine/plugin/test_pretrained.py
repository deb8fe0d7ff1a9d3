"""The configuration that SGLang reads says the same as the one that we check."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from engine.checkpoint.folder import Checkpoint
from engine.plugin.frame_ids import ID_LIMIT
from engine.plugin.pretrained import DualARConfig
from engine.worker_config import DEFAULT_CHECKPOINT
from tests.golden_data import TINY


@pytest.mark.parametrize("path", [TINY, DEFAULT_CHECKPOINT], ids=["tiny", "built-in"])
def test_both_readings_of_config_json_agree(path: Path) -> None:
    checkpoint = Checkpoint.open(path)
    config = DualARConfig(**json.loads((path / "config.json").read_text("utf-8")))
    ours = dataclasses.replace(
        checkpoint.config,
        voice_gateway=config.language_model.voice_gateway,
        dtype=config.language_model.dtype,
    )
    assert config.language_model == ours
    heads = checkpoint.config.voice_gateway.alignment_heads
    assert config.alignment_heads == [tuple(pair) for pair in heads]
    assert config.vocab_size == ID_LIMIT > ours.text_config.vocab_size
