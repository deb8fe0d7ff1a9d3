"""Which default applies, what is refused, and where a segment is cut."""

from __future__ import annotations

from typing import Any

import pytest

from engine.api import InvalidRequestError, Sampling
from engine.checkpoint.config_json import SamplingDefaults
from engine.host.sampling_defaults import frame_cap, row_settings

NONE = SamplingDefaults()


def test_the_request_comes_before_the_checkpoint_and_that_before_ours() -> None:
    default = SamplingDefaults(temperature=0.5, top_k=9)
    settings = row_settings(Sampling(temperature=0.0, seed=3), default, "fish")
    assert (settings.temperature, settings.residual_temperature) == (0.0, 0.0)
    assert (settings.top_k, settings.top_p, settings.seed) == (9, 0.8, 3)
    assert (settings.min_frames, settings.style) == (1, "fish")
    assert row_settings(Sampling(), NONE, "fish").temperature == 0.8
    assert row_settings(Sampling(residual_temperature=0.3), default, "fish").temperature == 0.5


def test_a_request_may_choose_the_style() -> None:
    assert row_settings(Sampling(), NONE, "omni").style == "omni"
    assert row_settings(Sampling(style="fish"), NONE, "omni").style == "fish"
    # SGLang-Omni knows 30 candidates at most
    assert row_settings(Sampling(style="omni", top_k=64), NONE, "fish").top_k == 30
    assert row_settings(Sampling(top_k=64), NONE, "fish").top_k == 64


def test_seeds_are_drawn_where_none_is_given_and_any_number_is_one() -> None:
    drawn = {row_settings(Sampling(), NONE, "fish").seed for _ in range(8)}
    assert len(drawn) == 8
    for seed in (-1, 2**63, 2**64 - 1):
        assert -(2**63) <= row_settings(Sampling(seed=seed), NONE, "fish").seed < 2**63
    assert row_settings(Sampling(seed=2**63 - 1), NONE, "fish").seed == 2**63 - 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"temperature": -0.1}, "temperature: expected 0 to 10, got -0.1"),
        ({"residual_temperature": 11.0}, "temperature: expected 0 to 10, got 0.8, 11.0"),
        ({"top_p": 0.0}, "top_p: expected above 0 and at most 1, got 0.0"),
        ({"top_k": 0}, "top_k: expected 1 to 64, got 0"),
        ({"min_frames": -1}, "min_frames: expected at least 0, got -1"),
        ({"style": "jazz"}, "style: expected one of fish, omni, got 'jazz'"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        row_settings(Sampling(**asked), NONE, "fish")


def test_a_segment_is_cut_at_what_its_text_can_need() -> None:
    assert frame_cap(Sampling(), "Hello", most=2000) == 40 + 4 * 5
    assert frame_cap(Sampling(), "你好", most=2000) == 40 + 4 * 6
    assert frame_cap(Sampling(), "word " * 1000, most=2000) == 2000
    assert frame_cap(Sampling(max_frames=7), "Hello", most=2000) == 7
    assert frame_cap(Sampling(max_frames=9999), "Hello", most=2000) == 2000
    with pytest.raises(InvalidRequestError, match="max_frames: expected at least 1, got 0"):
        frame_cap(Sampling(max_frames=0), "Hello", most=2000)
