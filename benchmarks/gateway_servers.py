"""The two servers that `benchmarks.gateway` compares, each alone in its process on one core.

`gateway`: this project, with an engine that makes sound as fast as it is asked. `bare`: Starlette
on uvicorn and uvloop with the gateway's own transport settings, whose handler sends ready frames
when they are due and does nothing else: no text, no engine, no encoder, no barge-in.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import sys
from typing import ClassVar

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from engine.api import Frames, SpeechRequest
from engine.fake import FakeEngine, FakeEngineConfig, tone
from gateway.audio import make_chain
from gateway.config import Config
from gateway.dialects.native import encode
from gateway.egress import group_packets
from gateway.server import running
from gateway.transport import RequestProtocol, StreamProtocol, listen
from gateway.types import Audio, AudioFormat, ContextSettings

LEAD_MS = 1500
GROUP = group_packets(ContextSettings(lead_ms=LEAD_MS))  # the gateway's schedule
ENGINE = FakeEngineConfig(max_streams=100_000)
_SENTENCE = "The listener hears one calm sentence after the other, all of them the same length. "


class InstantEngine(FakeEngine):
    """Takes its sound from a store: what the engine costs is not the gateway's price."""

    _store: ClassVar[dict[tuple[str, int, int], Frames]] = {}

    def _chunk(self, request: SpeechRequest, first: int, end: int, wanted: int) -> Frames:
        key = (request.text, first, end)
        if key not in self._store:
            self._store[key] = super()._chunk(request, first, end, wanted)
        return self._store[key]


def speech_text(duration_s: float) -> str:
    """A text that the fake engine speaks for at least so long."""
    frame_s = ENGINE.frame_samples / ENGINE.sample_rate_hz
    sentence_s = FakeEngine(ENGINE).frame_count(_SENTENCE) * frame_s
    return _SENTENCE * (int(duration_s / sentence_s) + 1)


def ready_frames(text: str) -> list[bytes]:
    """The binary frames that the gateway would send for a text, less its pauses."""
    chain = make_chain(AudioFormat(), ENGINE.sample_rate_hz)
    chain.begin_segment()
    frames: list[bytes] = []
    count = FakeEngine(ENGINE).frame_count(text)
    for i in range(count):
        char = text[i * len(text) // count]
        chain.push(_tone(char))
        while (packet := chain.pull()) is not None:
            event = Audio("c", 1, 0, len(frames), packet.start_samples, packet.payload)
            frame = encode(event)
            assert isinstance(frame, bytes)
            frames.append(frame)
    return frames


@functools.cache
def _tone(char: str) -> bytes:
    return tone(char, ENGINE.frame_samples, ENGINE.sample_rate_hz).tobytes()


def bare_app(frames: list[bytes]) -> Starlette:
    """Sends `frames` to everyone who has sent a message, `LEAD_MS` ahead of real time."""
    packet_s = AudioFormat().frame_ms / 1000

    async def stream(websocket: WebSocket) -> None:
        await websocket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            await websocket.receive_text()
            clock = asyncio.get_running_loop().time
            start_s = clock()
            for i, frame in enumerate(frames):
                due_packets = GROUP * (i // GROUP + 1)
                wait_s = start_s + due_packets * packet_s - LEAD_MS / 1000 - clock()
                if wait_s > 0.0:
                    await asyncio.sleep(wait_s)
                await websocket.send_bytes(frame)
            await websocket.receive_text()

    return Starlette(routes=[WebSocketRoute("/v1/stream", stream)])


async def serve_bare(frames: list[bytes]) -> None:
    """Until it is terminated."""
    config = Config(port=0)
    listener = listen(config.host, 0, config.slow_client_timeout_ms)
    server = uvicorn.Server(
        uvicorn.Config(
            bare_app(frames),
            loop="none",
            http=RequestProtocol,
            ws=StreamProtocol,
            ws_ping_interval=config.ping_interval_ms / 1000,
            ws_ping_timeout=config.ping_interval_ms / 1000,
            ws_per_message_deflate=False,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=0,
        )
    )
    print(listener.getsockname()[1], flush=True)
    await server.serve(sockets=[listener])


async def serve_gateway() -> None:
    """Until it is terminated."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    config = Config(port=0, engine="fake", max_sessions=100_000, log_level="error")
    async with running(config, InstantEngine(ENGINE)) as gateway:
        await gateway.service.started()
        print(gateway.port, flush=True)
        await stopped.wait()


def main() -> None:
    """`python -m benchmarks.gateway_servers KIND CORE DURATION_S`; prints its port."""
    kind, core, duration_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    os.sched_setaffinity(0, {core})
    work = (
        serve_gateway() if kind == "gateway" else serve_bare(ready_frames(speech_text(duration_s)))
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


if __name__ == "__main__":
    main()
