"""Say something through a running gateway: `say()` is what `voice-gateway say` runs.

The format follows the file: Opus packets are muxed as they came, WAV gets PCM at the engine's own
rate, so neither is converted on the way.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clients.python import Context, connect
from clients.python.pieces import Pieces
from clients.python.wire import OPUS_RATE_HZ, AudioPacket, Started
from clients.sound.files import OggOpusFile, SpeechFile, WavFile
from clients.sound.opus import opus_packet_samples
from clients.sound.player import Player

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


def pieces_of_stdin() -> Iterator[str]:
    """Standard input as it arrives, so that `llm ... | voice-gateway say -` speaks at once."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while chunk := os.read(sys.stdin.fileno(), _STDIN_CHUNK_BYTES):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


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
    text: Pieces,
    *,
    voice: str = "default",
    output: Path | None = None,
    play: bool = False,
    speed: float = 1.0,
    api_key: str | None = None,
) -> SayReport:
    """Speak `text`; write it to `output` and play it as asked.

    Raises ValueError (output, address), OSError (no gateway), SpeechError, GatewayClosedError,
    PlayerError, and what reading `text` raises.
    """
    check_output(output)
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(url, api_key=api_key, resume=True))
        opus = output is None or output.suffix.lower() in OPUS_SUFFIXES
        rate_hz = OPUS_RATE_HZ if opus else min(client.hello.engine.sample_rate_hz, OPUS_RATE_HZ)
        codec = "opus" if opus else "pcm_s16le"
        player = await stack.enter_async_context(Player.open(rate_hz)) if play else None
        listener = stack.enter_context(contextlib.closing(_Listener(output, player)))
        context = client.speak(
            text,
            voice=voice,
            speed=speed,
            format={"codec": codec, "sample_rate_hz": rate_hz},
            lead_ms=1500 if play else 0,
        )
        return await listener.listen(context)


class _Listener:
    """Receives one context into a file, a player, or both."""

    def __init__(self, output: Path | None, player: Player | None) -> None:
        self._output = output
        self._player = player
        self._file: SpeechFile | None = None
        self._packets = 0
        self._first_audio_ms: float | None = None
        self._began = time.perf_counter()

    async def listen(self, context: Context) -> SayReport:
        """All of it, to the last sample heard."""
        async for item in context.events():
            if isinstance(item, Started) and self._output is not None:
                self._file = _file(self._output, item)
            elif isinstance(item, AudioPacket):
                self._count(item)
            if self._player is not None:
                self._player.take(context, item)
                await self._player.room(context)
        done, started = context.done, context.started
        if self._file is not None and started is not None and done is not None:
            self._file.close(round(done.audio_ms * started.format.sample_rate_hz / 1000))
            self._file = None
        if self._player is not None:
            await self._player.drained()
        return SayReport(
            path=self._output,
            audio_ms=done.audio_ms if done else 0.0,
            first_audio_ms=self._first_audio_ms,
            total_ms=self._ms(),
            frames=done.frames if done else 0,
            packets=self._packets,
        )

    def close(self) -> None:
        """It went wrong: what came is a file all the same."""
        if self._file is not None:
            self._file.close()

    def _ms(self) -> float:
        return 1000 * (time.perf_counter() - self._began)

    def _count(self, packet: AudioPacket) -> None:
        self._packets += 1
        if self._first_audio_ms is None:
            self._first_audio_ms = self._ms()
        if isinstance(self._file, OggOpusFile):
            self._file.write(packet.payload, opus_packet_samples(packet.payload))
        elif self._file is not None:
            self._file.write(packet.payload, len(packet.payload) // _PCM_BYTES)


def _file(path: Path, started: Started) -> SpeechFile:
    if started.format.codec == "opus":
        return OggOpusFile(path, started.pre_skip_samples)
    return WavFile(path, started.format.sample_rate_hz)
