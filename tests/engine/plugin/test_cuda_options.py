"""What SGLang is told on a GPU, and when the operator is warned."""

from __future__ import annotations

import logging

import pytest

from engine.plugin.cuda_options import cuda_options
from engine.worker_config import EngineConfig


def test_hopper_gets_flash_attention_3_and_graphs(caplog: pytest.LogCaptureFixture) -> None:
    options = cuda_options(EngineConfig(max_streams=24), capability_major=9)
    assert options == {
        "cuda_graph_bs_decode": [1, 2, 4, 8, 12, 16, 24],
        "cuda_graph_max_bs_decode": 24,
        "disable_prefill_cuda_graph": True,
        "disable_decode_cuda_graph": False,
        "attention_backend": "fa3",
    }
    assert not caplog.records


@pytest.mark.parametrize(
    ("attention", "major", "named"),
    [(None, 8, "SGLang's own choice"), ("triton", 9, "triton")],
)
def test_other_attention_is_warned_of(
    attention: str | None, major: int, named: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        options = cuda_options(EngineConfig(attention=attention, graphs=False), major)
    assert options.get("attention_backend") == attention
    assert options["disable_decode_cuda_graph"]
    assert f"expected fa3, as S2-Pro was published with, got {named}" in caplog.text
