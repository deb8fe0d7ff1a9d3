from __future__ import annotations

import io
import struct

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.audio import OggOpusWriter, make_chain
from gateway.audio.files.ogg import ogg_crc
from gateway.types import AudioFormat
from tests.gateway.audio.signals import decoded, speak, speech_like


def pages(file: bytes) -> list[tuple[int, int, int, bytes]]:
    """(flags, granule, sequence, body) of each page, checksums checked."""
    out, at = [], 0
    while at < len(file):
        magic, version, flags, granule, serial, number, crc, count = struct.unpack_from(
            "<4sBBqIIIB", file, at
        )
        assert (magic, version, serial) == (b"OggS", 0, 7)
        lacing = file[at + 27 : at + 27 + count]
        end = at + 27 + count + sum(lacing)
        page = file[at : at + 22] + bytes(4) + file[at + 26 : end]
        assert slow_crc(page) == crc
        out.append((flags, granule, number, file[at + 27 + count : end]))
        at = end
    return out


def slow_crc(data: bytes) -> int:
    """RFC 3533's checksum, bit by bit."""
    crc = 0
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 0x80000000 else 0)) & 0xFFFFFFFF
    return crc


@given(st.binary(max_size=200))
def test_checksum(data: bytes) -> None:
    assert ogg_crc(data) == slow_crc(data)


@pytest.mark.parametrize("seconds", [0.013, 0.02, 0.5, 1.777])
@pytest.mark.parametrize("frame_ms", [10, 20, 60])
def test_ffmpeg_hears_exactly_what_was_spoken(seconds: float, frame_ms: int) -> None:
    audio_format = AudioFormat(frame_ms=frame_ms)
    chain = make_chain(audio_format, 44_100)
    packets = speak(chain, [speech_like(44_100, seconds)])
    writer = OggOpusWriter(chain.pre_skip_samples, serial=7)
    parts = [writer.header()] + [writer.write(p.payload) for p in packets]
    total = chain.position_samples - chain.pre_skip_samples
    file = b"".join([*parts, writer.finish(total)])

    found = pages(file)
    assert [number for _, _, number, _ in found] == list(range(len(found)))
    assert found[0][0] == 2 and found[-1][0] == 4
    assert not any(flags for flags, *_ in found[1:-1])
    granules = [granule for _, granule, _, _ in found]
    assert granules == sorted(granules) and granules[-1] == chain.pre_skip_samples + total
    assert b"".join(body for *_, body in found[2:]) == b"".join(p.payload for p in packets)

    with av.open(io.BytesIO(file)) as container:
        assert container.streams.audio[0].codec_context.name in ("opus", "libopus")
        raw = [bytes(p) for p in container.demux(audio=0) if p.size]
    assert raw == [p.payload for p in packets]
    with av.open(io.BytesIO(file)) as container:
        got = np.concatenate([f.to_ndarray()[0] for f in container.decode(audio=0)])
    want = decoded(audio_format, packets, chain.pre_skip_samples)
    assert len(got) == total == len(want)
    assert np.abs(got - want).max() < 0.02  # another decoder


def test_a_page_leaves_every_100_ms_and_the_first_at_once() -> None:
    writer = OggOpusWriter(312, serial=7)
    writer.header()
    chain = make_chain(AudioFormat(), 44_100)
    payloads = [p.payload for p in speak(chain, [speech_like(44_100, 1.0)])]
    filled = [k for k, payload in enumerate(payloads) if writer.write(payload)]
    assert filled[:4] == [1, 6, 11, 16]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(2, 1500), min_size=1, max_size=60))
def test_packets_of_any_size_come_back(sizes: list[int]) -> None:
    payloads = [bytes([0x78]) + bytes(size - 1) for size in sizes]  # 20 ms, mono, one frame
    writer = OggOpusWriter(0, serial=7)
    file = writer.header() + b"".join(map(writer.write, payloads)) + writer.finish(None)
    assert b"".join(body for *_, body in pages(file)[2:]) == b"".join(payloads)
    assert pages(file)[-1][1] == 960 * len(payloads)


def test_a_stream_without_sound_is_a_valid_file() -> None:
    writer = OggOpusWriter(0, serial=7)
    found = pages(writer.header() + writer.finish(0))
    assert [flags for flags, *_ in found] == [2, 0, 4]


def test_an_end_beyond_the_packets_is_refused() -> None:
    writer = OggOpusWriter(312)
    writer.header()
    writer.write(bytes([0x78, 0]))
    with pytest.raises(ValueError, match="total_samples: expected at most 648, got 649"):
        writer.finish(649)


def test_what_is_no_packet_is_refused() -> None:
    with pytest.raises(ValueError, match="expected Opus"):
        OggOpusWriter(0).write(b"")
