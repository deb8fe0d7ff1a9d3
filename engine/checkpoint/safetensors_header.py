"""Reads the header of a safetensors file, and nothing else: no tensor is allocated.

Layout (https://github.com/huggingface/safetensors): 8 bytes little-endian length N, N bytes of
JSON, then the data. The JSON maps each name to dtype, shape and [begin, end) relative to the data;
the spans must tile the data without gap or overlap, which is how a truncated download shows.
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from engine.errors import CheckpointError

DTYPE_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "U16": 2, "I16": 2, "F16": 2,
    "BF16": 2, "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip
MAX_HEADER_BYTES = 100_000_000  # the format's own limit
_LENGTH_BYTES = 8

_NonNegative = Annotated[int, Meta(ge=0)]


class _Entry(msgspec.Struct, frozen=True):
    dtype: str
    shape: tuple[_NonNegative, ...]
    data_offsets: tuple[_NonNegative, _NonNegative]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One stored tensor. `offset_bytes` counts from the start of `file`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    offset_bytes: int
    num_bytes: int

    @property
    def num_elements(self) -> int:
        """Product of the shape."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


def read_header(path: Path) -> dict[str, TensorInfo]:
    """Name -> tensor, as the file's header tells it, checked against the file's size.

    Raises CheckpointError for a missing, truncated, overlong or malformed file.
    """
    try:
        with path.open("rb") as file:
            file_bytes = os.fstat(file.fileno()).st_size
            header_bytes = _header_length(path, file.read(_LENGTH_BYTES), file_bytes)
            header = file.read(header_bytes)
    except OSError as error:
        raise CheckpointError(f"{path}: expected a readable file, got: {error.strerror}") from error
    data_start = _LENGTH_BYTES + header_bytes
    tensors = {
        name: _tensor(path, name, entry, data_start) for name, entry in _parse(path, header).items()
    }
    _check_tiling(path, tensors, data_start, file_bytes)
    return tensors


def _header_length(path: Path, prefix: bytes, file_bytes: int) -> int:
    if len(prefix) < _LENGTH_BYTES:
        raise CheckpointError(
            f"{path}: expected a safetensors file of at least {_LENGTH_BYTES} bytes, "
            f"got {file_bytes}"
        )
    (length,) = struct.unpack("<Q", prefix)
    limit = min(MAX_HEADER_BYTES, file_bytes - _LENGTH_BYTES)
    if length > limit:
        raise CheckpointError(
            f"{path}: truncated or not safetensors: expected a header of at most {limit} bytes "
            f"in a file of {file_bytes}, got a header length of {length}"
        )
    return int(length)


def _parse(path: Path, header: bytes) -> dict[str, _Entry]:
    try:
        raw = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        return {name: msgspec.json.decode(entry, type=_Entry) for name, entry in raw.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path}: expected a safetensors header, got: {error}") from error


def _tensor(path: Path, name: str, entry: _Entry, data_start: int) -> TensorInfo:
    begin, end = entry.data_offsets
    item_bytes = DTYPE_BYTES.get(entry.dtype)
    if item_bytes is None:
        raise CheckpointError(
            f"{path}: {name}: expected a dtype among {', '.join(DTYPE_BYTES)}, got {entry.dtype}"
        )
    expected = math.prod(entry.shape) * item_bytes
    if end - begin != expected:
        raise CheckpointError(
            f"{path}: {name}: expected {expected} bytes for {entry.dtype} {list(entry.shape)}, "
            f"got offsets {begin}..{end}"
        )
    return TensorInfo(name, entry.dtype, entry.shape, path, data_start + begin, expected)


def _check_tiling(
    path: Path, tensors: dict[str, TensorInfo], data_start: int, file_bytes: int
) -> None:
    position = data_start
    for tensor in sorted(tensors.values(), key=lambda t: (t.offset_bytes, t.num_bytes)):
        if tensor.offset_bytes != position:
            raise CheckpointError(
                f"{path}: {tensor.name}: expected its data at byte {position}, "
                f"got {tensor.offset_bytes}"
            )
        position += tensor.num_bytes
    if position != file_bytes:
        kind = "truncated" if file_bytes < position else "overlong"
        raise CheckpointError(f"{path}: {kind}: expected {position} bytes, got {file_bytes}")
