"""Raw Opus packets as one Ogg stream, written while it is made (RFC 3533, RFC 7845).

Own code, because the packets must stay as they are: libavformat takes them, but decides by itself
about pages and the end. One packet is held back, as the last one's page carries the exact end.
"""

from __future__ import annotations

import random
import struct
import zlib

from gateway.audio.opus import packet_samples
from gateway.types import OPUS_RATE_HZ

_BEGIN, _END = 0x02, 0x04  # page flags
_VENDOR = b"voice-gateway"
_PAGE_SAMPLES = OPUS_RATE_HZ // 10  # a page is full after 100 ms; the first holds one packet
_PAGE_SEGMENTS = 255

# Ogg's checksum takes the highest bit first, zlib's the lowest: same polynomial, mirrored.
_MIRRORED = bytes(int(f"{value:08b}"[::-1], 2) for value in range(256))


def ogg_crc(data: bytes) -> int:
    """CRC-32 with polynomial 0x04c11db7, no inversion (RFC 3533, section 6)."""
    mirrored = ~zlib.crc32(data.translate(_MIRRORED), 0xFFFFFFFF) & 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)


class OggOpusWriter:
    """`header()`, then `write` each packet, then `finish`; the bytes of all calls make the file.

    `pre_skip_samples`: what a decoder must drop at the start. `serial`: the stream's number.
    """

    def __init__(self, pre_skip_samples: int, serial: int | None = None) -> None:
        self._pre_skip = pre_skip_samples
        self._serial = random.getrandbits(32) if serial is None else serial
        self._pages = 0
        self._granule = 0  # samples of all packets so far
        self._page: list[bytes] = []
        self._page_start = 0

    def header(self) -> bytes:
        """The identification and comment pages."""
        head = struct.pack("<8sBBHIhB", b"OpusHead", 1, 1, self._pre_skip, OPUS_RATE_HZ, 0, 0)
        tags = struct.pack(f"<8sI{len(_VENDOR)}sI", b"OpusTags", len(_VENDOR), _VENDOR, 0)
        return self._write_page([head], 0, _BEGIN) + self._write_page([tags], 0, 0)

    def write(self, payload: bytes) -> bytes:
        """Add a packet; returns the page before it, if it is full.

        Raises:
            ValueError: it is not an Opus packet.
        """
        samples = packet_samples(payload)
        page = b"" if self._has_room(payload) else self._flush(self._granule, 0)
        self._page.append(payload)
        self._granule += samples
        return page

    def flush(self) -> bytes:
        """The page so far. The end, if it comes next, is then told by a page without packets."""
        return self._flush(self._granule, 0) if self._page else b""

    def finish(self, total_samples: int | None = None) -> bytes:
        """The last page. `total_samples`: length of the sound without pre-skip; None keeps all.

        Raises:
            ValueError: the packets hold fewer samples than that.
        """
        end = self._granule if total_samples is None else self._pre_skip + total_samples
        if end > self._granule and self._granule:
            raise ValueError(
                f"total_samples: expected at most {self._granule - self._pre_skip}, "
                f"got {total_samples}"
            )
        # An end before this page's start cannot be told: the pages behind it have left.
        return self._flush(max(end, self._page_start), _END)

    def _has_room(self, payload: bytes) -> bool:
        if not self._page:
            return True
        if self._page_start == 0 or self._granule - self._page_start >= _PAGE_SAMPLES:
            return False
        segments = sum(len(packet) // 255 + 1 for packet in (*self._page, payload))
        return segments <= _PAGE_SEGMENTS

    def _flush(self, granule: int, flags: int) -> bytes:
        page = self._write_page(self._page, granule, flags)
        self._page = []
        self._page_start = self._granule
        return page

    def _write_page(self, packets: list[bytes], granule: int, flags: int) -> bytes:
        # A packet's length is a run of 255s and a rest below 255, which ends it.
        lacing = b"".join(b"\xff" * (len(p) // 255) + bytes([len(p) % 255]) for p in packets)
        body = b"".join((bytes([len(lacing)]), lacing, *packets))
        start = struct.pack("<4sBBqII", b"OggS", 0, flags, granule, self._serial, self._pages)
        self._pages += 1
        checksum = ogg_crc(start + bytes(4) + body)
        return start + struct.pack("<I", checksum) + body
