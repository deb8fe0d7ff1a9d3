"""A worker's settings are refused before anything is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.worker_config import (
    DEFAULT_CHECKPOINT,
    DEVICES,
    DTYPES,
    FOREIGN_TEXTS,
    STYLES,
    EngineConfig,
)


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


@given(
    st.builds(
        EngineConfig,
        checkpoint=st.text(min_size=1).map(Path),
        device=st.sampled_from(DEVICES),
        dtype=st.sampled_from(DTYPES),
        max_streams=st.integers(1, 999),
        max_waiting=st.integers(0, 999),
        kv_tokens=st.none() | st.integers(1, 10**9),
        voices=st.none() | st.text(min_size=1).map(Path),
        threads=st.integers(1, 64),
        style=st.sampled_from(STYLES),
        paced=st.booleans(),
        attention=st.none() | st.text(),
        graphs=st.booleans(),
        foreign_text=st.sampled_from(FOREIGN_TEXTS),
    )
)
def test_every_setting_survives_the_way_to_the_worker(config: EngineConfig) -> None:
    assert EngineConfig.from_json(config.to_json()) == config


def test_a_setting_that_has_its_default_is_not_spelt() -> None:
    assert EngineConfig().to_json() == "{}"
    assert EngineConfig(max_streams=3, paced=False).to_json() == '{"max_streams":3,"paced":false}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "truncated"),
        ("[]", "object"),
        ('{"max_stream": 3}', r"expected settings among checkpoint, .*, got \['max_stream'\]"),
        ('{"max_streams": "3"}', "max_streams"),
        ('{"max_streams": 0}', "max_streams: expected at least 1, got 0"),
        ('{"checkpoint": 3}', r"expected a path, got 3 - at `\$.checkpoint`"),
        ('{"device": "tpu"}', "device: expected one of"),
    ],
)
def test_what_is_no_configuration_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EngineConfig.from_json(text)
