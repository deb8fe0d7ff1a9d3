"""What of the GPU's benchmark can be told without one: its plan, its refusal, its checkpoint."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from benchmarks import gpu
from benchmarks.parts.checkpoints import TINY
from benchmarks.parts.full_size import VOICES, config_json, full_size, published_sizes
from engine.checkpoint.folder import Checkpoint
from engine.codec.decoder import StreamingDecoder
from engine.codec.sizes import CodecConfig


def test_the_plan_puts_a_floor_under_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--plan", "--streams", "1,64", "--gpu", "h200"]) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    one, many = report["floors"]["1"], report["floors"]["64"]
    # S2-Pro's weights in bf16, the fast AR's nine times, at 4800 GB/s
    assert one["read_gb"] > 9.1
    assert one["floor_ms"] == pytest.approx(one["read_gb"] / 4.8, rel=0.01)
    assert many["gflop"] == pytest.approx(64 * one["gflop"], rel=0.01)
    assert report["plan"]["fa3, graphs"] == [1, 64]
    assert report["plan"]["fa3, no graphs"] == [1, 16]


def test_without_a_gpu_it_refuses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main([]) == 2
    assert "expected a CUDA device, found none" in capsys.readouterr().err


def test_a_random_checkpoint_has_the_engines_layout(tmp_path: Path) -> None:
    sizes = json.loads((TINY / "config.json").read_text())
    path, config = full_size(tmp_path, sizes, CodecConfig.from_checkpoint(TINY))
    shutil.copyfile(TINY / "codec_config.json", path / "codec_config.json")
    assert Checkpoint.open(path).config == config
    assert StreamingDecoder.from_checkpoint(path, max_slots=1).config.n_codebooks == 10
    assert len(list((path / "voices").glob("*.npy"))) == VOICES


def test_its_sizes_are_the_published_ones() -> None:
    merged, published = config_json(published_sizes()), published_sizes()
    for section in ("text_config", "audio_decoder_config"):
        for name in ("dim", "n_layer", "n_head", "n_local_heads", "intermediate_size"):
            assert merged[section][name] == published[section][name]
    # as many semantic ids, so that the head is as large
    semantic = merged["semantic_end_token_id"] - merged["semantic_start_token_id"]
    assert semantic == published["semantic_end_token_id"] - published["semantic_start_token_id"]
