"""Headers of safetensors files: the library's are read, every kind of damage is told."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from engine.checkpoint.safetensors_header import TensorInfo, read_header
from engine.errors import CheckpointError

Header = dict[str, Any]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    """Three tensors in the library's own order and padding."""
    path = tmp_path / "shard.safetensors"
    tensors = {
        "weight": np.arange(12, dtype=np.float32).reshape(3, 4),
        "mask": np.ones(5, bool),
        "scalar": np.array(7, np.int64),
    }
    save_file(tensors, path, metadata={"format": "np"})
    return path


def test_offsets_shapes_and_types(shard: Path) -> None:
    tensors = read_header(shard)
    assert {name: str(tensor) for name, tensor in tensors.items()} == {
        "weight": "F32 [3, 4]",
        "mask": "BOOL [5]",
        "scalar": "I64 []",
    }
    weight = tensors["weight"]
    assert (weight.num_elements, weight.num_bytes, weight.file) == (12, 48, shard)
    data = shard.read_bytes()[weight.offset_bytes :][: weight.num_bytes]
    assert np.frombuffer(data, "<f4").tolist() == list(range(12))
    assert tensors["scalar"].num_elements == 1


def test_no_tensors(tmp_path: Path) -> None:
    save_file({}, tmp_path / "empty.safetensors")
    assert read_header(tmp_path / "empty.safetensors") == {}


def with_header(change: Callable[[Header], Any]) -> Callable[[bytes], bytes]:
    """Change the header and leave the data as it is."""

    def edit(data: bytes) -> bytes:
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        change(header)
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data[8 + length :]

    return edit


def moved(name: str, by_bytes: int) -> Callable[[bytes], bytes]:
    def change(header: Header) -> None:
        header[name]["data_offsets"] = [o + by_bytes for o in header[name]["data_offsets"]]

    return with_header(change)


# What is done to the bytes, fragments that the message must hold.
DAMAGE: dict[str, tuple[Callable[[bytes], bytes], list[str]]] = {
    "cut by one byte": (lambda data: data[:-1], ["truncated: expected ", " bytes, got "]),
    "cut in the header": (
        lambda data: data[:100],
        ["truncated or not safetensors", "at most 92 bytes in a file of 100"],
    ),
    "cut in the length": (lambda data: data[:5], ["at least 8 bytes, got 5"]),
    "empty": (lambda data: b"", ["at least 8 bytes, got 0"]),
    "overlong": (lambda data: data + b"\0", ["overlong: expected "]),
    "a web page": (lambda data: b"<!doctype html>" * 9, ["truncated or not safetensors"]),
    "not JSON": (lambda data: data[:8] + b"?" + data[9:], ["expected a safetensors header"]),
    "not text": (lambda data: data[:10] + b"\xff" + data[11:], ["expected a safetensors header"]),
    "no shape": (with_header(lambda h: h["weight"].pop("shape")), ["missing required field"]),
    "negative size": (with_header(lambda h: h["mask"].update(shape=[-5])), ["`int` >= 0"]),
    "unknown type": (
        with_header(lambda h: h["weight"].update(dtype="F12")),
        ["weight: expected a dtype among BOOL, ", "got F12"],
    ),
    "size against shape": (
        with_header(lambda h: h["weight"].update(shape=[3, 5])),
        ["weight: expected 60 bytes for F32 [3, 5], got offsets "],
    ),
    "reversed offsets": (
        with_header(lambda h: h["mask"].update(data_offsets=[5, 0])),
        ["mask: expected 5 bytes for BOOL [5], got offsets 5..0"],
    ),
    "tensor beyond the end": (moved("mask", 1 << 40), ["mask: expected its data at byte "]),
    "hole": (moved("mask", 1), ["expected its data at byte "]),
    "overlap": (
        with_header(lambda h: h.update(twin=dict(h["weight"]))),
        ["expected its data at byte "],
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage(shard: Path, case: str) -> None:
    damage, fragments = DAMAGE[case]
    shard.write_bytes(damage(shard.read_bytes()))
    with pytest.raises(CheckpointError) as caught:
        read_header(shard)
    for fragment in [str(shard), *fragments]:
        assert fragment in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="expected a readable file, got: No such file"):
        read_header(tmp_path / "none.safetensors")


def test_every_shorter_file_is_refused(shard: Path) -> None:
    data = shard.read_bytes()
    for length in range(len(data)):
        shard.write_bytes(data[:length])
        with pytest.raises(CheckpointError):
            read_header(shard)


def test_info_is_plain_data(shard: Path) -> None:
    info = read_header(shard)["mask"]
    expected = TensorInfo("mask", "BOOL", (5,), shard, info.offset_bytes, 5)
    assert info == expected
