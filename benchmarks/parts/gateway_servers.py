"""The servers that `benchmarks.gateway` compares, each alone in its process on one core.

`gateway`: this project, with an engine that makes sound as fast as it is asked. The others are
Starlette on uvicorn and uvloop with the gateway's own transport settings, and a handler that sends
frames with `send_bytes` when they are due: no text, no engine, no barge-in. `bare` sends each ready
frame at its own time, `bare_grouped` in the groups in which the gateway sends, and `bare_encoding`
in those too, but each session encodes its Opus packets from ready samples.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import ClassVar

import numpy as np
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from engine.api import SpeechEvent, SpeechRequest
from engine.fake import FakeEngine, FakeEngineConfig, tone
from gateway.audio import make_chain
from gateway.audio.constants import Samples
from gateway.audio.opus import OpusEncoder
from gateway.audio.resample import Resampler
from gateway.config import Config
from gateway.dialects.native import encode
from gateway.dialects.native.encode import HEADER, KIND_AUDIO, VERSION
from gateway.server.connection.transport import RequestProtocol, StreamProtocol, listen
from gateway.server.serving import running
from gateway.types import Audio, AudioFormat, ContextSettings
from gateway.utterance.egress import group_packets

LEAD_MS = 1500
GROUP = group_packets(ContextSettings(lead_ms=LEAD_MS))  # the gateway's schedule
GROUPS = {"bare": 1, "bare_grouped": GROUP, "bare_encoding": GROUP, "gateway": GROUP}
ENGINE = FakeEngineConfig(max_streams=100_000)
_SENTENCE = "The listener hears one calm sentence after the other, all of them the same length. "


class InstantEngine(FakeEngine):
    """Has all sound in store: what the engine costs is not the gateway's price."""

    _store: ClassVar[dict[str, list[SpeechEvent]]] = {}

    async def speak(self, request: SpeechRequest) -> AsyncIterator[SpeechEvent]:
        """Speak one segment, as fast as it is taken."""
        if request.text not in self._store:
            self._store[request.text] = [event async for event in super().speak(request)]
        for event in self._store[request.text]:
            yield event


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


def ready_samples(text: str) -> list[Samples]:
    """The sound of a text in packets' lengths, at the rate of Opus: [packets][samples]."""
    audio_format = AudioFormat()
    resampler = Resampler(ENGINE.sample_rate_hz, audio_format.sample_rate_hz)
    count = FakeEngine(ENGINE).frame_count(text)
    tones = (np.frombuffer(_tone(text[i * len(text) // count]), "<f4") for i in range(count))
    sound = np.concatenate([resampler.push(samples) for samples in tones])
    size = audio_format.frame_samples
    return [sound[at : at + size] for at in range(0, len(sound) - size + 1, size)]


def encoded(packets: list[Samples]) -> Iterator[bytes]:
    """Frames of one session, each encoded when it is asked for."""
    encoder = OpusEncoder(AudioFormat())
    for i, samples in enumerate(packets):
        header = HEADER.pack(VERSION, KIND_AUDIO, 0, 1, 0, i, i * len(samples))
        yield header + encoder.encode(samples)


def bare_app(frames: Callable[[], Iterable[bytes]], group: int) -> Starlette:
    """Sends frames to everyone who has sent a message, `LEAD_MS` ahead of real time.

    `group` of them at a time, when all of them are due.
    """
    packet_s = AudioFormat().frame_ms / 1000

    async def stream(websocket: WebSocket) -> None:
        await websocket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            await websocket.receive_text()
            clock = asyncio.get_running_loop().time
            start_s = clock()
            for i, frame in enumerate(frames()):
                due_packets = group * (i // group + 1)
                wait_s = start_s + due_packets * packet_s - LEAD_MS / 1000 - clock()
                if wait_s > 0.0:
                    await asyncio.sleep(wait_s)
                await websocket.send_bytes(frame)
            await websocket.receive_text()

    return Starlette(routes=[WebSocketRoute("/v1/stream", stream)])


def app_of(kind: str, duration_s: float) -> Starlette:
    """The bare server of a kind."""
    text = speech_text(duration_s)
    if kind == "bare_encoding":
        packets = ready_samples(text)
        return bare_app(lambda: encoded(packets), GROUP)
    frames = ready_frames(text)
    return bare_app(lambda: frames, GROUPS[kind])


def settle() -> None:
    """What is loaded stays: full collections need not look at it (as `voice-gateway serve`)."""
    gc.collect()
    gc.freeze()


async def serve_bare(app: Starlette) -> None:
    """Until it is terminated."""
    config = Config(port=0)
    listener = listen(config.host, 0, config.slow_client_timeout_ms)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
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
    settle()
    print(listener.getsockname()[1], flush=True)
    await server.serve(sockets=[listener])


async def serve_gateway() -> None:
    """Until it is terminated."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    config = Config(port=0, engine="fake", max_sessions=100_000, log_level="error")
    async with running(config, InstantEngine(ENGINE)) as gateway:
        await gateway.service.started()
        settle()
        print(gateway.port, flush=True)
        await stopped.wait()


def main() -> None:
    """`python -m benchmarks.parts.gateway_servers KIND CORE DURATION_S`; prints its port."""
    kind, core, duration_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    os.sched_setaffinity(0, {core})
    work = serve_gateway() if kind == "gateway" else serve_bare(app_of(kind, duration_s))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


if __name__ == "__main__":
    main()
