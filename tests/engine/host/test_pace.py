"""Pace against a simulated engine, in virtual time: who runs never falls silent."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.host.pace import Line, Pace

FRAME_MS = 46.44
SLOTS = 64
GAP_MS = 100.0


@dataclass
class Engine:
    """SGLang as far as time goes: prefills come first, all that wait; then a step for everybody.

    A step takes `base + each * streams`, a prefill `prefill`, each up to a fifth longer. A listener
    hears frames from the first one on, as they come.
    """

    base: float
    each: float
    prefill: float
    held: bool = True
    now: float = 0.0  # ms
    peak: int = 0
    gaps: dict[int, float] = field(default_factory=dict)
    waits: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pace = Pace(FRAME_MS)
        self.random = random.Random(1)

    def spend(self, ms: float) -> None:
        self.now += ms * self.random.uniform(1.0, 1.2)

    def calibrate(self) -> None:
        """What the worker does at its start: one stream, then many."""
        for streams in (1, 16):
            names = [f"{streams}-{i}" for i in range(streams)]
            for name in names:
                self.pace.start(name, self.now / 1000)
            self.spend(self.prefill * streams)
            for step in range(4):
                if step:
                    self.spend(self.base + self.each * streams)
                for name in names:
                    self.pace.frames(name, 1, self.now / 1000)
            for name in names:
                self.pace.end(name)

    def run(self, arrivals: Sequence[float], lengths: Sequence[int]) -> None:
        start = self.now
        coming = deque((start + at, i) for i, at in enumerate(sorted(arrivals)))
        line: deque[tuple[float, int]] = deque()
        made: dict[int, int] = {}
        heard_until: dict[int, float] = {}
        while coming or line or made:
            while coming and coming[0][0] <= self.now:
                line.append(coming.popleft())
            while line and len(made) < SLOTS and self.admits():
                at, i = line.popleft()
                self.waits[i] = self.now - at
                self.pace.start(str(i), self.now / 1000)
                made[i] = 0
            if not made:
                self.now = max(self.now, coming[0][0])
                continue
            self.peak = max(self.peak, len(made))
            due = [i for i, frames in made.items() if not frames] or list(made)
            starts = not made[due[0]]
            self.spend(self.prefill * len(due) if starts else self.base + self.each * len(due))
            for i in due:
                heard = heard_until.get(i, self.now)
                self.gaps[i] = max(self.gaps.get(i, 0.0), self.now - heard)
                heard_until[i] = max(heard, self.now) + FRAME_MS
                self.pace.frames(str(i), 1, self.now / 1000)
                made[i] += 1
                if made[i] == lengths[i]:
                    self.pace.end(str(i))
                    del made[i]

    def admits(self) -> bool:
        return not self.held or self.pace.may_start(self.now / 1000)


def load(spacing_ms: float, streams: int = 80) -> tuple[list[float], list[int]]:
    rng = random.Random(5)
    arrivals = [spacing_ms * i * rng.uniform(0.5, 1.5) for i in range(streams)]
    return arrivals, [rng.randint(20, 160) for _ in range(streams)]


MACHINES = [
    (8, 0.7, 15),
    (10, 2, 20),
    (10, 2, 60),
    (30, 1, 40),
    (5, 5, 30),
    (30, 0, 100),
    (44, 0, 10),
]


@pytest.mark.parametrize("spacing_ms", [0, 30, 200])
@pytest.mark.parametrize(("base", "each", "prefill"), MACHINES)
def test_who_runs_never_falls_silent(
    base: float, each: float, prefill: float, spacing_ms: float
) -> None:
    engine = Engine(base, each, prefill)
    engine.calibrate()
    engine.run(*load(spacing_ms))
    assert max(engine.gaps.values()) <= GAP_MS
    assert len(engine.gaps) == 80  # and everybody had a turn


@settings(max_examples=40)
@given(st.floats(2, 40), st.floats(0, 5), st.floats(2, 150), st.floats(0, 400), st.integers(1, 40))
def test_whatever_the_machine(
    base: float, each: float, prefill: float, spacing_ms: float, streams: int
) -> None:
    engine = Engine(base, each, prefill)
    engine.calibrate()
    engine.run(*load(spacing_ms, streams))
    assert len(engine.gaps) == streams
    # a machine that cannot serve one listener cannot be helped
    if (base + each) * 1.2 < FRAME_MS:
        assert max(engine.gaps.values()) <= GAP_MS


def test_without_it_they_do() -> None:
    engine = Engine(10, 2, 20, held=False)
    engine.run(*load(30))
    assert sum(gap > GAP_MS for gap in engine.gaps.values()) > 40


def test_the_machine_is_used_to_near_its_limit() -> None:
    # steps of 10 + 2 n ms, up to a fifth longer: 14 streams fit into a frame
    engine = Engine(10, 2, 20)
    engine.calibrate()
    engine.run(*load(30))
    assert 11 <= engine.peak <= 17


def test_below_the_limit_nobody_waits_long() -> None:
    # 80 streams over 16 s, each of which takes 2 s here: 6 at a time, of 20 that would fit
    engine = Engine(8, 0.7, 15)
    engine.calibrate()
    engine.run(*load(200))
    assert max(engine.waits.values()) < 100
    assert sum(engine.waits.values()) / 80 < 20


def test_nobody_waits_when_nothing_runs() -> None:
    pace = Pace(FRAME_MS)
    assert pace.may_start(0.0)
    pace.start("slow", 0.0)
    pace.frames("slow", 1, 5.0)
    pace.frames("slow", 1, 9.0)
    assert not pace.may_start(9.0)
    pace.end("slow")
    pace.end("slow")
    assert pace.may_start(9.0)


def test_a_lead_is_sound_made_less_time_since_the_first() -> None:
    pace = Pace(FRAME_MS)
    pace.start("a", 1.0)
    assert pace.lead_ms("a", 2.0) is None
    pace.frames("a", 1, 2.0)
    pace.frames("a", 3, 2.01)
    assert pace.lead_ms("a", 2.1) == pytest.approx(4 * FRAME_MS - 100)
    pace.frames("unknown", 1, 2.1)


def test_a_line_is_fitted_and_old_points_fade() -> None:
    line = Line(remembered=8)
    assert (line.slope, line.at(3)) == (0.0, 0.0)
    line.add(2, 10, 1)
    assert line.slope == pytest.approx(5)  # one x: through the origin
    line.add(4, 14, 1)
    assert (line.slope, line.at(10)) == (pytest.approx(2), pytest.approx(26))
    for _ in range(100):
        line.add(2, 20, 1)
        line.add(4, 10, 1)
    assert line.slope == 0.0  # never negative
    assert line.at(3) == pytest.approx(15, abs=1)
