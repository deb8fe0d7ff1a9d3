"""Files written while they are made: each opens, is as long as its sound, holds nothing."""

from __future__ import annotations

import dataclasses
import io

import av
import numpy as np
import pytest

from gateway.audio.files.packing import FileStage, file_writer, silent_file
from gateway.audio.opus import OpusEncoder
from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Configured,
    Container,
    ContextSettings,
    Done,
    Event,
    Failed,
    FileFormat,
    Interrupted,
    SegmentStarted,
    Started,
)

PCM = AudioFormat(Codec.PCM_S16LE, 24_000)
OPUS = AudioFormat(Codec.OPUS)
FILES = [
    (FileFormat(Container.WAV), PCM),
    (FileFormat(Container.WAV), AudioFormat(Codec.MULAW)),
    (FileFormat(Container.MP3), PCM),
    (FileFormat(Container.MP3, 128_000), AudioFormat(Codec.PCM_S16LE, 44_100)),
    (FileFormat(Container.AAC), PCM),
    (FileFormat(Container.FLAC), PCM),
    (FileFormat(Container.OGG), OPUS),
]
PACKETS = 50


def packets(audio_format: AudioFormat) -> list[bytes]:
    """A second of a tone, in packets of 20 ms."""
    size = audio_format.frame_samples
    tone = 0.3 * np.sin(np.arange(PACKETS * size) * 2 * np.pi * 300 / audio_format.sample_rate_hz)
    parts = tone.astype(np.float32).reshape(PACKETS, size)
    if audio_format.codec is Codec.OPUS:
        encoder = OpusEncoder(audio_format)
        return [encoder.encode(part) for part in parts]
    if audio_format.codec is Codec.MULAW:
        return [b"\xff" * size for _ in parts]
    return [(part * 32767).astype("<i2").tobytes() for part in parts]


def duration_ms(data: bytes) -> float:
    with av.open(io.BytesIO(data)) as container:
        stream = container.streams.audio[0]
        samples = sum(frame.samples for frame in container.decode(stream))
        return 1000 * samples / stream.codec_context.sample_rate


def through(stage: FileStage, audio_format: AudioFormat, end: Event) -> list[Event]:
    """What a dialect is given for one context."""
    events: list[Event] = [
        Configured("c", ContextSettings(format=audio_format)),
        Started("c", 1, 0, audio_format, 0),
        *(Audio("c", 1, 0, i, 0, payload) for i, payload in enumerate(packets(audio_format))),
        end,
    ]
    return [packed for event in events for packed in stage.apply(event)]


def body(events: list[Event]) -> bytes:
    return b"".join(event.payload for event in events if isinstance(event, Audio))


DONE = Done("c", 1000.0, 22, 1, 0, 0, 10.0)
ENDS = [
    DONE,
    Interrupted("c", 0, "", "", 0.0, 0.0, True, 0),
    Failed("c", "engine_failed", "expected sound, got none"),
]


@pytest.mark.parametrize(("file", "audio_format"), FILES, ids=str)
@pytest.mark.parametrize("end", ENDS, ids=lambda end: type(end).__name__)
def test_a_file_opens_and_is_as_long_as_its_sound(
    file: FileFormat, audio_format: AudioFormat, end: Event
) -> None:
    events = through(FileStage(lambda: file), audio_format, end)
    assert events[-1] == end
    assert 999 < duration_ms(body(events)) < 1100


@pytest.mark.parametrize(("file", "audio_format"), FILES, ids=str)
def test_sound_leaves_long_before_the_end(file: FileFormat, audio_format: AudioFormat) -> None:
    stage = FileStage(lambda: file)
    list(stage.apply(Started("c", 1, 0, audio_format, 0)))
    sent = 0
    for index, payload in enumerate(packets(audio_format)):
        sent += len(body(list(stage.apply(Audio("c", 1, 0, index, 0, payload)))))
        if index == PACKETS // 2:
            assert sent > 0
    stage.close()
    stage.close()  # twice is harmless


@pytest.mark.parametrize(("file", "audio_format"), FILES, ids=str)
def test_a_context_without_sound_is_a_short_silent_file(
    file: FileFormat, audio_format: AudioFormat
) -> None:
    stage = FileStage(lambda: file)
    configured = Configured("c", ContextSettings(format=audio_format))
    events = [packed for event in (configured, DONE) for packed in stage.apply(event)]
    assert events[0] == configured and events[-1] == DONE
    assert body(events) and 50 < duration_ms(body(events)) < 250


@pytest.mark.parametrize(("file", "audio_format"), FILES)
def test_each_segment_may_be_a_file(file: FileFormat, audio_format: AudioFormat) -> None:
    each = dataclasses.replace(file, each_segment=True)
    stage = FileStage(lambda: each)
    events: list[Event] = [Started("c", 1, 0, audio_format, 0)]
    for index in range(2):
        events.append(SegmentStarted("c", index, 0, 1, "a", 0.0))
        parts = enumerate(packets(audio_format))
        events += [Audio("c", 1, 0, i, 0, payload) for i, payload in parts]
    packed = [found for event in (*events, DONE) for found in stage.apply(event)]
    first, second = (i for i, event in enumerate(packed) if isinstance(event, SegmentStarted))
    assert not body(packed[:first])
    for part in (packed[first:second], packed[second:]):
        assert duration_ms(body(part)) == pytest.approx(1000, abs=100)
    stage.close()


def test_without_a_container_everything_passes_as_it_is() -> None:
    stage = FileStage(FileFormat)
    given = through(stage, PCM, DONE)
    assert body(given) == b"".join(packets(PCM))
    assert [type(event) for event in given if not isinstance(event, Audio)] == [
        Configured,
        Started,
        Done,
    ]


def test_contexts_have_files_of_their_own() -> None:
    stage = FileStage(lambda: FileFormat(Container.FLAC))
    both: dict[str, bytes] = {"a": b"", "b": b""}
    events: list[Event] = [Started(name, 1, 0, PCM, 0) for name in both]
    for index, payload in enumerate(packets(PCM)):
        events += [Audio(name, 1, 0, index, 0, payload) for name in both]
    events += [Done(name, 1000.0, 22, 1, 0, 0, 10.0) for name in both]
    for event in events:
        for packed in stage.apply(event):
            if isinstance(packed, Audio):
                both[packed.context] += packed.payload
    assert both["a"] == both["b"] and abs(duration_ms(both["a"]) - 1000) < 1


@pytest.mark.parametrize(
    ("file", "audio_format", "message"),
    [
        (FileFormat(), PCM, "container: expected one that is a file, got raw"),
        (FileFormat(Container.OGG), PCM, "codec: expected opus in Ogg, got pcm_s16le"),
        (FileFormat(Container.MP3), OPUS, "codec: expected pcm_s16le, got opus"),
    ],
)
def test_packets_that_do_not_fit_are_refused(
    file: FileFormat, audio_format: AudioFormat, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        file_writer(file, audio_format, 0)


def test_silence_is_silent() -> None:
    data = silent_file(FileFormat(Container.FLAC), PCM)
    with av.open(io.BytesIO(data)) as container:
        frames = [frame.to_ndarray() for frame in container.decode(container.streams.audio[0])]
    assert not np.concatenate(frames, axis=1).any()
