"""A flush in the middle of a file: what was made can be heard, and the file goes on."""

from __future__ import annotations

import io

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audio import OpusEncoder
from gateway.audio.files import FileStage, file_writer
from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Container,
    Done,
    Event,
    FileFormat,
    Flushed,
    Started,
)

OPUS = AudioFormat(Codec.OPUS)
ENCODER = OpusEncoder(OPUS)
PACKET = ENCODER.encode(np.zeros(OPUS.frame_samples, np.float32))


def packet(payload: bytes) -> Audio:
    return Audio("a", 1, 0, 0, 0, payload)


def sound(events: list[Event]) -> bytes:
    return b"".join(event.payload for event in events if isinstance(event, Audio))


def packets_in(file: bytes) -> int:
    with av.open(io.BytesIO(file)) as opened:
        frames = [*opened.decode(audio=0)]
    return round(sum(frame.samples for frame in frames) / OPUS.frame_samples)


@given(st.lists(st.integers(0, 13), min_size=1, max_size=5), st.booleans())
def test_ogg_holds_nothing_back_after_a_flush(parts: list[int], more: bool) -> None:
    stage = FileStage(lambda: FileFormat(Container.OGG))
    file = sound([*stage.apply(Started("a", 1, 0, OPUS, 0))])
    total = 0
    for count in parts:
        for _ in range(count):
            file += sound([*stage.apply(packet(PACKET))])
        total += count
        flushed = [*stage.apply(Flushed("a", None, 0.0))]
        assert isinstance(flushed[-1], Flushed)
        file += sound(flushed)
        if total:
            assert packets_in(file) == total
    if more:
        total += 1
        file += sound([*stage.apply(packet(PACKET))])
    file += sound([*stage.apply(Done("a", 20.0 * total, 0, 0, 0, 0, None))])
    if total:
        assert packets_in(file) == total


@pytest.mark.parametrize("container", [Container.WAV, Container.MP3, Container.AAC, Container.FLAC])
def test_others_go_on_as_they_were(container: Container) -> None:
    files = []
    for flushing in (False, True):
        writer = file_writer(FileFormat(container), AudioFormat(Codec.PCM_S16LE, 24_000), 0)
        data = writer.header()
        for _ in range(20):
            data += writer.write(bytes(960)) + (writer.flush() if flushing else b"")
        files.append(data + writer.finish(None))
        writer.close()
    assert files[0] == files[1]
