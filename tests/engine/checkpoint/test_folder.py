"""Checkpoints: the published totals, every way a directory can be bad, and what is still good."""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors

from engine.checkpoint.config_json import parse_config
from engine.checkpoint.folder import Checkpoint, expected_tensors
from engine.checkpoint.safetensors_header import DTYPE_BYTES
from engine.errors import CheckpointError

TINY = Path(__file__).parents[2] / "golden" / "s2-pro-tiny"
SHARD_1, SHARD_2 = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"
NORM = "text_model.model.norm.weight"
OUTPUT = "audio_decoder.output.weight"
# The published configuration of fishaudio/s2-pro, without the fields that nothing reads.
S2_PRO = TINY.with_name("s2-pro-config.json")
Layout = dict[str, tuple[str, tuple[int, ...]]]  # name -> dtype, shape


def write_shard(path: Path, layout: Layout) -> None:
    """A safetensors file of zeros; its data is a hole in the file, so that size costs nothing."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in layout.items():
        begin, end = end, end + math.prod(shape) * DTYPE_BYTES[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    path.unlink(missing_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    os.truncate(path, 8 + len(text) + end)


def read_layout(path: Path) -> Layout:
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    del header["__metadata__"]
    return {name: (entry["dtype"], tuple(entry["shape"])) for name, entry in header.items()}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the tiny checkpoint. Links, because only what a test changes has to be a copy."""
    root = tmp_path / "checkpoint"
    root.mkdir()
    for file in TINY.iterdir():
        (root / file.name).symlink_to(file)
    return root


def replace_bytes(path: Path, change: Callable[[bytes], bytes]) -> None:
    data = change(path.read_bytes())
    path.unlink()
    path.write_bytes(data)


def edit_config(root: Path, dotted: str, value: Any) -> None:
    """Set one key of config.json."""

    def change(data: bytes) -> bytes:
        config = json.loads(data)
        *parents, key = dotted.split(".")
        node = config
        for parent in parents:
            node = node[parent]
        node[key] = value
        return json.dumps(config).encode()

    replace_bytes(root / "config.json", change)


def edit_layout(root: Path, shard: str, **changes: tuple[str, tuple[int, ...]] | None) -> None:
    """Rewrite a shard with changed, added or (None) removed tensors; `__` stands for a dot."""
    layout = read_layout(root / shard)
    for key, value in changes.items():
        name = key.replace("__", ".")
        if value is None:
            del layout[name]
        else:
            layout[name] = value
    write_shard(root / shard, layout)


def edit_index(root: Path, change: Callable[[dict[str, str]], Any]) -> None:
    def edit(data: bytes) -> bytes:
        index = json.loads(data)
        change(index["weight_map"])
        return json.dumps(index).encode()

    replace_bytes(root / INDEX, edit)


def test_published_totals_of_s2_pro() -> None:
    shapes = expected_tensors(parse_config(S2_PRO.read_bytes()))
    assert len(shapes) == 358
    parameters = sum(math.prod(shape) for shape in shapes.values())
    assert parameters == 4_561_852_416
    assert parameters * DTYPE_BYTES["BF16"] == 9_123_704_832
    assert shapes["text_model.model.layers.35.attention.wqkv.weight"] == (6144, 2560)
    assert shapes["text_model.model.layers.0.attention.wo.weight"] == (2560, 4096)
    assert shapes["audio_decoder.codebook_embeddings.weight"] == (40960, 2560)


def test_tiny_checkpoint_opens_with_the_totals_of_its_index() -> None:
    checkpoint, index = Checkpoint.open(TINY), json.loads((TINY / INDEX).read_text())
    totals = index["metadata"]
    assert (
        sum(tensor.num_elements for tensor in checkpoint.tensors.values())
        == totals["total_parameters"]
    )
    assert checkpoint.num_bytes == totals["total_size"]
    assert set(checkpoint.tensors) == set(index["weight_map"])
    assert checkpoint.shards == (TINY / SHARD_1, TINY / SHARD_2)


