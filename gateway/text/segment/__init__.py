"""Incremental text to speakable segments: sans-IO, synchronous, the time is passed in.

    text pieces -> Segmenter -> Segment(text=raw slice, spoken=what the engine gets, pause_ms)

Theory of operation. Characters are taken one at a time, so that the result cannot depend on how
the input was cut into pieces. At each place where a segment could end (`boundary.is_candidate`)
the text before it and the first characters after it are judged (`boundary.judge`); a judgement
that needs more text waits for it, and only `tick` (time) or `flush` (the client) hurry it on.
Whether a boundary is then taken depends on lengths and on the listener's lead (`SegmentPolicy`).
"""

from gateway.text.segment.policy import Cut, Segment, SegmentPolicy
from gateway.text.segment.segmenter import Segmenter, segmenter_for

__all__ = ["Cut", "Segment", "SegmentPolicy", "Segmenter", "segmenter_for"]
