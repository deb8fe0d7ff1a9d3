"""Writes a safetensors file tensor by tensor, so that a shard of any size needs little memory.

The format wants the header first: the caller says what will come, then brings it in that order.
An interrupted file is begun again: who wants to resume writes many small ones.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from engine.checkpoint.safetensors_header import DTYPE_BYTES

_ALIGNMENT_BYTES = 8  # of the data's start, as the format's own library does

Entry = tuple[str, tuple[int, ...]]  # dtype as safetensors spells it, shape


class SafetensorsWriter:
    """A file in the making. `layout`: name -> dtype and shape, in the order of writing."""

    def __init__(self, path: Path, layout: Mapping[str, Entry]) -> None:
        self._path = path
        self._header, self._spans = _header(layout)
        self._waiting = list(layout)
        self._file: BinaryIO | None = None

    @property
    def num_bytes(self) -> int:
        """Size of the finished file."""
        return len(self._header) + max((end for _, end in self._spans.values()), default=0)

    def __enter__(self) -> SafetensorsWriter:
        self._file = self._path.open("wb")
        self._file.write(self._header)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._file is not None
        self._file.close()
        if kind is None and self._waiting:
            raise ValueError(f"{self._path}: expected {self._waiting[0]} and more, got no more")

    def write(self, name: str, data: bytes | memoryview) -> None:
        """The next tensor's bytes, or, in several calls, the parts of them.

        Raises ValueError when it is another's turn, or when there are too many.
        """
        if self._file is None:
            raise ValueError(f"{self._path}: expected an open file, got one that is not open")
        if not self._waiting or self._waiting[0] != name:
            expected = self._waiting[0] if self._waiting else "no more"
            raise ValueError(f"{self._path}: expected {expected}, got {name}")
        self._file.write(data)
        position, end = self._file.tell() - len(self._header), self._spans[name][1]
        if position > end:
            raise ValueError(f"{self._path}: {name}: got {position - end} bytes too many")
        if position == end:
            self._waiting.pop(0)


def _header(layout: Mapping[str, Entry]) -> tuple[bytes, dict[str, tuple[int, int]]]:
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    spans, end = {}, 0
    for name, (dtype, shape) in layout.items():
        begin, end = end, end + math.prod(shape) * DTYPE_BYTES[dtype]
        spans[name] = (begin, end)
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT_BYTES)
    return struct.pack("<Q", len(text)) + text, spans
