"""An audio chain and a segmenter whose work can be read off."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from gateway.types import (
    AudioFormat,
    Codec,
    ContextSettings,
    EngineFacts,
    Packet,
)

FACTS = EngineFacts(
    checkpoint="fake",
    sample_rate_hz=16_000,
    frame_samples=640,  # 40 ms
    num_codebooks=3,
    max_streams=4,
    max_frames=500,
    voices=("default", "other"),
)
PCM = AudioFormat(codec=Codec.PCM_S16LE, sample_rate_hz=16_000, frame_ms=20)


class FakeChain:
    """An `AudioChain` at the engine's own rate whose packets are the samples' values themselves.

    `hold_samples`: how much of a segment's end waits for what follows, as a crossfade would.
    """

    def __init__(
        self, audio_format: AudioFormat, speed: float = 1.0, pre_skip: int = 0, hold: int = 0
    ) -> None:
        self.format = audio_format
        self.pre_skip_samples = pre_skip
        self.position_samples = 0
        self.gain = 1.0
        self.faded = False
        self.faded_in_ms = 0.0
        self.speeds = [speed]
        self.undecided = 0  # samples at the end that may yet be trimmed
        self._ready: list[float] = [0.0] * pre_skip
        self._pushed = 0
        self._starts: list[int] = []
        self._hold = hold
        self._held = 0
        self._finished = False

    @property
    def buffered_samples(self) -> int:
        return len(self._ready)

    def begin_segment(self) -> None:
        assert not self._finished
        self._held = 0
        self._starts.append(self._pushed)

    def push(self, pcm: bytes) -> None:
        assert not self._finished and self._starts
        samples = struct.unpack(f"<{len(pcm) // 4}f", pcm)
        self._ready += samples
        self._pushed += len(samples)
        self._held = self._hold

    def end_segment(self) -> None:
        assert not self._finished

    def add_silence(self, duration_ms: float) -> None:
        assert not self._finished
        samples = round(duration_ms * self.format.sample_rate_hz / 1000)
        self._held = 0
        self._ready += [0.0] * samples
        self._pushed += samples

    def set_speed(self, speed: float) -> None:
        self.speeds.append(speed)

    def flush(self) -> None:
        self._held = 0
        missing = -len(self._ready) % self.format.frame_samples
        self._ready += [0.0] * missing
        self._pushed += missing

    def finish(self) -> None:
        assert not self._finished
        self._held = 0
        self._finished = True

    def segment_start_samples(self, index: int) -> int | None:
        return self._starts[index] if index < len(self._starts) else None

    def output_samples(self, index: int, segment_samples: int) -> int | None:
        if index >= len(self._starts):
            return None
        at = self._starts[index] + segment_samples
        return at if at <= self._pushed - self.undecided else None

    def pull(self) -> Packet | None:
        assert not self.faded
        size = self.format.frame_samples
        if len(self._ready) - self._held < size and not (self._finished and self._ready):
            return None
        samples, self._ready = self._ready[:size], self._ready[size:]
        packet = Packet(
            struct.pack(f"<{len(samples)}f", *(self.gain * s for s in samples)),
            self.position_samples,
            len(samples),
        )
        self.position_samples += len(samples)
        return packet

    def pull_some(self, most: int) -> list[Packet]:
        packets: list[Packet] = []
        while len(packets) < most and (packet := self.pull()) is not None:
            packets.append(packet)
        return packets

    def fade_out(self) -> list[Packet]:
        size = min(self.format.frame_samples, len(self._ready))
        self.faded = True
        self._ready = []
        if not size:
            return []
        packet = Packet(b"fade" * size, self.position_samples, size)
        self.position_samples += size
        return [packet]

    @property
    def faded_ms(self) -> float:
        return 10.0 if self.faded else 0.0

    def fade_in(self, duration_ms: float) -> None:
        assert not self.position_samples
        self.faded_in_ms = duration_ms

    def set_gain(self, gain: float) -> None:
        self.gain = gain


@dataclass(frozen=True, slots=True)
class FakeSegment:
    """What `FakeSegmenter` yields."""

    text: str
    start: int
    end: int
    spoken: str
    pause_ms: float = 0.0

    def raw_index(self, spoken_index: int) -> int:
        return spoken_index


class FakeSegmenter:
    """Cuts after every full stop and its spaces; `~` stands for a pause of 100 ms."""

    def __init__(self, settings: ContextSettings) -> None:
        self._delay_ms = settings.max_buffer_delay_ms
        self._text = ""
        self._start = 0
        self._since_ms: float | None = None
        self.leads_ms: list[float] = []

    def push(self, text: str, now_ms: float) -> list[FakeSegment]:
        cut = []
        for char in text:
            if self._text.rstrip()[-1:] in (".", "~") and not char.isspace():
                cut += self.flush()
            self._text += char
            if self._since_ms is None:
                self._since_ms = now_ms
        if self._text.endswith((". ", "~")):
            cut += self.flush()
        return cut

    def flush(self) -> list[FakeSegment]:
        text, start = self._text, self._start
        self._text, self._since_ms = "", None
        self._start += len(text)
        if not text:
            return []
        spoken = text.replace("~", "")
        return [FakeSegment(text, start, self._start, spoken, 100.0 * text.count("~"))]

    def tick(self, now_ms: float) -> list[FakeSegment]:
        deadline_ms = self.next_deadline_ms()
        return self.flush() if deadline_ms is not None and deadline_ms <= now_ms else []

    def next_deadline_ms(self) -> float | None:
        return None if self._since_ms is None else self._since_ms + self._delay_ms

    def set_lead_ms(self, lead_ms: float) -> None:
        self.leads_ms.append(lead_ms)
