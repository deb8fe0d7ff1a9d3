"""What the core needs of a segmenter, and how chains and segmenters are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gateway.types.formats import AudioChain, AudioFormat
from gateway.types.settings import ContextSettings


class SegmentLike(Protocol):
    """Characters `start`..`end` of a context's text, and what to say for them."""

    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def spoken(self) -> str: ...
    @property
    def pause_ms(self) -> float: ...
    def raw_index(self, spoken_index: int) -> int:
        """The index in `text` that belongs to an index in `spoken`."""
        ...


class SegmenterLike(Protocol):
    """Cuts one context's text, incrementally."""

    def push(self, text: str, now_ms: float) -> Sequence[SegmentLike]: ...
    def flush(self) -> Sequence[SegmentLike]: ...
    def tick(self, now_ms: float) -> Sequence[SegmentLike]: ...
    def next_deadline_ms(self) -> float | None: ...
    def set_lead_ms(self, lead_ms: float) -> None: ...


SegmenterFactory = Callable[[ContextSettings], SegmenterLike]
ChainFactory = Callable[[AudioFormat, float], AudioChain]  # format and speed -> a new context's