def test_offsets_point_at_the_data() -> None:
    norm = Checkpoint.open(TINY).tensors[NORM]
    data = norm.file.read_bytes()
    stored = dict(safetensors.deserialize(data))[NORM]["data"]
    assert data[norm.offset_bytes :][: norm.num_bytes] == bytes(stored)


def test_real_size_is_checked_without_allocating(tmp_path: Path) -> None:
    """9.1 GB of (sparse) shards: the check reads headers only."""
    for name in ("tokenizer.json", "codec.pth"):
        shutil.copy(TINY / name, tmp_path / name)
    shutil.copy(S2_PRO, tmp_path / "config.json")
    shapes = expected_tensors(parse_config(S2_PRO.read_bytes()))
    write_shard(
        tmp_path / "model.safetensors", {name: ("BF16", shape) for name, shape in shapes.items()}
    )
    tracemalloc.start()
    try:
        checkpoint = Checkpoint.open(tmp_path)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        (tmp_path / "model.safetensors").unlink()
    assert checkpoint.num_bytes == 9_123_704_832
    assert peak_bytes < 8 << 20


def single_file(root: Path) -> None:
    layout = read_layout(root / SHARD_1) | read_layout(root / SHARD_2)
    for name in (INDEX, SHARD_1, SHARD_2):
        (root / name).unlink()
    write_shard(root / "model.safetensors", layout)


def other_dtypes(root: Path) -> None:
    layout = read_layout(root / SHARD_1)
    write_shard(root / SHARD_1, {name: ("F32", shape) for name, (_, shape) in layout.items()})
    layout = read_layout(root / SHARD_2)
    write_shard(root / SHARD_2, {name: ("F16", shape) for name, (_, shape) in layout.items()})


def eight_codebooks(root: Path) -> None:
    edit_config(root, "audio_decoder_config.num_codebooks", 8)
    edit_layout(root, SHARD_2, audio_decoder__codebook_embeddings__weight=("BF16", (8 * 4096, 64)))


def narrow_fast_ar(root: Path) -> None:
    edit_config(root, "audio_decoder_config.dim", 32)
    shapes = expected_tensors(parse_config((root / "config.json").read_bytes()))
    assert shapes["audio_decoder.project_in.weight"] == (32, 64)
    assert shapes["audio_decoder.codebook_embeddings.weight"] == (40960, 64)
    fast = {n: ("BF16", s) for n, s in shapes.items() if n.startswith("audio_decoder.")}
    write_shard(root / SHARD_2, fast)


def fast_qk_norm(root: Path) -> None:
    edit_config(root, "audio_decoder_config.attention_qk_norm", True)
    norms = {
        f"audio_decoder__layers__{layer}__attention__{kind}_norm__weight": ("BF16", (128,))
        for layer in range(2)
        for kind in "qk"
    }
    edit_layout(root, SHARD_2, **norms)


def other_frontend(root: Path) -> None:
    edit_config(root, "voice_gateway", {"text_frontend": "phones"})
    (root / "tokenizer.json").unlink()  # another frontend need not have it


@pytest.mark.parametrize(
    "change",
    [single_file, other_dtypes, eight_codebooks, narrow_fast_ar, fast_qk_norm, other_frontend],
)
def test_other_good_checkpoints(copy: Path, change: Callable[[Path], None]) -> None:
    change(copy)
    checkpoint = Checkpoint.open(copy)
    assert set(checkpoint.tensors) == set(expected_tensors(checkpoint.config))


