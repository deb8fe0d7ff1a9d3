"""A context's packets as one file, written while it is made: WAV, Ogg, MP3, AAC, FLAC.

Every writer returns bytes as soon as they are final, and nothing is ever held back to learn the
file's length: a WAV carries the sizes of an open-ended one, which players read to the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Protocol

import av
import numpy as np

from gateway.audio.files.ogg import OggOpusWriter
from gateway.audio.files.wav import wav_header
from gateway.audio.opus import OpusEncoder
from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Configured,
    Container,
    Done,
    Event,
    Failed,
    FileFormat,
    Flushed,
    Interrupted,
    SegmentStarted,
    Started,
)

_PCM_BYTES = 2
_SILENT_MS = 100  # of a file for a text without words: the shortest that every decoder opens


class FileWriter(Protocol):
    """Packets in, bytes of a file out."""

    def header(self) -> bytes:
        """What stands before the sound."""
        ...

    def write(self, payload: bytes) -> bytes:
        """One packet."""
        ...

    def flush(self) -> bytes:
        """What is held back and can leave: nothing follows for a while."""
        ...

    def finish(self, audio_ms: float | None) -> bytes:
        """What is left. `audio_ms`: how long the sound is; None keeps every sample."""
        ...

    def close(self) -> None:
        """The file will not be used any more, finished or not. Idempotent."""
        ...


class WavFile:
    """PCM, mu-law or A-law behind a header of unknown length."""

    def __init__(self, audio_format: AudioFormat) -> None:
        self._header = wav_header(audio_format.sample_rate_hz, None, audio_format.codec)

    def header(self) -> bytes:
        """RIFF, with sizes that say "until the end"."""
        return self._header

    def write(self, payload: bytes) -> bytes:
        """The samples."""
        return payload

    def flush(self) -> bytes:
        """Nothing is ever held back."""
        return b""

    def finish(self, audio_ms: float | None) -> bytes:
        """Nothing is left."""
        return b""

    def close(self) -> None:
        """Nothing to give back."""


class OggFile:
    """Opus packets in Ogg."""

    def __init__(self, pre_skip_samples: int) -> None:
        self._ogg = OggOpusWriter(pre_skip_samples)

    def header(self) -> bytes:
        """The two header pages."""
        return self._ogg.header()

    def write(self, payload: bytes) -> bytes:
        """A page, once it is full."""
        return self._ogg.write(payload)

    def flush(self) -> bytes:
        """The page as it is."""
        return self._ogg.flush()

    def finish(self, audio_ms: float | None) -> bytes:
        """The last page."""
        return self._ogg.finish(None if audio_ms is None else round(audio_ms * 48))

    def close(self) -> None:
        """Nothing to give back."""


# Container -> (its name, encoder, its options), as PyAV names them.
_ENCODERS: dict[Container, tuple[str, str, dict[str, str]]] = {
    Container.MP3: ("mp3", "libmp3lame", {"write_xing": "0", "id3v2_version": "0"}),
    Container.AAC: ("adts", "aac", {}),
    Container.FLAC: ("flac", "flac", {}),
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

    def __init__(self, file: FileFormat, sample_rate_hz: int) -> None:
        container, codec, options = _ENCODERS[file.container]
        self._rate_hz = sample_rate_hz
        self._written = _Collector()
        self._container = av.open(self._written, "w", format=container, options=options)
        self._stream = self._container.add_stream(codec, rate=sample_rate_hz, layout="mono")
        if codec != "flac":
            self._stream.bit_rate = file.bitrate_bps or _BIT_RATE_BPS
        self._samples = 0

    def header(self) -> bytes:
        """Whatever the container writes first comes with the first packet."""
        return b""

    def write(self, payload: bytes) -> bytes:
        """Encode one packet."""
        samples = len(payload) // _PCM_BYTES
        if samples == 0:
            return b""
        frame = av.AudioFrame(format="s16", layout="mono", samples=samples)
        plane = frame.planes[0]
        plane.update(payload + bytes(plane.buffer_size - len(payload)))
        frame.sample_rate = self._rate_hz
        frame.time_base = Fraction(1, self._rate_hz)
        frame.pts = self._samples
        self._samples += samples
        self._container.mux(self._stream.encode(frame))
        return self._written.take()

    def flush(self) -> bytes:
        """An encoder lets the last frame or two out only at its end."""
        return b""

    def finish(self, audio_ms: float | None) -> bytes:
        """Flush the encoder."""
        self._container.mux(self._stream.encode(None))
        self._container.close()
        return self._written.take()

    def close(self) -> None:
        """Close the container now: left to the garbage collector, which may free its stream first,
        an unfinished one ends the process.
        """
        self._container.close()


def file_writer(file: FileFormat, audio_format: AudioFormat, pre_skip_samples: int) -> FileWriter:
    """The writer of a container; the packets of `audio_format` are what it is given.

    Raises ValueError for packets that the container cannot hold, or none (`RAW`).
    """
    if file.container is Container.WAV:
        return WavFile(audio_format)
    if file.container is Container.OGG:
        if audio_format.codec is not Codec.OPUS:
            raise ValueError(f"codec: expected opus in Ogg, got {audio_format.codec.value}")
        return OggFile(pre_skip_samples)
    if file.container in _ENCODERS:
        if audio_format.codec is not Codec.PCM_S16LE:
            raise ValueError(f"codec: expected pcm_s16le, got {audio_format.codec.value}")
        return EncodedFile(file, audio_format.sample_rate_hz)
    raise ValueError(f"container: expected one that is a file, got {file.container.value}")


def silent_file(file: FileFormat, audio_format: AudioFormat) -> bytes:
    """A whole short file without a sound, for a text without words."""
    samples = np.zeros(audio_format.sample_rate_hz * _SILENT_MS // 1000, np.float32)
    if audio_format.codec is Codec.OPUS:
        encoder = OpusEncoder(audio_format)
        size = audio_format.frame_samples
        packets = [encoder.encode(part) for part in samples.reshape(-1, size)]
    else:
        width = {Codec.PCM_S16LE: 2, Codec.PCM_F32LE: 4}.get(audio_format.codec, 1)
        zero = {Codec.MULAW: b"\xff", Codec.ALAW: b"\xd5"}.get(audio_format.codec, bytes(width))
        packets = [zero * len(samples)]
    writer = file_writer(file, audio_format, 0)
    try:
        pieces = [writer.header(), *map(writer.write, packets), writer.finish(None)]
    finally:
        writer.close()
    return b"".join(pieces)


class FileStage:
    """Between a session and a dialect: puts the packets of each context into its file.

    `file` is asked when a context starts. The sound of a context without a container, and every
    other event, passes as it is. `close` must be called when the connection ends.
    """

    def __init__(self, file: Callable[[], FileFormat]) -> None:
        self._file = file
        self._writers: dict[str, FileWriter] = {}
        self._silent: dict[str | None, AudioFormat] = {}  # contexts without a sound so far
        self._segmented: dict[str, Started] = {}  # contexts with a file for each segment

    def apply(self, event: Event) -> Iterable[Event]:
        """The events that the dialect gets instead."""
        if isinstance(event, Audio):
            writer = self._writers.get(event.context)
            if writer is None:
                return (event,)
            piece = writer.write(event.payload)
            return (dataclasses.replace(event, payload=piece, last=False),) if piece else ()
        if isinstance(event, Started):
            return self._start(event)
        if isinstance(event, SegmentStarted) and event.context in self._segmented:
            return self._next_file(event)
        if isinstance(event, Configured):
            self._silent[event.context] = event.settings.format
        if isinstance(event, Flushed) and (writer := self._writers.get(event.context)) is not None:
            rest = writer.flush()
            return (_piece(event.context, rest), event) if rest else (event,)
        if isinstance(event, Done | Interrupted | Failed):
            return self._finish(event)
        return (event,)

    def close(self) -> None:
        """Give back what the writers hold. Idempotent."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _start(self, event: Started) -> Iterable[Event]:
        self._silent.pop(event.context, None)
        file = self._file()
        if file.container is Container.RAW:
            return (event,)
        if file.each_segment:
            self._segmented[event.context] = event
            return (event,)
        return (event, *self._open(file, event, event.pre_skip_samples))

    def _open(self, file: FileFormat, started: Started, pre_skip_samples: int) -> Iterable[Event]:
        writer = file_writer(file, started.format, pre_skip_samples)
        self._writers[started.context] = writer
        header = writer.header()
        return (_piece(started.context, header),) if header else ()

    def _next_file(self, event: SegmentStarted) -> Iterable[Event]:
        """The file before it is whole. What an encoder holds back at a seam is in the next one."""
        started = self._segmented[event.context]
        first = event.context not in self._writers
        before = () if first else self._close_file(event.context, None)
        skip_samples = started.pre_skip_samples if first else 0
        return (*before, event, *self._open(self._file(), started, skip_samples))

    def _close_file(self, context: str, audio_ms: float | None) -> Iterable[Event]:
        writer = self._writers.pop(context)
        rest = writer.finish(audio_ms)
        writer.close()
        return (_piece(context, rest),) if rest else ()

    def _finish(self, event: Done | Interrupted | Failed) -> Iterable[Event]:
        context = event.context or ""
        segmented = self._segmented.pop(context, None) is not None
        if context not in self._writers:
            return self._end_silent(event)
        # a faded or failed end is as long as its packets, and so is a part of the whole
        audio_ms = event.audio_ms if isinstance(event, Done) and not segmented else None
        return (*self._close_file(context, audio_ms), event)

    def _end_silent(self, event: Done | Interrupted | Failed) -> Iterable[Event]:
        """A context without words still makes a file that opens."""
        audio_format = self._silent.pop(event.context, None)
        file = self._file()
        raw = file.container is Container.RAW or file.each_segment
        if audio_format is None or raw or not isinstance(event, Done):
            return (event,)
        return (_piece(event.context, silent_file(file, audio_format)), event)


def _piece(context: str, payload: bytes) -> Audio:
    """Bytes of a file that belong to no packet."""
    return Audio(context, 0, 0, 0, 0, payload)
