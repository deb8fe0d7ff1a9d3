"""Packets to files, with PyAV. Durations are exact to the sample.

An Opus decoder puts out `pre_skip` samples before the sound, and the last packet is padded to
its full length; a file must say both, or it plays too long.
"""

from __future__ import annotations

import struct
import wave
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import av

from clients.python.wire import OPUS_RATE_HZ
from clients.sound.opus import opus_head

_PCM_BYTES = 2


class SpeechFile(Protocol):
    """A file that packets of one context are written to, in order."""

    def write(self, payload: bytes, duration_samples: int) -> None:
        """Add one packet that lasts `duration_samples` at the output rate."""
        ...

    def close(self, total_samples: int | None = None) -> None:
        """Finish the file; it will hold `total_samples` of sound, or all that was written."""
        ...


class OggOpusFile:
    """Raw Opus packets in an Ogg container: muxed as they are, never encoded again.

    RFC 7845: the header carries the pre-skip, and a last granule position short of the last
    packet's end trims what follows. One packet is held back for that.
    """

    def __init__(self, path: Path, pre_skip_samples: int, channels: int = 1) -> None:
        self._container = av.open(str(path), "w", format="opus")
        self._stream = self._container.add_stream("libopus", rate=OPUS_RATE_HZ, layout="mono")
        codec = self._stream.codec_context
        codec.open()
        # The muxer adds the padding of the encoder it knows; opening that one told us how much.
        self._muxer_padding = _pre_skip(codec.extradata or b"")
        codec.extradata = opus_head(pre_skip_samples, channels)
        self._container.start_encoding()
        self._pre_skip = pre_skip_samples
        self._position = 0
        self._held: tuple[bytes, int] | None = None

    def write(self, payload: bytes, duration_samples: int) -> None:
        """Add one packet of `duration_samples` at 48 kHz."""
        self._release(None)
        self._held = (payload, duration_samples)

    def close(self, total_samples: int | None = None) -> None:
        """Finish; `total_samples` at 48 kHz are heard (pre-skip not counted)."""
        end = None if total_samples is None else total_samples + self._pre_skip
        self._release(end)
        self._container.close()

    def _release(self, end_samples: int | None) -> None:
        if self._held is None:
            return
        payload, duration = self._held
        self._held = None
        if end_samples is not None:
            duration = max(0, min(duration, end_samples - self._position))
        packet = av.Packet(payload)
        packet.stream = self._stream
        packet.time_base = Fraction(1, OPUS_RATE_HZ)
        packet.pts = packet.dts = self._position - self._muxer_padding
        packet.duration = duration
        self._container.mux(packet)
        self._position += duration


class WavFile:
    """16-bit PCM in a WAV file whose header is exact once closed."""

    def __init__(self, path: Path, sample_rate_hz: int) -> None:
        self._file = wave.open(str(path), "wb")
        self._file.setnchannels(1)
        self._file.setsampwidth(_PCM_BYTES)
        self._file.setframerate(sample_rate_hz)

    def write(self, payload: bytes, duration_samples: int) -> None:
        """Add one packet of little-endian 16-bit samples."""
        self._file.writeframesraw(payload)

    def close(self, total_samples: int | None = None) -> None:
        """Write the sizes into the header."""
        self._file.close()


def duration_samples(path: Path) -> tuple[int, int]:
    """Decode a whole file: (samples, sample rate in Hz)."""
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        samples = sum(frame.samples for frame in container.decode(stream))
        return samples, stream.codec_context.sample_rate


def _pre_skip(head: bytes) -> int:
    return int(struct.unpack_from("<H", head, 10)[0]) if len(head) >= 12 else 0
