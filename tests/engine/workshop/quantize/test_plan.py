"""Names of layers, and what a plan says in config.json."""

from __future__ import annotations

import json

import pytest

from engine.checkpoint.config_json import Quantization, parse_config
from engine.errors import CheckpointError
from engine.workshop.quantize.plan import Plan, parse_layers
from tests.golden_data import GOLDEN

RAW = json.loads((GOLDEN / "s2-pro-config.json").read_text("utf-8"))
CONFIG = parse_config(json.dumps(RAW).encode())


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("last:12", tuple(range(24, 36))),
        ("first:2", (0, 1)),
        ("0,3,30-32", (0, 3, 30, 31, 32)),
        (" 5 , 5,4", (4, 5)),
        ("none", ()),
        ("", ()),
        ("all", tuple(range(36))),
        ("last:0", ()),
    ],
)
def test_layers(text: str, layers: tuple[int, ...]) -> None:
    assert parse_layers(text, 36) == layers


@pytest.mark.parametrize("text", ["last:37", "36", "3-1", "last:x", "1;2", "-1", "middle:3"])
def test_wrong_layers(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_layers(text, 36)


def test_late12_attention_in_bf16() -> None:
    """The mixed variant that was published of S2-Pro."""
    plan = Plan("int8", keep_attention=parse_layers("last:12", 36))
    config = parse_config(json.dumps(plan.applied(RAW, CONFIG)).encode())
    slow, fast = config.quantization
    assert slow == Quantization(scheme="int8", keep_attention=tuple(range(24, 36)))
    assert fast == Quantization(scheme="int8")
    assert config.text_config.attention_scheme(23) == "int8"
    assert config.text_config.attention_scheme(24) is None
    assert config.text_config.feed_forward_scheme(24) == "int8"
    assert "quantization" not in RAW["text_config"]


def test_a_part_that_is_kept_whole_says_nothing() -> None:
    every = parse_layers("all", 4)
    applied = Plan("fp8", keep_fast_attention=every, keep_fast_feed_forward=every).applied(
        RAW, CONFIG
    )
    assert "quantization" not in applied["audio_decoder_config"]
    assert applied["text_config"]["quantization"]["scheme"] == "fp8"


def test_twice_is_refused() -> None:
    once = Plan("int8").applied(RAW, CONFIG)
    with pytest.raises(CheckpointError, match="in full precision, got a quantised one"):
        Plan("int8").applied(once, parse_config(json.dumps(once).encode()))


def test_config_refuses_layers_and_schemes_that_are_not_there() -> None:
    raw = json.loads(json.dumps(RAW))
    raw["text_config"]["quantization"] = {"scheme": "int8", "keep_attention": [36]}
    with pytest.raises(CheckpointError, match="keep layers below 36, got 36"):
        parse_config(json.dumps(raw).encode())
    raw["text_config"]["quantization"] = {"scheme": "int3"}
    with pytest.raises(CheckpointError, match="quantization.scheme"):
        parse_config(json.dumps(raw).encode())
