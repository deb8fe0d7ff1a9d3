"""Random weights on disk: resumed, checked, loaded over files, cleaned up."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engine.checkpoint.config_json import parse_config
from engine.errors import CheckpointError
from engine.models.linear import QuantizedLinear
from engine.workshop.dryrun import materialise as module
from engine.workshop.dryrun.frame import speak_frame
from engine.workshop.dryrun.layout import lm_layout, num_bytes
from engine.workshop.dryrun.materialise import clean, materialise
from engine.workshop.dryrun.published import LM_BYTES, s2_pro
from engine.workshop.quantize.plan import Plan
from tests.golden_data import TINY

CONFIG = parse_config((TINY / "config.json").read_bytes())


def test_what_is_written_is_what_is_loaded(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    made = materialise(CONFIG, tmp_path / "m", progress=lambda *seen: told.append(seen))
    assert made.stored_bytes == num_bytes(lm_layout(CONFIG))
    assert made.mapped_bytes > made.stored_bytes  # the head's rows a second time
    layer = load_file(tmp_path / "m/shards/text_model.model-001.safetensors")
    prefix = "text_model.model.layers.1."
    block = made.slow.layers[1]
    assert torch.equal(block.attention.wqkv.weight, layer[f"{prefix}attention.wqkv.weight"])
    assert torch.equal(
        block.feed_forward.w13.weight[192:], layer[f"{prefix}feed_forward.w3.weight"]
    )
    assert float(block.feed_forward.w2.weight.float().std()) == pytest.approx(0.02, rel=0.05)
    assert told[-1][1] == told[-1][2]
    frame = speak_frame(made.slow, made.fast, CONFIG)
    assert frame.finite and len(frame.codes) == CONFIG.num_codebooks
    assert CONFIG.is_semantic(frame.token_id)
    assert frame == speak_frame(made.slow, made.fast, CONFIG)


def test_parameters_lie_in_files(tmp_path: Path) -> None:
    made = materialise(CONFIG, tmp_path)
    files = list((tmp_path / "memory").iterdir())
    parameters = [*made.slow.parameters(), *made.fast.parameters()]
    assert len(files) == len(parameters)
    assert sum(file.stat().st_size for file in files) == made.mapped_bytes
    made.slow.norm.weight.fill_(3.0)  # what the module holds is what the file holds
    value = torch.full((1,), 3.0, dtype=torch.bfloat16).view(torch.uint8).numpy().tobytes()
    assert value * 64 in {file.read_bytes() for file in files}


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    materialise(CONFIG, tmp_path)
    shards = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "shards").iterdir()}
    lost = tmp_path / "shards" / "audio_decoder-001.safetensors"
    before = lost.read_bytes()
    lost.unlink()
    lost.with_suffix(".part").write_bytes(before[:100])
    materialise(CONFIG, tmp_path)
    assert lost.read_bytes() == before
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "shards").iterdir()}
    assert [name for name in shards if after[name] != shards[name]] == [lost.name]


def test_shards_of_another_model_are_refused(tmp_path: Path) -> None:
    materialise(CONFIG, tmp_path)
    shards = tmp_path / "shards"
    shutil.copy(shards / "audio_decoder-000.safetensors", shards / "audio_decoder-001.safetensors")
    with pytest.raises(CheckpointError, match="7 tensors differ: audio_decoder.layers.1"):
        materialise(CONFIG, tmp_path)


@pytest.mark.parametrize("scheme", ["int8", "fp8"])
def test_quantised_ones_too(tmp_path: Path, scheme: str) -> None:
    import json

    raw = json.loads((TINY / "config.json").read_text("utf-8"))
    plan = Plan(scheme)  # type: ignore[arg-type]
    config = parse_config(json.dumps(plan.applied(raw, CONFIG)).encode())
    made = materialise(config, tmp_path)
    assert isinstance(made.slow.layers[0].attention.wo, QuantizedLinear)
    assert speak_frame(made.slow, made.fast, config).finite


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="expected a limit of at least"):
        materialise(CONFIG, tmp_path, limit_bytes=1000)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage(0, 0, 2**30))
    with pytest.raises(OSError, match="expected .* bytes of free disk, got 1073741824"):
        materialise(CONFIG, tmp_path)
    assert not list(tmp_path.iterdir())


def test_cleaning_leaves_what_is_not_ours(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    materialise(CONFIG, folder)
    (folder / "mine").write_text("x")
    clean(folder)
    assert [path.name for path in folder.iterdir()] == ["mine"]
    (folder / "mine").unlink()
    clean(folder)
    assert not folder.exists()
    clean(folder)


@pytest.mark.slow
def test_s2_pro_at_full_size(tmp_path: Path) -> None:
    """9.1 GB of shards and as much again as memory; minutes."""
    if shutil.disk_usage(tmp_path).free < 3 * LM_BYTES:
        pytest.skip(f"needs {3 * LM_BYTES} bytes of free disk")
    config = s2_pro()
    try:
        made = materialise(config, tmp_path / "m")
        assert made.stored_bytes == LM_BYTES
        frame = speak_frame(made.slow, made.fast, config)
        assert frame.finite and len(frame.codes) == 10
    finally:
        clean(tmp_path / "m")
