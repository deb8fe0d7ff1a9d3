"""Files of packets: not re-encoded, and as long as the sound, to the sample."""

from __future__ import annotations

import math
import struct
import wave
from pathlib import Path

import av
import pytest

from clients.sound.files import OggOpusFile, WavFile, duration_samples
from clients.sound.opus import OpusDecoder, opus_packet_samples
from gateway.audio import make_chain
from gateway.types import AudioFormat

RATE_HZ = 48_000


def tone(samples: int) -> list[float]:
    return [0.3 * math.sin(2 * math.pi * 440 * i / RATE_HZ) for i in range(samples)]


def opus_packets(samples: int, frame_ms: int = 20) -> tuple[list[bytes], int]:
    """Packets that hold `samples` of a tone, and their pre-skip."""
    chain = make_chain(AudioFormat(frame_ms=frame_ms), RATE_HZ)
    chain.begin_segment()
    chain.push(struct.pack(f"<{samples}f", *tone(samples)))
    chain.end_segment()
    chain.finish()
    packets = []
    while (packet := chain.pull()) is not None:
        packets.append(packet.payload)
    return packets, chain.pre_skip_samples


@pytest.mark.parametrize("samples", [960, 4800, 12_345, 48_000])
@pytest.mark.parametrize("frame_ms", [10, 20, 60])
def test_ogg_lasts_exactly_as_long_as_the_sound(
    tmp_path: Path, samples: int, frame_ms: int
) -> None:
    packets, pre_skip = opus_packets(samples, frame_ms)
    path = tmp_path / "tone.opus"
    file = OggOpusFile(path, pre_skip)
    for packet in packets:
        file.write(packet, opus_packet_samples(packet))
    file.close(samples)
    assert duration_samples(path) == (samples, RATE_HZ)


def test_ogg_holds_the_packets_as_they_came(tmp_path: Path) -> None:
    packets, pre_skip = opus_packets(9600)
    path = tmp_path / "tone.ogg"
    file = OggOpusFile(path, pre_skip)
    for packet in packets:
        file.write(packet, 960)
    file.close()
    with av.open(str(path)) as container:
        stored = [bytes(packet) for packet in container.demux(audio=0) if packet.size]
        head = container.streams.audio[0].codec_context.extradata
    assert stored == packets
    assert head is not None
    assert struct.unpack_from("<H", head, 10)[0] == pre_skip


def test_an_ogg_without_sound_is_closed_properly(tmp_path: Path) -> None:
    path = tmp_path / "empty.opus"
    OggOpusFile(path, 312).close(0)
    assert path.read_bytes()[:4] == b"OggS"


def test_the_decoder_drops_the_pre_skip() -> None:
    packets, pre_skip = opus_packets(9600)
    decoder = OpusDecoder(pre_skip)
    pcm = b"".join(decoder.decode(packet) for packet in packets)
    assert len(pcm) // 2 == len(packets) * 960 - pre_skip
    heard = struct.unpack(f"<{len(pcm) // 2}h", pcm)[2400:7200]
    wanted = [32768 * x for x in tone(9600)[2400:7200]]
    error = sum((a - b) ** 2 for a, b in zip(heard, wanted, strict=True))
    assert error / sum(b * b for b in wanted) < 0.05  # in time and in tune


def test_wav_header_counts_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "tone.wav"
    file = WavFile(path, 44_100)
    file.write(bytes(2 * 100), 100)
    file.write(bytes(2 * 31), 31)
    file.close()
    with wave.open(str(path)) as written:
        assert (written.getnframes(), written.getframerate()) == (131, 44_100)
        assert (written.getnchannels(), written.getsampwidth()) == (1, 2)


@pytest.mark.parametrize("frame_ms", [10, 20, 40, 60])
def test_duration_is_read_from_the_packet(frame_ms: int) -> None:
    packets, _ = opus_packets(5760, frame_ms)
    assert {opus_packet_samples(packet) for packet in packets} == {48 * frame_ms}
    assert opus_packet_samples(b"") == 0
