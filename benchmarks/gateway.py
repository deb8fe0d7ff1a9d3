"""How many real-time Opus sessions one core holds, beside a bare server of the same stack.

    uv run python -m benchmarks.gateway [--rounds 1]

Both servers (see `gateway_servers`) send the same packets on the same schedule to the same
listeners; a level is held when the 99th percentile of lateness is under 10 ms. The engine takes no
time, so this is the price of everything between text and socket: segments, word times, resampling,
Opus, pacing, barge-in. Expectation: at least half as many sessions as the bare server. Needs two
cores, one for the server and one for the load; what else runs on them makes both servers look
worse, and `starved_share` says how much they did: figures mean something where it is near 0. The
CPU time per packet suffers less: `cost_ratio` is the bare server's over the gateway's. The bare
server's packets are ready; making one (`sound_us_per_packet`: resampling, seams, Opus, measured
alone) is work that no gateway is spared, so `cost_ratio_limit` is what a gateway that adds nothing
to it would reach, and `cost_ratio_without_sound` leaves the work out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict

import uvloop

from benchmarks.gateway_load import Level, measure, text_frame
from benchmarks.gateway_servers import LEAD_MS, ready_frames, speech_text
from benchmarks.report import Spread, finish, say

LIMIT_MS = 10.0
RAMP_S, WINDOW_S = 3.0, 4.0
SPEECH_S = 30.0
FIRST_LEVEL = {"gateway": 60, "bare": 150}
ATTEMPTS = 3  # at a level that was missed while other programs had the server's core ...
QUIET_SHARE = 0.02  # ... for more than this share of the time
PRECISION = 1.07  # neighbouring levels at the end of the search


def commands() -> bytes:
    """What every listener sends."""
    return (
        text_frame({"type": "configure", "context": "c", "lead_ms": LEAD_MS})
        + text_frame({"type": "text", "context": "c", "text": speech_text(SPEECH_S)})
        + text_frame({"type": "end", "context": "c"})
    )


async def hold(kind: str, server_core: int) -> list[Level]:
    """Search for the most sessions that a server holds; return every level that was tried."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.gateway_servers", kind, str(server_core), str(SPEECH_S),
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        port = int(await process.stdout.readline())
        levels: list[Level] = []
        low, high = 0, None
        sessions = FIRST_LEVEL[kind]
        while high is None or high > PRECISION * low:
            for _ in range(ATTEMPTS):
                level = await measure(port, process.pid, sessions, commands(), RAMP_S, WINDOW_S)
                levels.append(level)
                say(f"{kind}: {level}")
                if level.lateness_p99_ms < LIMIT_MS or (level.starved_share or 0.0) < QUIET_SHARE:
                    break
            if level.lateness_p99_ms < LIMIT_MS:
                low = sessions
            else:
                high = sessions
            sessions = int(1.4 * low) if high is None else round((low + high) / 2)
            if sessions < 2 or sessions in (low, high):
                break
        return levels
    finally:
        process.terminate()
        await process.wait()


def sound_us_per_packet() -> float:
    """CPU time from the engine's PCM to an Opus packet behind its header."""
    text = speech_text(10.0)
    ready_frames(text)
    start_s = time.process_time()
    frames = ready_frames(text)
    return 1e6 * (time.process_time() - start_s) / len(frames)


def best(levels: list[Level]) -> Level:
    """The most sessions that were held; the smallest level tried if none was."""
    held = [level for level in levels if level.lateness_p99_ms < LIMIT_MS]
    return max(held, key=lambda level: level.sessions) if held else levels[-1]


async def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1)
    rounds = parser.parse_args().rounds
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit(f"expected two cores, got {len(cores)}")
    os.sched_setaffinity(0, {cores[1]})
    sound_us = min(sound_us_per_packet() for _ in range(5))
    say(f"making a packet takes {sound_us:.0f} us")
    found: dict[str, list[Level]] = {"bare": [], "gateway": []}
    for _ in range(rounds):
        for kind, levels in found.items():
            levels.append(best(await hold(kind, cores[0])))
    sessions = {kind: [level.sessions for level in levels] for kind, levels in found.items()}
    cost_us = {
        kind: statistics.median(level.server_us_per_packet for level in levels)
        for kind, levels in found.items()
    }
    ratios = [g / b for g, b in zip(sessions["gateway"], sessions["bare"], strict=True)]
    finish(
        benchmark="gateway",
        sessions_ratio=Spread.of(ratios).median,
        sessions_ratio_spread=Spread.of(ratios),
        sessions=Spread.of(sessions["gateway"]),
        bare_sessions=Spread.of(sessions["bare"]),
        us_per_packet=cost_us["gateway"],
        bare_us_per_packet=cost_us["bare"],
        cost_ratio=round(cost_us["bare"] / cost_us["gateway"], 3),
        sound_us_per_packet=round(sound_us, 1),
        cost_ratio_limit=round(cost_us["bare"] / (cost_us["bare"] + sound_us), 3),
        cost_ratio_without_sound=round(cost_us["bare"] / (cost_us["gateway"] - sound_us), 3),
        load_average=os.getloadavg()[0],
        best={kind: [asdict(level) for level in levels] for kind, levels in found.items()},
    )


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
