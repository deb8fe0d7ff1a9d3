"""What the streaming layers remember between calls, for many streams, in one allocation.

    |<--------- histories --------->|<-------------- rings, layer by layer -------------->|
    | row 0: conv, conv, ... | row 1 | layer 0: keys of rows 0, 1, .. | values | layer 1 ..|

A layer reserves its span once, when it is built, and never owns memory. A call works on a `Batch`
of some rows. Histories are gathered into one buffer and written back, one copy each way, whatever
the number of layers; rings, the larger part, are read and written where they are. Zeros are a fresh
stream: they are the padding before the first sample, and ring entries that no step has filled yet
are masked by the stream's position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Span:
    """Where one layer's state lies among a row's histories, or a row's rings, and its shape."""

    index: int
    offset: int
    shape: tuple[int, ...]


class StateLayout:
    """Hands out spans of a row while layers are built."""

    def __init__(self) -> None:
        self.histories: list[Span] = []
        self.rings: list[Span] = []
        self.history_floats = 0
        self.ring_floats = 0

    def history(self, steps: int, channels: int) -> Span:
        """Room for a causal convolution's last `steps` inputs."""
        span = Span(len(self.histories), self.history_floats, (steps, channels))
        self.histories.append(span)
        self.history_floats += steps * channels
        return span

    def ring(self, steps: int, heads: int, head_dim: int) -> Span:
        """Room for the keys and values of an attention layer's last `steps` steps."""
        span = Span(len(self.rings), self.ring_floats, (heads, steps, head_dim))
        self.rings.append(span)
        self.ring_floats += 2 * steps * heads * head_dim
        return span

    @property
    def floats(self) -> int:
        """Size of one stream's state."""
        return self.history_floats + self.ring_floats


class StreamState:
    """The state of `rows` streams, allocated once, and how many frames each row has had.

    histories [rows, layout.history_floats]; rings: a layer's (keys, values), each
    [rows, heads, window, head_dim].
    """

    def __init__(self, layout: StateLayout, rows: int, device: torch.device) -> None:
        self.frames = [0] * rows
        memory = torch.zeros(rows * layout.floats, device=device)
        self.histories = memory[: rows * layout.history_floats].view(rows, -1)
        self.rings: list[tuple[Tensor, Tensor]] = []
        for ring in layout.rings:
            start = rows * (layout.history_floats + ring.offset)
            size = 2 * rows * math.prod(ring.shape)
            keys, values = memory[start : start + size].view(2, rows, *ring.shape).unbind(0)
            self.rings.append((keys, values))
        self.bytes_per_row = layout.floats * memory.element_size()
        self.gathered = torch.empty_like(self.histories)
        self.layout = layout
        self._views: dict[int, list[Tensor]] = {}

    @property
    def device(self) -> torch.device:
        """Where the state lives."""
        return self.histories.device

    def reset(self, row: int) -> None:
        """Make one row a fresh stream."""
        self.histories[row].zero_()
        for keys, values in self.rings:
            keys[row].zero_()
            values[row].zero_()
        self.frames[row] = 0

    def open(self, rows: Sequence[int]) -> Batch:
        """Gather rows for one call; `Batch.close` puts the histories back."""
        index = torch.tensor(rows, device=self.device)
        count = len(rows)
        gathered = self.gathered[:count]
        torch.index_select(self.histories, 0, index, out=gathered)
        if count not in self._views:
            self._views[count] = [
                gathered[:, s.offset : s.offset + s.shape[0] * s.shape[1]].view(count, *s.shape)
                for s in self.layout.histories
            ]
        first = [self.frames[row] for row in rows]
        return Batch(self, tuple(rows), index, first, gathered, self._views[count])


@dataclass(slots=True)
class Batch:
    """Some rows of a StreamState during one call.

    index [B]: the rows. first_frame [B]: frames each stream has had before.
    gathered [B, layout.history_floats]: the histories, working copies. histories: views of it, one
    per layer, by Span.index, each [B, steps, channels].
    """

    state: StreamState
    rows: tuple[int, ...]
    index: Tensor
    first_frame: list[int]
    gathered: Tensor
    histories: list[Tensor]

    def close(self, frames: int) -> None:
        """Put the histories back, `frames` frames later."""
        self.state.histories.index_copy_(0, self.index, self.gathered)
        for row in self.rows:
            self.state.frames[row] += frames
