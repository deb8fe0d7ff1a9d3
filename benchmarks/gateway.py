"""How many real-time Opus sessions one core holds, beside bare servers of the same stack.

    uv run python -m benchmarks.gateway [--rounds 1]

All servers (see `gateway_servers`) send packets of the same sizes on the same time line to the same
listeners; a level is held when the 99th percentile of lateness is under 10 ms. The gateway's engine
takes no time, so this is the price of everything between text and socket: segments, word times,
resampling, Opus, pacing, barge-in. What it is measured against:

- `bare`: a handler that sends each ready packet when that packet is due, as one would write it.
  `sessions_ratio` is the gateway's sessions over its; expectation: at least half as many.
- `bare_grouped`: the same, but sending in groups (9 packets at the default lead), as the gateway
  does to save wake-ups. `sessions_ratio_grouped` is what all of the gateway's work costs.
- `bare_encoding`: grouped too, but each session makes its own Opus packets from ready samples, as
  any server must that sends each listener something else. `sessions_ratio_encoding` is what is left
  to the gateway's own work. No gateway that encodes can come closer to the other two than
  `encoding_ratio_limit` (to `bare`) and `encoding_ratio_grouped_limit`: the share of their sessions
  that this one holds, with Opus alone.

Needs two cores, one for the server and one for the load; what else runs on them makes all servers
look worse, and `starved_share` says how much it did: figures mean something where it is near 0. The
CPU time per packet (`us_per_packet`, and `cost_ratio` and its kin: theirs over the gateway's)
suffers less. `sound_us_per_packet` is the gateway's path from the engine's PCM to a packet behind
its header (resampling, seams, Opus), `opus_us_per_packet` the encoder in it, measured alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict

import uvloop

from benchmarks.parts.gateway_load import Level, measure, text_frame
from benchmarks.parts.gateway_servers import (
    GROUPS,
    LEAD_MS,
    encoded,
    ready_frames,
    ready_samples,
    speech_text,
)
from benchmarks.parts.report import Spread, finish, say

LIMIT_MS = 10.0
RAMP_S, WINDOW_S = 10.0, 5.0
SPEECH_S = 30.0
FIRST_LEVEL = {"bare": 700, "bare_grouped": 1400, "bare_encoding": 450, "gateway": 350}
FULL_SHARE = 0.9  # of the core: about where packets begin to be late
ATTEMPTS = 3  # at a level that was missed while other programs had the server's core ...
QUIET_SHARE = 0.02  # ... for more than this share of the time
PRECISION = 1.07  # neighbouring levels at the end of the search
MOST_LEVELS = 8


def commands() -> bytes:
    """What every listener sends."""
    return (
        text_frame({"type": "configure", "context": "c", "lead_ms": LEAD_MS})
        + text_frame({"type": "text", "context": "c", "text": speech_text(SPEECH_S)})
        + text_frame({"type": "end", "context": "c"})
    )


class Search:
    """Which level to try next: first a guess from the server's load, then ever closer."""

    def __init__(self, first: int) -> None:
        self.sessions = first
        self._held, self._missed = 0, 0  # 0: none yet
        self._step = PRECISION

    def note(self, level: Level) -> bool:
        """Take what a level showed. Returns whether another one is worth trying."""
        if level.lateness_p99_ms < LIMIT_MS:
            self._held = level.sessions
        else:
            self._missed = level.sessions
        if not self._missed:
            guess = FULL_SHARE / max(level.server_share, 0.01)
            self.sessions = int(self._held * min(max(guess, PRECISION), 4.0))
        else:
            middle = (self._held * self._missed) ** 0.5
            self.sessions = round(max(self._missed / self._step, middle))
            self._step **= 2
        done = self._missed and self._missed <= PRECISION * self._held
        return not done and self.sessions >= 2 and self.sessions not in (self._held, self._missed)


async def hold(kind: str, server_core: int) -> list[Level]:
    """Search for the most sessions that a server holds; return every level that was tried."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.parts.gateway_servers",
        kind, str(server_core), str(SPEECH_S),
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        levels: list[Level] = []
        search = Search(FIRST_LEVEL[kind])
        for _ in range(MOST_LEVELS):
            for _ in range(ATTEMPTS):
                level = await measure(
                    port, process.pid, search.sessions, commands(), GROUPS[kind], RAMP_S, WINDOW_S
                )
                levels.append(level)
                say(f"{kind}: {level}")
                if level.lateness_p99_ms < LIMIT_MS or (level.starved_share or 0.0) < QUIET_SHARE:
                    break
            if not search.note(level):
                break
        return levels
    finally:
        process.terminate()
        await process.wait()


def us_per_packet(make: Callable[[], Iterable[bytes]]) -> float:
    """CPU time of making a frame; the least of a few tries."""
    found = []
    for _ in range(6):
        start_s = time.process_time()
        count = sum(1 for _ in make())
        found.append(1e6 * (time.process_time() - start_s) / count)
    return min(found)


def best(levels: list[Level]) -> Level:
    """The most sessions that were held; the smallest level tried if none was."""
    held = [level for level in levels if level.lateness_p99_ms < LIMIT_MS]
    return max(held, key=lambda level: level.sessions) if held else levels[-1]


def ratios(found: dict[str, list[Level]], kind: str, over: str) -> Spread:
    """Sessions of one kind over another's, of each round."""
    pairs = zip(found[kind], found[over], strict=True)
    return Spread.of([a.sessions / b.sessions for a, b in pairs])


async def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    rounds = parser.parse_args().rounds
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit(f"expected two cores, got {len(cores)}")
    os.sched_setaffinity(0, {cores[1]})
    text = speech_text(10.0)
    sound_us = us_per_packet(lambda: ready_frames(text))
    samples = ready_samples(text)
    opus_us = us_per_packet(lambda: encoded(samples))
    say(f"making a packet takes {sound_us:.0f} us, {opus_us:.0f} us of it Opus")
    found: dict[str, list[Level]] = {kind: [] for kind in FIRST_LEVEL}
    for _ in range(rounds):
        for kind, levels in found.items():
            levels.append(best(await hold(kind, cores[0])))
    cost_us = {
        kind: statistics.median(level.server_us_per_packet for level in levels)
        for kind, levels in found.items()
    }
    finish(
        benchmark="gateway",
        sessions_ratio=ratios(found, "gateway", "bare").median,
        sessions_ratio_spread=ratios(found, "gateway", "bare"),
        sessions_ratio_grouped=ratios(found, "gateway", "bare_grouped").median,
        sessions_ratio_encoding=ratios(found, "gateway", "bare_encoding").median,
        encoding_ratio_limit=ratios(found, "bare_encoding", "bare").median,
        encoding_ratio_grouped_limit=ratios(found, "bare_encoding", "bare_grouped").median,
        sessions={
            kind: Spread.of([level.sessions for level in levels]) for kind, levels in found.items()
        },
        us_per_packet=cost_us,
        cost_ratio=round(cost_us["bare"] / cost_us["gateway"], 3),
        cost_ratio_grouped=round(cost_us["bare_grouped"] / cost_us["gateway"], 3),
        cost_ratio_encoding=round(cost_us["bare_encoding"] / cost_us["gateway"], 3),
        sound_us_per_packet=round(sound_us, 1),
        opus_us_per_packet=round(opus_us, 1),
        load_average=os.getloadavg()[0],
        best={kind: [asdict(level) for level in levels] for kind, levels in found.items()},
    )


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
