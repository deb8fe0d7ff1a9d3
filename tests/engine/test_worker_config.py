"""A worker's settings are refused before anything is loaded."""

from __future__ import annotations

from typing import Any

import pytest

from engine.worker_config import DEFAULT_CHECKPOINT, EngineConfig


def test_the_default_checkpoint_comes_with_the_package() -> None:
    assert (DEFAULT_CHECKPOINT / "config.json").is_file()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "tpu"}, "device: expected one of auto, cpu, cuda, got 'tpu'"),
        ({"dtype": "int4"}, "dtype: expected one of auto, float32, bfloat16, got 'int4'"),
        ({"max_streams": 0}, "max_streams: expected at least 1, got 0"),
        ({"max_waiting": -1}, "max_waiting: expected at least 0, got -1"),
        ({"kv_tokens": 0}, "kv_tokens: expected at least 1, got 0"),
        ({"threads": 0}, "threads: expected at least 1, got 0"),
    ],
)
def test_a_bad_setting_says_what_was_expected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EngineConfig(**settings)
