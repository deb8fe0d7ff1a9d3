"""Say something through a running gateway: `say()` is what `voice-gateway say` runs.

The format follows the file: Opus packets are muxed as they came, WAV gets PCM at the engine's own
rate, so neither is converted on the way.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients.python import Context, connect
from clients.python.files import OggOpusFile, SpeechFile, WavFile
from clients.python.opus import OpusDecoder, opus_packet_samples
from clients.python.player import Player
from clients.python.wire import OPUS_RATE_HZ, AudioPacket, Done, Started

OPUS_SUFFIXES = (".ogg", ".opus")
WAV_SUFFIXES = (".wav",)
_PCM_BYTES = 2
_STDIN_CHUNK_BYTES = 4096


@dataclass(frozen=True, slots=True)
class SayReport:
    """How it went. `first_audio_ms`: from the first text sent to the first packet received."""

    path: Path | None
    audio_ms: float
    first_audio_ms: float | None
    total_ms: float
    frames: int
    packets: int


async def pieces_of_stdin() -> AsyncIterator[str]:
    """Standard input as it arrives, so that `llm ... | voice-gateway say -` speaks at once."""
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        while True:
            chunk = os.read(sys.stdin.fileno(), _STDIN_CHUNK_BYTES)
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            if not chunk:
                return

    # A daemon thread, because a read that waits for a person cannot be cancelled.
    threading.Thread(target=read, daemon=True).start()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while chunk := await chunks.get():
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


async def _once(text: str) -> AsyncIterator[str]:
    yield text


def check_output(output: Path | None) -> None:
    """Refuse a file this client cannot write, before anything starts. Raises ValueError."""
    if output is None:
        return
    if output.suffix.lower() not in (*OPUS_SUFFIXES, *WAV_SUFFIXES):
        expected = ", ".join((*WAV_SUFFIXES, *OPUS_SUFFIXES))
        raise ValueError(f"expected an output file ending in {expected}, got {str(output)!r}")
    if not output.parent.is_dir():
        raise ValueError(f"expected an existing folder for the output, got {str(output.parent)!r}")


async def say(
    url: str,
    text: str | AsyncIterator[str],
    *,
    voice: str = "default",
    output: Path | None = None,
    play: bool = False,
    speed: float = 1.0,
    api_key: str | None = None,
) -> SayReport:
    """Speak `text`; write it to `output` and play it as asked.

    Raises ValueError (output), OSError (no gateway), SpeechError, GatewayClosedError and
    NoPlayerError.
    """
    check_output(output)
    async with connect(url, api_key=api_key) as client:
        opus = output is None or output.suffix.lower() in OPUS_SUFFIXES
        audio_format: dict[str, Any] = {"codec": "opus"}
        if not opus:
            rate_hz = min(client.hello.engine.sample_rate_hz, OPUS_RATE_HZ)
            audio_format = {"codec": "pcm_s16le", "sample_rate_hz": rate_hz}
        context = client.context(
            voice=voice, speed=speed, format=audio_format, lead_ms=1500 if play else 0
        )
        pieces = _once(text) if isinstance(text, str) else text
        return await _Listener(output, play).run(context, pieces)


class _Listener:
    """Receives one context into a file, a player, or both."""

    def __init__(self, output: Path | None, play: bool) -> None:
        self._output = output
        self._play = play
        self._file: SpeechFile | None = None
        self._player: Player | None = None
        self._decoder: OpusDecoder | None = None
        self._packets = 0

    async def run(self, context: Context, pieces: AsyncIterator[str]) -> SayReport:
        """Send and receive at the same time."""
        began = time.perf_counter()
        first_audio_ms: float | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_feed(context, pieces))
                async for item in context.events():
                    if isinstance(item, Started):
                        await self._open(item)
                    elif isinstance(item, AudioPacket):
                        if first_audio_ms is None:
                            first_audio_ms = 1000 * (time.perf_counter() - began)
                        await self._take(item)
        except BaseExceptionGroup as group:
            self._abandon()
            raise _only(group) from None
        done = context.done
        total_ms = 1000 * (time.perf_counter() - began)
        await self._close(context.started, done)
        return SayReport(
            path=self._output,
            audio_ms=done.audio_ms if done else 0.0,
            first_audio_ms=first_audio_ms,
            total_ms=total_ms,
            frames=done.frames if done else 0,
            packets=self._packets,
        )

    async def _open(self, started: Started) -> None:
        opus = started.format.codec == "opus"
        rate_hz = started.format.sample_rate_hz
        if self._output is not None:
            self._file = (
                OggOpusFile(self._output, started.pre_skip_samples)
                if opus
                else WavFile(self._output, rate_hz)
            )
        if self._play:
            self._player = await Player.open(rate_hz)
            self._decoder = OpusDecoder(started.pre_skip_samples) if opus else None

    async def _take(self, packet: AudioPacket) -> None:
        self._packets += 1
        if self._file is not None:
            self._file.write(packet.payload, self._duration_samples(packet.payload))
        if self._player is not None:
            decoder = self._decoder
            await self._player.write(decoder.decode(packet.payload) if decoder else packet.payload)

    def _duration_samples(self, payload: bytes) -> int:
        if isinstance(self._file, OggOpusFile):
            return opus_packet_samples(payload)
        return len(payload) // _PCM_BYTES

    async def _close(self, started: Started | None, done: Done | None) -> None:
        if self._file is not None and started is not None:
            rate_hz = started.format.sample_rate_hz
            self._file.close(round(done.audio_ms * rate_hz / 1000) if done else None)
        if self._player is not None:
            await self._player.close()

    def _abandon(self) -> None:
        if self._file is not None:
            self._file.close()
        if self._player is not None:
            self._player.kill()


async def _feed(context: Context, pieces: AsyncIterator[str]) -> None:
    async for piece in pieces:
        await context.send(piece)
    await context.end()


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
