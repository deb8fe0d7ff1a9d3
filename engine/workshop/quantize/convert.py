"""Writes the quantised checkpoint, shard by shard and tensor by tensor."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from engine.checkpoint.config_json import LanguageModelConfig, parse_config
from engine.checkpoint.folder import (
    CONFIG_FILE,
    INDEX_FILE,
    SCALE_SUFFIX,
    Checkpoint,
    quantised_matrices,
)
from engine.checkpoint.safetensors_header import TensorInfo, read_header
from engine.checkpoint.safetensors_writer import Entry, SafetensorsWriter
from engine.errors import CheckpointError
from engine.models.linear import Scheme
from engine.workshop.quantize.plan import Plan
from engine.workshop.quantize.scheme import quantise

_COPY_BYTES = 1 << 24

# (name of a shard, bytes of the source done, bytes of the source in all)
Progress = Callable[[str, int, int], None]


def convert(
    source: Checkpoint,
    target: Path,
    plan: Plan,
    progress: Progress = lambda shard, done, total: None,
) -> Checkpoint:
    """Write `source` under `plan` to the new directory `target`, and open what was written.

    One matrix is in memory at a time. Raises CheckpointError when the source is quantised already
    or holds a weight that is not finite, FileExistsError when the target exists.
    """
    raw = json.loads((source.path / CONFIG_FILE).read_text("utf-8"))
    changed = plan.applied(raw, source.config)
    config = parse_config(json.dumps(changed).encode(), f"{target}/{CONFIG_FILE}")
    replaced = {shard.name for shard in source.shards} | {CONFIG_FILE, INDEX_FILE}
    shutil.copytree(
        source.path,
        target,
        ignore=lambda folder, names: (
            replaced & set(names) if Path(folder) == source.path else set()
        ),
    )
    done, total = 0, source.num_bytes
    weight_map: dict[str, str] = {}
    for shard in source.shards:
        tensors = [t for t in source.tensors.values() if t.file == shard]
        layout = _layout(tensors, config)
        weight_map |= dict.fromkeys(layout, shard.name)
        with SafetensorsWriter(target / shard.name, layout) as writer:
            for tensor in tensors:
                _write(writer, tensor, layout, plan.scheme)
                done += tensor.num_bytes
                progress(shard.name, done, total)
    (target / CONFIG_FILE).write_text(json.dumps(changed, indent=2), "utf-8")
    if (source.path / INDEX_FILE).exists():
        _write_index(target, weight_map)
    return Checkpoint.open(target)


def _layout(tensors: list[TensorInfo], config: LanguageModelConfig) -> dict[str, Entry]:
    """What a shard will hold: the same names in the same order, scales after their matrices."""
    quantised = quantised_matrices(config)
    layout: dict[str, Entry] = {}
    for tensor in tensors:
        layout[tensor.name] = (quantised.get(tensor.name, tensor.dtype), tensor.shape)
        if tensor.name in quantised:
            layout[tensor.name + SCALE_SUFFIX] = ("F32", (tensor.shape[0], 1))
    return layout


def _write(
    writer: SafetensorsWriter, tensor: TensorInfo, layout: Mapping[str, Entry], scheme: Scheme
) -> None:
    if tensor.name + SCALE_SUFFIX not in layout:
        for block in _stored_bytes(tensor):
            writer.write(tensor.name, block)
        return
    with safe_open(tensor.file, framework="pt") as file:
        try:
            stored, scale = quantise(file.get_tensor(tensor.name), scheme)
        except CheckpointError as error:
            raise CheckpointError(f"{tensor.file}: {tensor.name}: {error}") from error
    writer.write(tensor.name, _bytes(stored))
    writer.write(tensor.name + SCALE_SUFFIX, _bytes(scale))


def _stored_bytes(tensor: TensorInfo) -> Iterator[bytes]:
    with tensor.file.open("rb") as file:
        file.seek(tensor.offset_bytes)
        left = tensor.num_bytes
        while block := file.read(min(left, _COPY_BYTES)):
            left -= len(block)
            yield block


def _bytes(tensor: Tensor) -> bytes:
    # safetensors is little-endian, and so is every machine that torch runs on
    data: bytes = tensor.contiguous().view(torch.uint8).numpy().tobytes()
    return data


def _write_index(target: Path, weight_map: Mapping[str, str]) -> None:
    shards = sorted(set(weight_map.values()))
    written = [t for shard in shards for t in read_header(target / shard).values()]
    index = {
        "metadata": {
            "total_parameters": sum(tensor.num_elements for tensor in written),
            "total_size": sum(tensor.num_bytes for tensor in written),
        },
        "weight_map": dict(sorted(weight_map.items())),
    }
    (target / INDEX_FILE).write_text(json.dumps(index, indent=2), "utf-8")
