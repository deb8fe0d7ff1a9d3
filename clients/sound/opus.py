"""Raw Opus packets: to samples, and how long each lasts."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import av

from clients.python.wire import OPUS_RATE_HZ

_PCM_BYTES = 2


class OpusDecoder:
    """Raw packets of one context to 16-bit mono PCM at 48 kHz, pre-skip dropped."""

    def __init__(self, pre_skip_samples: int) -> None:
        self._codec = av.CodecContext.create("libopus", "r")
        self._codec.extradata = opus_head(0, 1)  # the pre-skip is dropped here, not there
        self._resampler = av.AudioResampler(format="s16", layout="mono", rate=OPUS_RATE_HZ)
        self._to_skip_bytes = pre_skip_samples * _PCM_BYTES

    def decode(self, payload: bytes) -> bytes:
        """Decode one packet. Raises av.FFmpegError if it is not Opus."""
        pcm = b"".join(self._pcm(av.Packet(payload)))
        skip = min(self._to_skip_bytes, len(pcm))
        self._to_skip_bytes -= skip
        return pcm[skip:]

    def _pcm(self, packet: av.Packet) -> Iterator[bytes]:
        for decoded in self._codec.decode(packet):
            for frame in self._resampler.resample(decoded):
                yield bytes(frame.planes[0])[: frame.samples * _PCM_BYTES]


def opus_packet_samples(payload: bytes) -> int:
    """Duration of one Opus packet at 48 kHz, from its first bytes (RFC 6716, 3.1 and 3.2)."""
    if not payload:
        return 0
    config, code = payload[0] >> 3, payload[0] & 3
    if config < 12:
        frame = (480, 960, 1920, 2880)[config & 3]
    elif config < 16:
        frame = (480, 960)[config & 1]
    else:
        frame = (120, 240, 480, 960)[config & 3]
    frames = (1, 2, 2, payload[1] & 63 if len(payload) > 1 else 0)[code]
    return frame * frames


def opus_head(pre_skip_samples: int, channels: int) -> bytes:
    """The header that a container or decoder of such packets begins with."""
    # RFC 7845, 5.1: version 1, channels, pre-skip, input rate (informative), gain 0, mapping 0
    return b"OpusHead" + struct.pack("<BBHIhB", 1, channels, pre_skip_samples, OPUS_RATE_HZ, 0, 0)
