"""When a worker is given up."""

from __future__ import annotations

from engine.api import EngineStats
from engine.link.pulse import Pulse


def stats(running: int, frames: int) -> EngineStats:
    return EngineStats(running, 0, 8, frames, 0, 0)


def test_silence_is_a_fault_only_without_a_break() -> None:
    pulse = Pulse(silent_beats=3)
    for _ in range(5):
        assert pulse.beat(False, None) is None
        assert pulse.beat(False, None) is None
        assert pulse.beat(True, None) is None  # late, but it came
    assert pulse.beat(False, None) is None
    assert pulse.beat(False, None) is None
    reason = pulse.beat(False, None)
    assert reason is not None
    assert "not answered" in reason


def test_streams_without_frames_are_a_fault() -> None:
    pulse = Pulse(stuck_beats=3)
    for _ in range(10):
        assert pulse.beat(True, stats(0, 5)) is None  # idle is none
    for frames in range(10):
        assert pulse.beat(True, stats(2, frames)) is None
    assert pulse.beat(True, stats(2, 9)) is None
    assert pulse.beat(True, stats(1, 9)) is None
    reason = pulse.beat(True, stats(1, 9))
    assert reason is not None
    assert "no frame" in reason
