"""What the streaming layers remember between calls, for many streams, in one tensor.

    row of the tensor = one stream:
    |<------- histories ------->|<------------------- rings ------------------->|
    | conv | conv | ... | conv  | layer 0: W steps of K and V | layer 1: ... |...|

A layer reserves its span once, when it is built, and never owns memory. A call works on `Batch`, a
view of some rows. Histories are gathered into one buffer and put back by one copy each way, whatever
the number of layers; rings, the larger part, are read and written where they are. A row of zeros is
a fresh stream: zeros are the padding before the first sample, and ring entries that no step has
filled yet are masked by the stream's position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Span:
    """Where one layer's state lies in a row."""

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
        span = Span(len(self.rings), self.ring_floats, (steps, 2, heads, head_dim))
        self.rings.append(span)
        self.ring_floats += steps * 2 * heads * head_dim
        return span

    @property
    def floats(self) -> int:
        """Size of one stream's state."""
        return self.history_floats + self.ring_floats


class StreamState:
    """The state of `rows` streams, allocated once: [rows, layout.floats] and a frame count a row."""

    def __init__(self, layout: StateLayout, rows: int, device: torch.device) -> None:
        self.rows = rows
        self.frames = [0] * rows
        self._all = torch.zeros(rows, layout.floats, device=device)
        self._histories = self._all[:, : layout.history_floats]
        self._gathered = torch.empty(rows, layout.history_floats, device=device)
        self._layout = layout
        self._views: dict[int, list[Tensor]] = {}
        self.rings = [
            self._all[:, layout.history_floats + ring.offset :][
                :, : ring.shape[0] * ring.shape[1] * ring.shape[2] * ring.shape[3]
            ].view(rows, *ring.shape)
            for ring in layout.rings
        ]

    @property
    def device(self) -> torch.device:
        """Where the state lives."""
        return self._all.device

    @property
    def bytes_per_row(self) -> int:
        """Memory of one stream."""
        return self._all.shape[1] * self._all.element_size()

    def reset(self, row: int) -> None:
        """Make one row a fresh stream."""
        self._all[row].zero_()
        self.frames[row] = 0

    def open(self, rows: Sequence[int]) -> Batch:
        """Gather rows for one call; `Batch.close` puts the histories back."""
        index = torch.tensor(rows, device=self.device)
        count = len(rows)
        gathered = self._gathered[:count]
        torch.index_select(self._histories, 0, index, out=gathered)
        if count not in self._views:
            self._views[count] = [
                gathered[:, s.offset : s.offset + s.shape[0] * s.shape[1]].view(count, *s.shape)
                for s in self._layout.histories
            ]
        consecutive = all(b - a == 1 for a, b in zip(rows, rows[1:], strict=False))
        where = slice(rows[0], rows[0] + count) if consecutive else index
        first = [self.frames[row] for row in rows]
        return Batch(self, tuple(rows), index, where, first, self._views[count])


@dataclass(slots=True)
class Batch:
    """Some rows of a StreamState during one call.

    index [B]: the rows. where: the same as a slice where they are consecutive, which spares copies.
    first_frame [B]: frames each stream has had before. histories: working copies, by Span.index.
    """

    state: StreamState
    rows: tuple[int, ...]
    index: Tensor
    where: slice | Tensor
    first_frame: list[int]
    histories: list[Tensor]

    def close(self, frames: int) -> None:
        """Put the histories back, `frames` frames later."""
        gathered = self.state._gathered[: len(self.rows)]
        self.state._histories.index_copy_(0, self.index, gathered)
        for row in self.rows:
            self.state.frames[row] += frames