# What is done to the directory, fragments that the message must hold.
BAD_FILES: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "no directory": (
        lambda root: root.rename(root.with_name("gone")),
        ["expected a checkpoint directory", "no such directory"],
    ),
    "a file instead": (
        lambda root: (shutil.rmtree(root), root.touch()),
        ["expected a checkpoint directory", "(a file)"],
    ),
    "no config": (lambda root: (root / "config.json").unlink(), ["config.json", "No such file"]),
    "bad value in the config": (
        lambda root: edit_config(root, "eos_token_id", 547),
        ["checkpoint/config.json: expected eos_token_id below 4672"],
    ),
    "no tokenizer": (lambda root: (root / "tokenizer.json").unlink(), ["missing tokenizer.json"]),
    "no codec": (lambda root: (root / "codec.pth").unlink(), ["missing codec.pth"]),
    "truncated codec": (
        lambda root: replace_bytes(root / "codec.pth", lambda data: data[: len(data) // 2]),
        ["codec.pth: truncated or not a torch archive"],
    ),
    "no weights": (
        lambda root: (root / INDEX).unlink(),
        ["expected model.safetensors.index.json or model.safetensors, got neither"],
    ),
    "index not JSON": (
        lambda root: replace_bytes(root / INDEX, lambda data: b"{"),
        [INDEX, "expected a weight_map of strings"],
    ),
    "index points outside": (
        lambda root: edit_index(root, lambda weights: weights.update({NORM: "../x.safetensors"})),
        [INDEX, "expected plain file names, got '../x.safetensors'"],
    ),
    "missing shard": (
        lambda root: (root / SHARD_2).unlink(),
        [f"missing shards named by {INDEX}: {SHARD_2}"],
    ),
    "truncated shard": (
        lambda root: replace_bytes(root / SHARD_2, lambda data: data[:-1]),
        [SHARD_2, "truncated: expected 6834784 bytes, got 6834783"],
    ),
    "missing tensor": (
        lambda root: edit_layout(root, SHARD_1, text_model__model__norm__weight=None),
        [f"1 problem: missing {NORM} [64]"],
    ),
    "unexpected tensor": (
        lambda root: edit_layout(root, SHARD_1, lm_head__weight=("BF16", (4672, 64))),
        ["1 problem: unexpected lm_head.weight (BF16 [4672, 64])"],
    ),
    "wrong shape": (
        lambda root: edit_layout(root, SHARD_2, audio_decoder__output__weight=("BF16", (1024, 64))),
        [f"1 problem: {OUTPUT}: expected shape [4096, 64], got [1024, 64]"],
    ),
    "wrong dtype": (
        lambda root: edit_layout(root, SHARD_1, text_model__model__norm__weight=("I8", (64,))),
        [f"{NORM}: expected dtype BF16 or F16 or F32, got I8"],
    ),
    "several at once": (
        lambda root: edit_layout(
            root,
            SHARD_1,
            text_model__model__norm__weight=None,
            text_model__model__embeddings__weight=("BF16", (4672, 32)),
            rope__inv_freq=("F32", (64,)),
        ),
        [
            "3 problems",
            f"missing {NORM}",
            "embeddings.weight: expected shape [4672, 64], got [4672, 32]",
            "unexpected rope.inv_freq (F32 [64])",
        ],
    ),
    "more than can be listed": (
        lambda root: edit_config(root, "text_config.n_layer", 5),
        ["18 problems", "missing text_model.model.layers.3.attention.wqkv.weight", "and 8 more"],
    ),
    "in another shard than the index says": (
        lambda root: edit_index(root, lambda weights: weights.update({NORM: SHARD_2})),
        [f"{NORM}: expected in {SHARD_2} ({INDEX}), got {SHARD_1}"],
    ),
    "in two shards": (
        lambda root: edit_layout(root, SHARD_2, text_model__model__norm__weight=("BF16", (64,))),
        [f"{NORM}: expected in one shard, got {SHARD_1} and {SHARD_2}"],
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(copy: Path, case: str) -> None:
    damage, fragments = BAD_FILES[case]
    damage(copy)
    with pytest.raises(CheckpointError) as caught:
        Checkpoint.open(copy)
    for fragment in fragments:
        assert fragment in str(caught.value)
    assert str(caught.value).count("missing text_model") <= 10
