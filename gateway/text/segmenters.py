"""The segmenter that a context's settings ask for."""

from __future__ import annotations

from gateway.text.segment import Segmenter, SegmentPolicy
from gateway.types import ContextSettings
from gateway.utterance.context import SegmenterLike


def segmenter_for(settings: ContextSettings) -> SegmenterLike:
    """A new segmenter, for one context."""
    policy = SegmentPolicy(
        mode=settings.segment_mode,
        max_buffer_delay_ms=settings.max_buffer_delay_ms,
        speakable=settings.speakable,
        normalize=settings.normalize,
    )
    return Segmenter(policy, settings.pronunciations)
