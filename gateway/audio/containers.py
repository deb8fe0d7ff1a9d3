"""One context's packets as one file, written while it is made: what an HTTP response holds.

Each writer returns bytes as soon as they are final. Only WAV names its length at the start, so a
WAV that must be exact (`whole`) is held back until the end; streamed, it says "unknown".
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import av

from gateway.audio import OggOpusWriter, wav_header
from gateway.types import Audio, AudioFormat, Codec, Done, Started

_PCM_BYTES = 2


class FileWriter(Protocol):
    """Packets in, bytes of a file out."""

    def start(self, event: Started) -> bytes:
        """What stands before the sound."""
        ...

    def write(self, event: Audio) -> bytes:
        """One packet."""
        ...

    def finish(self, event: Done) -> bytes | bytearray:
        """What is left; nobody changes it any more."""
        ...

    def close(self) -> None:
        """The file will not be used any more, finished or not. Idempotent."""
        ...


class _Plain:
    """A writer that holds nothing but Python objects."""

    def close(self) -> None:
        """Nothing to give back."""


class PcmFile(_Plain):
    """Raw samples."""

    def start(self, event: Started) -> bytes:
        """Nothing stands before them."""
        return b""

    def write(self, event: Audio) -> bytes:
        """The samples."""
        return event.payload

    def finish(self, event: Done) -> bytes:
        """Nothing is left."""
        return b""


class WavFile(_Plain):
    """16-bit PCM behind a header."""

    def __init__(self, sample_rate_hz: int, whole: bool) -> None:
        self._rate_hz = sample_rate_hz
        # a whole file from its first byte on, the header to be filled in: it is never copied
        self._held: bytearray | None = bytearray(wav_header(sample_rate_hz, 0)) if whole else None
        self._started = False

    def start(self, event: Started) -> bytes:
        """The header, if its length need not be known."""
        self._started = True
        return b"" if self._held is not None else wav_header(self._rate_hz, None)

    def write(self, event: Audio) -> bytes:
        """The samples, unless they are held back."""
        if self._held is None:
            return event.payload
        self._held += event.payload
        return b""

    def finish(self, event: Done) -> bytes | bytearray:
        """What was held back."""
        if self._held is not None:
            header_bytes = len(wav_header(self._rate_hz, 0))
            samples = (len(self._held) - header_bytes) // _PCM_BYTES
            self._held[:header_bytes] = wav_header(self._rate_hz, samples)
            return self._held
        return b"" if self._started else wav_header(self._rate_hz, 0)


class OggFile(_Plain):
    """Opus packets in Ogg."""

    def __init__(self) -> None:
        self._ogg: OggOpusWriter | None = None

    def start(self, event: Started) -> bytes:
        """The two header pages."""
        self._ogg = OggOpusWriter(event.pre_skip_samples)
        return self._ogg.header()

    def write(self, event: Audio) -> bytes:
        """A page, once it is full."""
        assert self._ogg is not None
        return self._ogg.write(event.payload)

    def finish(self, event: Done) -> bytes:
        """The last page."""
        if self._ogg is None:
            self._ogg = OggOpusWriter(0)
            return self._ogg.header() + self._ogg.finish(0)
        return self._ogg.finish(round(event.audio_ms * 48))


# Response format -> (container, encoder, its options), as PyAV names them.
_ENCODERS: dict[str, tuple[str, str, dict[str, str]]] = {
    "mp3": ("mp3", "libmp3lame", {"write_xing": "0", "id3v2_version": "0"}),
    "aac": ("adts", "aac", {}),
    "flac": ("flac", "flac", {}),
}
_BIT_RATE_BPS = 96_000


class _Collector:
    """The file PyAV writes to."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def write(self, data: bytes) -> int:
        """Called by PyAV."""
        self._bytes += data
        return len(data)

    def take(self) -> bytes:
        """What was written since."""
        taken = bytes(self._bytes)
        self._bytes.clear()
        return taken


class EncodedFile:
    """PCM packets encoded by PyAV into a container that needs no seeking."""

    def __init__(self, response_format: str, sample_rate_hz: int) -> None:
        container, codec, options = _ENCODERS[response_format]
        self._rate_hz = sample_rate_hz
        self._written = _Collector()
        self._container = av.open(self._written, "w", format=container, options=options)
        self._stream = self._container.add_stream(codec, rate=sample_rate_hz, layout="mono")
        if codec != "flac":
            self._stream.bit_rate = _BIT_RATE_BPS
        self._samples = 0

    def start(self, event: Started) -> bytes:
        """Whatever the container writes first comes with the first packet."""
        return b""

    def write(self, event: Audio) -> bytes:
        """Encode one packet."""
        samples = len(event.payload) // _PCM_BYTES
        if samples == 0:
            return b""
        frame = av.AudioFrame(format="s16", layout="mono", samples=samples)
        plane = frame.planes[0]
        plane.update(event.payload + bytes(plane.buffer_size - len(event.payload)))
        frame.sample_rate = self._rate_hz
        frame.time_base = Fraction(1, self._rate_hz)
        frame.pts = self._samples
        self._samples += samples
        self._container.mux(self._stream.encode(frame))
        return self._written.take()

    def finish(self, event: Done) -> bytes:
        """Flush the encoder."""
        self._container.mux(self._stream.encode(None))
        self._container.close()
        return self._written.take()

    def close(self) -> None:
        """Close the container now: left to the garbage collector, which may free its stream first,
        an unfinished one ends the process.
        """
        self._container.close()


def file_format(response_format: str, engine_rate_hz: int, pcm_rate_hz: int) -> AudioFormat:
    """The packets that a file is made of. WAV keeps the engine's rate: nothing is resampled."""
    if response_format == "opus":
        return AudioFormat(Codec.OPUS)
    if response_format == "wav":
        return AudioFormat(Codec.PCM_S16LE, min(engine_rate_hz, 48_000))
    if response_format in _ENCODERS and engine_rate_hz >= 44_100:
        return AudioFormat(Codec.PCM_S16LE, 44_100)
    return AudioFormat(Codec.PCM_S16LE, pcm_rate_hz)


def file_writer(response_format: str, audio_format: AudioFormat, whole: bool) -> FileWriter:
    """The writer for a response format."""
    if response_format == "opus":
        return OggFile()
    if response_format == "wav":
        return WavFile(audio_format.sample_rate_hz, whole)
    if response_format in _ENCODERS:
        return EncodedFile(response_format, audio_format.sample_rate_hz)
    return PcmFile()
