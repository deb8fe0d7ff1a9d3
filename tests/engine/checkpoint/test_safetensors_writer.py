"""What the writer writes, the format's own library reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from engine.checkpoint.safetensors_header import read_header
from engine.checkpoint.safetensors_writer import SafetensorsWriter

LAYOUT = {"b": ("F32", (2, 3)), "a": ("I8", (5,)), "empty": ("BF16", (0, 4)), "c": ("BF16", (1,))}
B = torch.arange(6, dtype=torch.float32).reshape(2, 3)
A = torch.tensor([-128, -1, 0, 1, 127], dtype=torch.int8)


def data(tensor: torch.Tensor) -> bytes:
    return tensor.view(torch.uint8).numpy().tobytes()


def test_the_library_reads_it_back(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    writer = SafetensorsWriter(path, LAYOUT)
    with writer:
        writer.write("b", data(B)[:10])
        writer.write("b", data(B)[10:])
        writer.write("a", data(A))
        writer.write("empty", b"")
        writer.write("c", data(torch.ones(1, dtype=torch.bfloat16)))
    assert path.stat().st_size == writer.num_bytes
    tensors = load_file(path)
    assert torch.equal(tensors["b"], B) and torch.equal(tensors["a"], A)
    assert tensors["empty"].shape == (0, 4) and tensors["c"].dtype == torch.bfloat16
    assert list(read_header(path)) == list(LAYOUT)


def test_another_order_too_much_and_too_little_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    with pytest.raises(ValueError, match="expected b, got a"):
        with SafetensorsWriter(path, LAYOUT) as writer:
            writer.write("a", data(A))
    with pytest.raises(ValueError, match="b: got 1 bytes too many"):
        with SafetensorsWriter(path, LAYOUT) as writer:
            writer.write("b", data(B) + b"\0")
    with pytest.raises(ValueError, match="expected a and more, got no more"):
        with SafetensorsWriter(path, LAYOUT) as writer:
            writer.write("b", data(B))
    with pytest.raises(ValueError, match="expected no more, got b"):
        with SafetensorsWriter(path, {"b": ("F32", (2, 3))}) as writer:
            writer.write("b", data(B))
            writer.write("b", b"")
    with pytest.raises(ValueError, match="not open"):
        SafetensorsWriter(path, LAYOUT).write("b", data(B))
