"""Full size on disk: random shards, written as a stream, and memory that is a file.

Shards are written one a layer and renamed when complete, so a run that was interrupted goes on
where it stopped. The modules' parameters are then allocated over files (`torch.from_file`), which
the operating system pages in and out: the model needs disk, not memory.
"""

from __future__ import annotations

import itertools
import math
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from engine.checkpoint.config_json import LanguageModelConfig
from engine.checkpoint.safetensors_header import read_header
from engine.checkpoint.safetensors_writer import SafetensorsWriter
from engine.errors import CheckpointError
from engine.models.fast_ar import FastAR
from engine.models.plain import default_dtype
from engine.models.slow_ar import SlowAR
from engine.models.weights import build_dual_ar, load_dual_ar
from engine.workshop.dryrun.layout import TORCH_DTYPES, Entry, lm_layout, num_bytes

# (what is being done, bytes done, bytes in all)
Progress = Callable[[str, int, int], None]

LIMIT_BYTES = 24 << 30
_SPARE_BYTES = 1 << 30  # left on the disk for everybody else
_BLOCK_ELEMENTS = 1 << 24
_STANDARD_DEVIATION = 0.02  # near the published initializer_range
_SHARDS, _MEMORY = "shards", "memory"


@dataclass(frozen=True, slots=True)
class Materialised:
    """A model of full size with random weights, its parameters on disk."""

    slow: SlowAR
    fast: FastAR
    stored_bytes: int
    mapped_bytes: int


def materialise(
    config: LanguageModelConfig,
    folder: Path,
    limit_bytes: int = LIMIT_BYTES,
    progress: Progress = lambda what, done, total: None,
) -> Materialised:
    """Write, check and load a model under `folder`, which may hold an earlier run's shards.

    Raises CheckpointError when the shards are not what the configuration asks for, OSError when the
    disk lacks room, ValueError when `limit_bytes` does not cover twice the model.
    """
    layout = lm_layout(config)
    _check_room(folder, 2 * num_bytes(layout), limit_bytes)
    paths = write_shards(layout, folder / _SHARDS, progress)
    check_shards(layout, paths)
    slow, fast, mapped = _load_mapped(config, paths, folder / _MEMORY, progress)
    return Materialised(slow, fast, num_bytes(layout), mapped)


def clean(folder: Path) -> None:
    """Remove what `materialise` put under `folder`, and `folder` itself if that was all."""
    for name in (_SHARDS, _MEMORY):
        shutil.rmtree(folder / name, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _check_room(folder: Path, needed: int, limit_bytes: int) -> None:
    if needed > limit_bytes:
        raise ValueError(f"expected a limit of at least {needed} bytes, got {limit_bytes}")
    folder.mkdir(parents=True, exist_ok=True)
    there = sum(file.stat().st_size for file in folder.glob(f"{_SHARDS}/*.safetensors"))
    free = shutil.disk_usage(folder).free
    if needed - there + _SPARE_BYTES > free:
        raise OSError(
            f"{folder}: expected {needed - there + _SPARE_BYTES} bytes of free disk, got {free}"
        )


def write_shards(layout: dict[str, Entry], folder: Path, progress: Progress) -> list[Path]:
    """Random shards, one a layer; those that are there already are kept."""
    folder.mkdir(exist_ok=True)
    groups: dict[str, dict[str, Entry]] = {}
    for name, entry in layout.items():
        head, layers, rest = name.partition(".layers.")
        group = f"{head}-{int(rest.split('.', 1)[0]):03d}" if layers else "rest"
        groups.setdefault(group, {})[name] = entry
    done, total, paths = 0, num_bytes(layout), []
    for group, entries in groups.items():
        path = folder / f"{group}.safetensors"
        if not path.exists():
            part = path.with_suffix(".part")
            with SafetensorsWriter(part, entries) as writer:
                for name, (dtype, shape) in entries.items():
                    for block in _random_blocks(name, dtype, shape):
                        writer.write(name, block.view(torch.uint8).numpy().tobytes())
            os.replace(part, path)
        done += num_bytes(entries)
        progress(f"writing {group}", done, total)
        paths.append(path)
    return paths


def _random_blocks(name: str, dtype: str, shape: tuple[int, ...]) -> Iterator[Tensor]:
    """A tensor's elements in blocks. The same for the same name, so a resumed run is no other."""
    noise = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    left = math.prod(shape)
    while left > 0:
        count = min(left, _BLOCK_ELEMENTS)
        left -= count
        if name.endswith("norm.weight"):
            yield torch.ones(count, dtype=TORCH_DTYPES[dtype])
        elif dtype == "I8":
            yield torch.randint(-127, 128, (count,), generator=noise, dtype=torch.int8)
        else:
            values = torch.empty(count, dtype=torch.float32 if dtype == "F32" else torch.bfloat16)
            values.normal_(0, _STANDARD_DEVIATION, generator=noise)
            # 8-bit matrices fill their range; their scales bring them back to the usual size
            if dtype == "F32":
                values = values.abs_() / 100
            elif dtype == "F8_E4M3":
                values *= 100 / _STANDARD_DEVIATION
            yield values.clamp_(-448, 448).to(TORCH_DTYPES[dtype])


def check_shards(layout: dict[str, Entry], paths: list[Path]) -> None:
    """Names, types, shapes and sizes as the files say them. Raises CheckpointError."""
    found: dict[str, Entry] = {}
    for path in paths:
        found |= {t.name: (t.dtype, t.shape) for t in read_header(path).values()}
    wrong = sorted(n for n in layout.keys() | found.keys() if layout.get(n) != found.get(n))
    if wrong:
        name = wrong[0]
        raise CheckpointError(
            f"{paths[0].parent}: {len(wrong)} tensors differ: {name}: expected {layout.get(name)}, "
            f"got {found.get(name)}; remove the folder to write them anew"
        )


def _load_mapped(
    config: LanguageModelConfig, paths: list[Path], folder: Path, progress: Progress
) -> tuple[SlowAR, FastAR, int]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    hook = register_module_parameter_registration_hook(_to_meta)  # type: ignore[arg-type]
    try:
        with default_dtype(torch.bfloat16):
            slow, fast = build_dual_ar(config, 1)
    finally:
        hook.remove()
    mapped = sum(_map_parameters(m, folder / name) for name, m in (("slow", slow), ("fast", fast)))

    def tensors() -> Iterator[tuple[str, Tensor]]:
        done, total = 0, sum(path.stat().st_size for path in paths)
        for path in paths:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():
                    yield name, file.get_tensor(name)
            done += path.stat().st_size
            progress(f"loading {path.stem}", done, total)

    load_dual_ar(slow, fast, tensors())
    return slow, fast, mapped


def _to_meta(module: nn.Module, name: str, parameter: nn.Parameter) -> nn.Parameter:
    """Constructors initialise what they allocate; on meta both cost nothing."""
    return nn.Parameter(parameter.to("meta"), requires_grad=False)


def _map_parameters(module: nn.Module, prefix: Path) -> int:
    """Put every parameter of a module over a file of its own; bytes of all of them."""
    numbers, total = itertools.count(), 0
    for part in module.modules():
        for name, meta in list(part.named_parameters(recurse=False)):
            file = prefix.with_name(f"{prefix.name}-{next(numbers):04d}")
            flat = torch.from_file(str(file), shared=True, size=meta.numel(), dtype=meta.dtype)
            part.register_parameter(name, nn.Parameter(flat.view(meta.shape), requires_grad=False))
            total += meta.numel() * meta.element_size()
    return total
