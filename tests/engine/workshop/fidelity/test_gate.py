"""The gate passes what is right and stops what is wrong, each where it belongs."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from engine.errors import CheckpointError
from engine.workshop.fidelity import gate
from engine.workshop.fidelity.__main__ import app
from engine.workshop.fidelity.gate import GateOptions, Report, run_gate
from engine.workshop.fidelity.report import plot_report
from tests.engine.quick_gate import make_quick
from tests.golden_data import GOLDEN, TINY

FRAMES = 24
SHARDS = {
    "text_model": "model-00001-of-00002.safetensors",
    "audio": "model-00002-of-00002.safetensors",
}
Tensors = dict[str, torch.Tensor]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_quick(monkeypatch)


def damaged(tmp_path: Path, shard: str, change: Callable[[Tensors], None]) -> Path:
    root = tmp_path / "damaged"
    shutil.copytree(TINY, root)
    file = root / SHARDS[shard]
    tensors = load_file(file)
    change(tensors)
    save_file(tensors, file)
    return root


def failed(report: Report) -> set[str]:
    return {m.key for m in report.measures if not m.passed}


def test_float32_passes_with_the_golden_vectors() -> None:
    told: list[str] = []
    report = run_gate(GateOptions(TINY, golden=GOLDEN, dtype="float32", frames=FRAMES), told.append)
    assert report.passed, report.to_json()
    assert report.profile == "float32"
    assert report.remarks == ("72 frames are few: the marks on choices allow for 400 or so",)
    assert {m.key for m in report.measures} == set(gate.MARKS["float32"])
    assert {"loading the reference", "codec", "tokenizer", "golden vectors"} <= set(told)


@pytest.mark.usefixtures("quick")
def test_bfloat16_passes_its_own_marks_and_not_those_of_float32(tmp_path: Path) -> None:
    report = run_gate(GateOptions(TINY, golden=GOLDEN))
    assert report.passed, report.to_json()
    assert not report.remarks
    strict = gate.MARKS["float32"]
    assert not all(strict[m.key].passed(m.value) for m in report.measures)
    assert json.loads(json.dumps(report.to_json()))["passed"] is True
    plot_report(report, tmp_path / "plot.svg")
    assert "<svg" in (tmp_path / "plot.svg").read_text("utf-8")


def swap_heads(tensors: Tensors) -> None:
    rows = tensors["text_model.model.layers.1.attention.wqkv.weight"]
    rows[:256] = rows[:256].roll(128, dims=0)


def scale_one_layer(tensors: Tensors) -> None:
    tensors["audio_decoder.layers.0.feed_forward.w2.weight"] *= 1.5


def swap_codebooks(tensors: Tensors) -> None:
    """What reads codebook 3 where codebook 4 is meant damages only prompts with sound."""
    table = tensors["audio_decoder.codebook_embeddings.weight"].unflatten(0, (10, -1))
    table[3:5] = table[3:5].flip(0)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("shard", "change", "where"),
    [
        ("text_model", swap_heads, {"layer_loss", "agreement"}),
        ("audio", scale_one_layer, {"agreement", "divergence_nats"}),
        ("audio", swap_codebooks, {"layer_loss"}),
    ],
)
def test_damage_is_found(
    tmp_path: Path, shard: str, change: Callable[[Tensors], None], where: set[str]
) -> None:
    root = damaged(tmp_path, shard, change)
    report = run_gate(GateOptions(root, against=TINY, dtype="float32", frames=FRAMES))
    assert where <= failed(report)
    assert "stream_snr_db" not in failed(report)


@pytest.mark.usefixtures("quick")
def test_a_damaged_codec_is_found(tmp_path: Path) -> None:
    root = tmp_path / "damaged"
    shutil.copytree(TINY, root)
    codec = torch.load(root / "codec.pth", weights_only=True)
    codec["decoder.model.6.conv.bias"] += 1e-3
    torch.save(codec, root / "codec.pth")
    report = run_gate(GateOptions(root, against=TINY, dtype="float32", frames=FRAMES))
    assert failed(report) == {"stream_snr_db"}


@pytest.mark.usefixtures("quick")
def test_vectors_of_another_model_are_found(tmp_path: Path) -> None:
    """Compared with itself alone, a damaged checkpoint is perfect; the golden vectors tell."""
    root = damaged(tmp_path, "text_model", swap_heads)
    report = run_gate(GateOptions(root, golden=GOLDEN, dtype="float32", frames=FRAMES))
    assert failed(report) == {"golden_hidden", "golden_agreement"}


def test_another_model_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "other"
    shutil.copytree(TINY, root)
    config = json.loads((root / "config.json").read_text("utf-8"))
    config["semantic_start_token_id"] += 1
    config["audio_pad_token_id"] -= 1
    (root / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(CheckpointError, match="has semantic_start_token_id 547.*has 548"):
        run_gate(GateOptions(root, against=TINY, frames=FRAMES))


def test_options_are_checked() -> None:
    for wrong in ({"dtype": "int3"}, {"frames": 0}, {"strings": 3999}):
        with pytest.raises(ValueError, match="expected"):
            dataclasses.replace(GateOptions(TINY), **wrong)  # type: ignore[arg-type]


@pytest.mark.usefixtures("quick")
def test_exit_status(tmp_path: Path) -> None:
    run = CliRunner().invoke
    small = ["--frames", str(FRAMES), "--dtype", "float32"]
    report = tmp_path / "report.json"
    good = run(app, [str(TINY), *small, "--json", str(report)])
    assert good.exit_code == 0, good.output
    assert json.loads(report.read_text("utf-8"))["passed"] is True
    root = damaged(tmp_path, "text_model", swap_heads)
    bad = run(app, [str(root), "--against", str(TINY), *small])
    assert bad.exit_code == 1 and "FAIL" in bad.output
    assert run(app, [str(tmp_path / "nowhere")]).exit_code == 2
