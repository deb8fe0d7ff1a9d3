"""Whether a worker that has not ended still works, judged by its answers to a regular question."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.api import EngineStats

BEAT_S = 2.0  # between two questions, and how long an answer may take

# ten seconds: longer than anything but a fault holds up the worker's loop
_SILENT_BEATS = 5
# two minutes: the longest prefill of a large model on a CPU makes no frame for less
_STUCK_BEATS = 60


@dataclass(slots=True)
class Pulse:
    """Told of every beat. Counting beats, not time, forgives that we were stopped ourselves."""

    silent_beats: int = _SILENT_BEATS
    stuck_beats: int = _STUCK_BEATS
    _silent: int = field(default=0, init=False)
    _stuck: int = field(default=0, init=False)
    _frames: int = field(default=-1, init=False)

    def beat(self, heard: bool, stats: EngineStats | None) -> str | None:
        """Why the worker is to be given up, or None.

        `heard`: it has sent something since the last beat. `stats`: its answer, if it came in time.
        """
        self._silent = 0 if heard or stats is not None else self._silent + 1
        if self._silent >= self.silent_beats:
            return f"the engine's worker has not answered for {self.silent_beats} beats"
        if stats is None:
            return None
        works = stats.running == 0 or stats.frames_total != self._frames
        self._stuck = 0 if works else self._stuck + 1
        self._frames = stats.frames_total
        if self._stuck >= self.stuck_beats:
            return (
                f"the engine has {stats.running} streams and has made no frame for "
                f"{self.stuck_beats * BEAT_S:.0f} s"
            )
        return None
