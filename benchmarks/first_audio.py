"""From the last needed text to the first Opus packet, over a real socket, with the real engine.

    uv run python -m benchmarks.first_audio

A client streams a sentence a few characters at a time, as an LLM does, and the clock starts with
the character that completes the first segment. Expectation: the packet leaves when one frame was
made (the codec and the audio chain need no look-ahead), so the engine's share is one prefill, one
step and one codec frame. Shown beside it: the same with eight other streams running.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks.parts.report import Spread, finish, say, tree_memory_mib
from clients.python import connect
from engine.link.client import WorkerEngine
from engine.worker_config import EngineConfig
from gateway.config import Config
from gateway.server.serving import running

ROUNDS = 15
BACKGROUND_STREAMS = 8
PIECES = ["Thank", " you", " for", " list", "ening", " to", " me", ". ", "More"]


async def first_packet(url: str) -> tuple[float, float, int]:
    """One utterance -> (ms from the deciding text to the packet's arrival, the gateway's own
    figure in ms, frames made when the packet left)."""
    async with connect(url) as client:
        context = client.context(sampling={"seed": 1}, lead_ms=0)
        for piece in PIECES[:-1]:
            await context.send(piece)
        # a sentence ends when what follows begins: this character decides it
        await context.send(PIECES[-1])
        start = time.perf_counter()
        await context.end()
        arrived_ms: float | None = None
        async for _ in context:
            if arrived_ms is None:
                arrived_ms = 1000 * (time.perf_counter() - start)
        done = context.done
        assert done is not None
        assert arrived_ms is not None
        assert done.first_audio_ms is not None
        assert done.first_audio_frames is not None
        return arrived_ms, done.first_audio_ms, done.first_audio_frames


async def busy(url: str, stop: asyncio.Event) -> None:
    """A listener in real time: one utterance after the other."""
    async with connect(url) as client:
        while not stop.is_set():
            context = client.context()
            await context.send("Thank you for listening to this short test.")
            await context.end()
            async for _ in context:
                pass


async def main() -> None:
    """Run and report."""
    say("starting the engine")
    engine = WorkerEngine(EngineConfig(), say)
    async with running(Config(port=0, log_level="error"), engine) as gateway:
        await gateway.service.started()
        url = gateway.stream_url
        await first_packet(url)
        alone = [await first_packet(url) for _ in range(ROUNDS)]
        say(f"alone: {Spread.of([ms for ms, _, _ in alone])} ms")
        stop = asyncio.Event()
        others = [asyncio.create_task(busy(url, stop)) for _ in range(BACKGROUND_STREAMS)]
        await asyncio.sleep(1.0)
        loaded = [await first_packet(url) for _ in range(ROUNDS)]
        stop.set()
        await asyncio.gather(*others)
        say(f"beside {BACKGROUND_STREAMS} streams: {Spread.of([ms for ms, _, _ in loaded])} ms")
        assert engine.pid is not None
        memory = tree_memory_mib(engine.pid)
    finish(
        benchmark="first_audio",
        frames_before_first_packet=max(frames for _, _, frames in alone),
        first_packet_ms=Spread.of([ms for ms, _, _ in alone]).median,
        first_packet_ms_spread=Spread.of([ms for ms, _, _ in alone]),
        gateway_first_audio_ms=Spread.of([ms for _, ms, _ in alone]),
        first_packet_ms_beside_8_streams=Spread.of([ms for ms, _, _ in loaded]),
        memory_mib=memory,
    )


if __name__ == "__main__":
    asyncio.run(main())
