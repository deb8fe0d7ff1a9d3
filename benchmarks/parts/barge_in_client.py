"""The client's side of `benchmarks.barge_in`: speaks, listens, and plays along by the clock."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from websockets.asyncio.client import ClientConnection

from clients.python.wire import decode_audio
from clients.sound.opus import OpusDecoder

PACKET_MS = 20.0
DEADLINE_S = 60.0


@dataclass
class Spoken:
    """What came of one context."""

    words: list[dict[str, Any]] = field(default_factory=list)
    source: str = ""
    end_s: float | None = None  # when the player will have played all it has
    received_ms: float = 0.0
    last_at_s: float | None = None
    frames_after_answer: int = 0
    audio_ms: float = 0.0
    answer: dict[str, Any] | None = None
    answered_at_s: float = 0.0
    pre_skip_samples: int = 0
    packets: list[bytes] = field(default_factory=list)

    def _play(self, now_s: float) -> None:
        if self.end_s is None or self.end_s < now_s:
            self.end_s = now_s  # it begins, or has waited for this packet
        self.end_s += PACKET_MS / 1000
        self.received_ms += PACKET_MS

    def played_ms(self, now_s: float) -> float:
        """How much the listener has heard, pauses for want of packets not counted."""
        waiting_s = max((self.end_s or now_s) - now_s, 0.0)
        return self.received_ms - 1000 * waiting_s

    def sound(self) -> NDArray[np.float32]:
        """All packets decoded: float32 samples at 48 kHz."""
        decoder = OpusDecoder(self.pre_skip_samples)
        pcm = b"".join(decoder.decode(packet) for packet in self.packets)
        return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768.0

    def take(self, message: str | bytes) -> str:
        """Note a message; return its type."""
        now_s = time.perf_counter()
        if isinstance(message, bytes):
            self._play(now_s)
            self.packets.append(decode_audio(message).payload)
            self.last_at_s = now_s
            self.frames_after_answer += self.answer is not None
            return "audio"
        event: dict[str, Any] = json.loads(message)
        if event["type"] == "words":
            self.words += event["words"]
            self.source = event["source"]
        elif event["type"] == "started":
            self.pre_skip_samples = event["pre_skip_samples"]
        elif event["type"] == "interrupted":
            self.answer, self.answered_at_s = event, now_s
        elif event["type"] == "done":
            self.audio_ms = event["audio_ms"]
        elif event["type"] == "error":
            raise RuntimeError(f"expected speech, got {event}")
        return str(event["type"])


async def say_to(socket: ClientConnection, name: str, text: str, **settings: Any) -> None:
    """Begin a context and give it its whole text."""
    sampling = {"seed": 1}
    messages: list[dict[str, Any]] = [
        # a text must sound the same every time: nothing of the context before it
        {"type": "configure", "words": True, "sampling": sampling, "carry_prosody": False}
        | settings,
        {"type": "text", "text": text},
        {"type": "end"},
    ]
    for message in messages:
        await socket.send(json.dumps({**message, "context": name}))


async def listen(socket: ClientConnection, spoken: Spoken, *until: str) -> None:
    """Read until one of these types has come."""
    async with asyncio.timeout(DEADLINE_S):
        while spoken.take(await socket.recv()) not in until:
            pass


async def listen_for(socket: ClientConnection, spoken: Spoken, duration_s: float) -> None:
    """Read for so long."""
    try:
        async with asyncio.timeout(duration_s):
            while True:
                spoken.take(await socket.recv())
    except TimeoutError:
        return
