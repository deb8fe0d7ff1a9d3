"""What is written: every byte that should stay stays, and what is changed is described."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.checkpoint.folder import Checkpoint, quantised_matrices
from engine.errors import CheckpointError
from engine.models.linear import QuantizedLinear
from engine.models.plain import PlainLoop
from engine.workshop.quantize.convert import convert
from engine.workshop.quantize.plan import Plan
from engine.workshop.quantize.scheme import dequantise, quantise
from tests.golden_data import TINY

SOURCE = Checkpoint.open(TINY)
PLAN = Plan("int8", keep_attention=(2,), keep_fast_feed_forward=(0,))
WO = "text_model.model.layers.{}.attention.wo.weight"


def tensors(checkpoint: Checkpoint) -> dict[str, torch.Tensor]:
    return {k: v for shard in checkpoint.shards for k, v in load_file(shard).items()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return convert(SOURCE, tmp_path_factory.mktemp("made") / "int8", PLAN)


def test_matrices_are_quantised_with_their_scales_and_the_rest_is_untouched(
    made: Checkpoint,
) -> None:
    before, after = tensors(SOURCE), tensors(made)
    quantised = quantised_matrices(made.config)
    # 3 slow and 2 fast layers of 5 matrices, less wqkv and wo of one and w1, w2, w3 of another
    assert len(quantised) == 5 * 5 - 2 - 3
    assert after.keys() == before.keys() | {f"{name}.scale" for name in quantised}
    for name, weight in before.items():
        if name in quantised:
            stored, scale = quantise(weight, "int8")
            assert torch.equal(after[name], stored)
            assert torch.equal(after[f"{name}.scale"], scale)
        else:
            assert after[name].dtype == weight.dtype and torch.equal(after[name], weight)
    assert WO.format(1) in quantised and WO.format(2) not in quantised


def test_the_index_and_the_other_files_fit(made: Checkpoint) -> None:
    index = json.loads((made.path / "model.safetensors.index.json").read_text("utf-8"))
    assert index["metadata"]["total_size"] == made.num_bytes < SOURCE.num_bytes
    assert index["weight_map"].keys() == made.tensors.keys()
    for name in ("codec.pth", "codec_config.json", "tokenizer.json", "tokenizer_config.json"):
        assert (made.path / name).read_bytes() == (TINY / name).read_bytes()


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    convert(SOURCE, tmp_path / "fp8", Plan("fp8"), lambda *seen: told.append(seen))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1:] == (SOURCE.num_bytes, SOURCE.num_bytes)
    assert len(told) == len(SOURCE.tensors)


def test_a_single_file_without_an_index(tmp_path: Path) -> None:
    root = tmp_path / "single"
    shutil.copytree(TINY, root, ignore=shutil.ignore_patterns("model*"))
    save_file(tensors(SOURCE), root / "model.safetensors")
    made = convert(Checkpoint.open(root), tmp_path / "int8", PLAN)
    assert [shard.name for shard in made.shards] == ["model.safetensors"]
    assert not (made.path / "model.safetensors.index.json").exists()


def test_the_loop_runs_it_dense_in_fp32_and_in_8_bits_in_bf16(made: Checkpoint) -> None:
    weight = tensors(SOURCE)[WO.format(1)]
    dense = PlainLoop(made.path)
    expected = dequantise(*quantise(weight, "int8"))
    assert torch.equal(dense.slow.layers[1].attention.wo.weight, expected)
    small = PlainLoop(made.path, torch.bfloat16)
    assert isinstance(small.slow.layers[1].attention.wo, QuantizedLinear)
    assert isinstance(small.slow.layers[2].attention.wo, torch.nn.Linear)
    assert isinstance(small.fast.layers[0].feed_forward.w13, torch.nn.Linear)
    assert isinstance(small.fast.layers[1].feed_forward.w13, QuantizedLinear)


def rewritten(made: Checkpoint, tmp_path: Path, name: str, value: torch.Tensor | None) -> Path:
    root = tmp_path / "wrong"
    shutil.copytree(made.path, root)
    file = root / made.tensors[name].file.name
    changed = load_file(file)
    if value is None:
        del changed[name]
    else:
        changed[name] = value
    save_file(changed, file)
    return root


def test_the_checkpoint_names_every_wrong_tensor(made: Checkpoint, tmp_path: Path) -> None:
    name = WO.format(1)
    rows, width = made.tensors[name].shape
    for target, value, message in (
        (f"{name}.scale", None, rf"missing {name}.scale \[{rows}, 1\]"),
        (f"{name}.scale", torch.ones(rows), rf"expected shape \[{rows}, 1\], got \[{rows}\]"),
        (f"{name}.scale", torch.ones(rows, 1).bfloat16(), "expected dtype F32, got BF16"),
        (name, torch.ones(rows, width), "expected dtype I8, got F32"),
        (WO.format(2), torch.ones(rows, width, dtype=torch.int8), "BF16 or F16 or F32, got I8"),
    ):
        root = rewritten(made, tmp_path, target, value)
        with pytest.raises(CheckpointError, match=message):
            Checkpoint.open(root)
        shutil.rmtree(root)


def test_sources_that_cannot_be_quantised(made: Checkpoint, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="got a quantised one"):
        convert(made, tmp_path / "again", PLAN)
    name = WO.format(0)
    root = tmp_path / "nan"
    shutil.copytree(TINY, root)
    file = root / SOURCE.tensors[name].file.name
    changed = load_file(file)
    changed[name][3, 3] = float("nan")
    save_file(changed, file)
    with pytest.raises(CheckpointError, match=f"{name}: expected finite weights"):
        convert(Checkpoint.open(root), tmp_path / "from-nan", PLAN)
    with pytest.raises(FileExistsError):
        convert(SOURCE, tmp_path, PLAN)
