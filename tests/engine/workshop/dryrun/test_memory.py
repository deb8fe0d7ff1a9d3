"""The plan's arithmetic against sizes that are known otherwise."""

from __future__ import annotations

import json
from functools import cache

import pytest

from engine.checkpoint.config_json import LanguageModelConfig, parse_config
from engine.codec.decoder import StreamingDecoder
from engine.codec.sizes import CodecConfig
from engine.workshop.dryrun.gpus import GPUS, find_gpu
from engine.workshop.dryrun.memory import (
    Load,
    Needs,
    codec_state_bytes,
    decode_floor,
    estimate,
    most_streams,
    usable_bytes,
)
from engine.workshop.dryrun.published import CONFIG_PATH, LM_BYTES, s2_pro
from engine.workshop.quantize.plan import Plan
from tests.golden_data import TINY

LOAD = Load(streams=16, tokens_per_stream=2048)


@cache
def needs() -> Needs:
    return estimate(s2_pro(), CodecConfig(), LOAD)


@cache
def int8() -> LanguageModelConfig:
    raw = json.loads(CONFIG_PATH.read_text("utf-8"))
    return parse_config(json.dumps(Plan("int8").applied(raw, s2_pro())).encode())


def test_known_sizes() -> None:
    """KV: 36 layers, K and V, 8 heads of 128, bf16. State: 8.32 MB of rings, 0.54 of histories."""
    assert needs().kv_bytes_per_token == 36 * 2 * 8 * 128 * 2
    assert needs().per_stream["KV cache"] == 2048 * needs().kv_bytes_per_token
    assert needs().per_stream["fast AR's cache"] == 4 * 2 * 8 * 10 * 128 * 2
    assert needs().per_stream["codec's state"] == pytest.approx(8.32e6 + 0.537e6, rel=0.01)
    # the head's rows, the norms of every head and the rotary tables come on top
    assert LM_BYTES < needs().fixed["language model"] < 1.01 * LM_BYTES


def test_the_state_is_what_the_decoder_allocates() -> None:
    decoder = StreamingDecoder.from_checkpoint(TINY, max_slots=1)
    assert codec_state_bytes(decoder.config) == decoder.state_bytes_per_slot


def test_the_most_streams_fit_and_one_more_does_not() -> None:
    for gpu in GPUS.values():
        most = most_streams(gpu, needs())
        assert needs().total(most) <= usable_bytes(gpu) or most == 0
        assert needs().total(most + 1) > usable_bytes(gpu)
    assert most_streams(find_gpu("h200"), needs()) > 100
    assert most_streams(find_gpu("l4"), needs()) > 16


def test_int8_halves_what_is_linear() -> None:
    saved = (
        needs().fixed["language model"]
        - estimate(int8(), CodecConfig(), LOAD).fixed["language model"]
    )
    linear = 40 * ((6144 + 4096) * 2560 + 3 * 9728 * 2560)
    scales = 40 * 4 * (6144 + 2560 + 2 * 9728 + 2560)
    assert saved == linear - scales


def test_the_floor_of_one_stream_is_bandwidth() -> None:
    one = Load(streams=1, tokens_per_stream=2048)
    gpu = find_gpu("h200")
    floor = decode_floor(s2_pro(), CodecConfig(), gpu, needs(), one)
    assert floor.step_ms == pytest.approx(floor.read_bytes / 4.8e9, rel=1e-9)
    slow, fast = 36 * 100_933_632, 4 * 100_933_632
    least = 2 * (slow + 9 * fast)
    assert least < floor.read_bytes < 1.15 * least
    assert floor.frame_ms == pytest.approx(1000 * 2048 / 44100)
    assert floor.real_time_factor == pytest.approx(floor.step_ms / floor.frame_ms)
    assert decode_floor(int8(), CodecConfig(), gpu, needs(), one).step_ms < 0.6 * floor.step_ms


def test_the_floor_of_many_streams_is_arithmetic() -> None:
    gpu = find_gpu("rtx3090")
    many = Load(streams=512, tokens_per_stream=16)
    floor = decode_floor(s2_pro(), CodecConfig(), gpu, needs(), many)
    assert floor.step_ms == pytest.approx(floor.flops / 71e9)
    assert floor.frames_per_s == pytest.approx(512_000 / floor.step_ms)


def test_wrong_loads_and_names() -> None:
    with pytest.raises(ValueError, match="streams: expected at least 1, got 0"):
        Load(streams=0)
    with pytest.raises(ValueError, match="expected one of b200, h200.*got 'tpu'"):
        find_gpu("tpu")
    assert find_gpu("H200").name == "h200"
