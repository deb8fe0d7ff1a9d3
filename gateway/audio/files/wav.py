"""WAV headers: exact, or for a stream whose length is not known yet."""

from __future__ import annotations

import struct

from gateway.types import Codec

# RIFF sizes are 32 bits; the largest one says "until the end" to every common reader.
_UNKNOWN = 0xFFFFFFFF

# Codec -> (wFormatTag, bytes a sample); RFC 2361.
_FORMATS = {
    Codec.PCM_S16LE: (1, 2),
    Codec.PCM_F32LE: (3, 4),
    Codec.ALAW: (6, 1),
    Codec.MULAW: (7, 1),
}


def wav_header(sample_rate_hz: int, samples: int | None, codec: Codec = Codec.PCM_S16LE) -> bytes:
    """What stands before the samples of a mono WAV; `samples` None: unknown, read to the end.

    An odd number of mu-law or A-law samples must be followed by `wav_padding`.

    Raises:
        ValueError: WAV cannot hold the codec, or not so many samples.
    """
    if codec not in _FORMATS:
        raise ValueError(f"codec: expected one of PCM, mu-law, A-law, got {codec.value}")
    tag, width = _FORMATS[codec]
    rate = (sample_rate_hz, sample_rate_hz * width, width, 8 * width)
    if tag == 1:
        chunks = struct.pack("<4sIHHIIHH", b"fmt ", 16, tag, 1, *rate)
    else:  # the others must have an extension and count their samples
        count = _UNKNOWN if samples is None else samples
        chunks = struct.pack("<4sIHHIIHHH", b"fmt ", 18, tag, 1, *rate, 0)
        chunks += struct.pack("<4sII", b"fact", 4, count)
    if samples is None:
        size = riff_size = _UNKNOWN
    else:
        size = samples * width
        riff_size = 4 + len(chunks) + 8 + size + size % 2
    if riff_size > _UNKNOWN:
        raise ValueError(f"samples: expected a WAV below 4 GiB, got {samples}")
    return (
        struct.pack("<4sI4s", b"RIFF", riff_size, b"WAVE")
        + chunks
        + struct.pack("<4sI", b"data", size)
    )


def wav_padding(samples: int, codec: Codec = Codec.PCM_S16LE) -> bytes:
    """What stands behind the samples: RIFF chunks have an even length."""
    return bytes(samples * _FORMATS[codec][1] % 2)
