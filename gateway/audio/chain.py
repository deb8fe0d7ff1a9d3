"""One context's sound: engine PCM -> speed -> stitch -> resample -> gain -> packets.

The speed comes before the seams, so that pauses and crossfades last what the listener hears and
each segment may have its own. All up to the resampler runs when PCM comes in; gain and encoder run
when a packet is pulled, so that a fade or a duck acts on the very next packet.
"""

from __future__ import annotations

import numpy as np

from gateway.audio.constants import (
    FADE_OUT_MS,
    GAIN_RAMP_MS,
    Samples,
    samples_of,
    scale_position,
)
from gateway.audio.encode import PacketEncoder, make_encoder
from gateway.audio.fifo import EMPTY, SampleFifo
from gateway.audio.pcm import from_bytes
from gateway.audio.resample import Resampler
from gateway.audio.speed import Stretcher, check_speed, stretched_position
from gateway.audio.splice import complement, rising
from gateway.audio.stitch import Stitcher
from gateway.types import AudioFormat, Packet

_DRAIN_STEP_MS = 10.0


def make_chain(audio_format: AudioFormat, engine_rate_hz: int, speed: float = 1.0) -> Chain:
    """A new context's chain.

    Raises:
        ValueError: a setting is out of its range.
    """
    return Chain(audio_format, engine_rate_hz, speed)


class Chain:
    """Implements `types.AudioChain`."""

    def __init__(self, audio_format: AudioFormat, engine_rate_hz: int, speed: float) -> None:
        self._engine_hz, self._out_hz = engine_rate_hz, audio_format.sample_rate_hz
        self._encoder: PacketEncoder = make_encoder(audio_format)
        self._frame_samples = audio_format.frame_samples
        self._resampler = Resampler(engine_rate_hz, self._out_hz)
        self._stitcher = Stitcher(engine_rate_hz)
        self._stretcher = Stretcher(engine_rate_hz, 1.0)
        self._speeds: list[float] = []  # of every segment: they map its positions
        self._ready = SampleFifo()
        self._position = 0
        self._end: int | None = None  # of all sound that a decoder will put out
        self._gain = self._target_gain = 1.0
        self._fade_samples = samples_of(FADE_OUT_MS, self._out_hz)
        self._faded_samples = 0
        self._fade_in = EMPTY  # gains of the first samples, while there are any
        tail = self._frame_samples - self._encoder.pre_skip_samples
        self._ramp_samples = min(samples_of(GAIN_RAMP_MS, self._out_hz), tail)
        self.set_speed(speed)

    @property
    def pre_skip_samples(self) -> int:
        """Samples at the output rate that a decoder must drop at the start."""
        return self._encoder.pre_skip_samples

    @property
    def buffered_samples(self) -> int:
        """Samples at the output rate that are ready and not yet pulled."""
        if self._end is not None:
            return self._end - self._position
        return len(self._ready)

    @property
    def position_samples(self) -> int:
        """Samples at the output rate pulled so far: the next packet's start."""
        return self._position

    @property
    def faded_ms(self) -> float:
        """How long the faded end is that `fade_out` made; 0 while there is none."""
        return 1000.0 * self._faded_samples / self._out_hz

    def set_speed(self, speed: float) -> None:
        """Tempo of the segments begun from now on, 0.25 to 4.0; 1.0 changes no sample."""
        check_speed(speed)
        self._speed = speed

    def begin_segment(self) -> None:
        """The PCM that follows belongs to the next segment: join it with a crossfade."""
        if self._end is not None:
            return
        self._accept(self._stitcher.begin())
        self._stretcher = Stretcher(self._engine_hz, self._speed)
        self._speeds.append(self._speed)

    def push(self, pcm: bytes) -> None:
        """Take float32 LE mono samples at the engine's rate. Ignored after the end.

        Raises:
            ValueError: not whole samples, or no segment is open.
        """
        samples = from_bytes(pcm)
        if self._end is None:
            self._accept(self._stitcher.push(self._stretcher.push(samples)))

    def end_segment(self) -> None:
        """The segment is complete: silence beyond a natural pause is dropped."""
        if self._end is not None:
            return
        if self._stitcher.in_segment:
            self._accept(self._stitcher.push(self._stretcher.finish()))
        self._accept(self._stitcher.end())

    def add_silence(self, duration_ms: float) -> None:
        """Append exact silence, between two segments."""
        if duration_ms < 0:
            raise ValueError(f"duration_ms: expected 0 or more, got {duration_ms}")
        if self._end is None:
            self._accept(self._stitcher.silence(samples_of(duration_ms, self._engine_hz)))

    def flush(self) -> None:
        """Nothing follows for a while: let everything so far be pulled.

        Held samples go out, and silence fills the last packet; the next segment starts afresh.
        """
        if self._end is not None or self._stitcher.in_segment:
            return
        self._accept(self._stitcher.close())
        wanted = self._line_to_output(self._stitcher.length) + self.pre_skip_samples
        wanted += -wanted % self._frame_samples
        while self._position + len(self._ready) < wanted:
            self._accept(self._stitcher.silence(samples_of(_DRAIN_STEP_MS, self._engine_hz)))

    def finish(self) -> None:
        """No more input: `pull` now drains everything, encoder tail included."""
        if self._end is not None:
            return
        if self._stitcher.in_segment:
            self.end_segment()
        self._accept(self._stitcher.close())
        self._ready.push(self._resampler.finish())
        self._end = self._line_to_output(self._stitcher.length)
        if self._end:  # without a sound there is nothing to skip either
            self._end += self.pre_skip_samples

    def segment_start_samples(self, index: int) -> int | None:
        """Where segment `index` (counted by `begin_segment`) begins on the output time line."""
        start = self._stitcher.segment_start(index)
        return None if start is None else self._line_to_output(start)

    def output_samples(self, index: int, segment_samples: int) -> int | None:
        """Map a position inside a segment (engine rate) to the output time line.

        None while the segment has not begun, or the sample has not come or may yet be trimmed.
        """
        if not 0 <= index < len(self._speeds):
            return None
        sample = stretched_position(segment_samples, self._speeds[index])
        place = self._stitcher.position(index, sample)
        return None if place is None else self._line_to_output(place)

    def pull(self) -> Packet | None:
        """Encode and return the next packet, or None while there is too little for one."""
        if self._end is None:
            if len(self._ready) < self._frame_samples:
                return None
            duration = self._frame_samples
        else:
            duration = min(self._frame_samples, self._end - self._position)
            if not duration:
                return None
        samples = self._with_gain(self._ready.take(self._frame_samples))
        if len(self._fade_in):
            samples = self._faded_in(samples)
        return self._packet(samples, duration)

    def pull_some(self, most: int) -> list[Packet]:
        """The next packets, fewer than `most` when there is too little for more."""
        packets: list[Packet] = []
        if self._gain == self._target_gain == 1.0 and not len(self._fade_in):
            # whole packets of nothing but plain sound: in one piece
            size, ready = self._frame_samples, len(self._ready)
            if self._end is not None:
                ready = min(ready, self._end - self._position)
            count = min(most, ready // size)
            sound = self._ready.take(count * size)
            packets = [self._packet(sound[i * size : (i + 1) * size], size) for i in range(count)]
        while len(packets) < most and (packet := self.pull()) is not None:
            packets.append(packet)
        return packets

    def fade_in(self, duration_ms: float) -> None:
        """Begin over another chain's faded end that lasts so long: both have constant power.

        Raises:
            ValueError: a packet has left already.
        """
        if self._position:
            raise ValueError(f"expected fade_in() before any packet, got {self._position} samples")
        tail = rising(samples_of(duration_ms, self._out_hz))[::-1]
        self._fade_in = complement(tail[: self._frame_samples])

    def fade_out(self) -> list[Packet]:
        """Barge-in: the last packets, faded to silence; everything behind them is dropped.

        Nothing, if nothing was heard that could be cut: before the first packet, after the last,
        and while the gain is 0.
        """
        end = self._end
        if end is None:
            end = self._line_to_output(self._stitcher.length) + self.pre_skip_samples
        if not (self._position and self._gain and self._position < end):
            self._close(self._position)
            return []
        if self._end is None and len(self._ready) < self._fade_samples:
            self._accept(self._stitcher.close())
            self._ready.push(self._resampler.finish())
        sound = self._ready.take(self._fade_samples)
        sound = sound * rising(len(sound))[::-1] * np.float32(self._gain)
        faded_end = min(end, self._position + len(sound) + self.pre_skip_samples)
        self._faded_samples = max(faded_end - self.pre_skip_samples - self._position, 0)
        self._close(faded_end)
        self._ready.push(sound)
        self._target_gain = self._gain = 1.0
        return self.pull_some(faded_end // self._frame_samples + 1)

    def set_gain(self, gain: float) -> None:
        """Ramp the output gain without a click, starting with the next packet.

        Before the first packet there is nothing to ramp from.
        """
        if not 0.0 <= gain <= 1.0:
            raise ValueError(f"gain: expected 0.0 to 1.0, got {gain}")
        self._target_gain = gain
        if not self._position:
            self._gain = gain

    def _line_to_output(self, position: int) -> int:
        return scale_position(position, self._engine_hz, self._out_hz)

    def _accept(self, samples: Samples) -> None:
        if len(samples):
            self._ready.push(self._resampler.push(samples))

    def _close(self, end: int) -> None:
        self._ready.clear()
        self._end = end

    def _with_gain(self, samples: Samples) -> Samples:
        if self._gain == self._target_gain == 1.0:
            return samples
        gains = np.full(len(samples), self._target_gain, np.float32)
        if self._gain != self._target_gain:
            ramp = rising(self._ramp_samples)[: len(samples)]
            gains[: len(ramp)] = self._gain + (self._target_gain - self._gain) * ramp
            self._gain = self._target_gain
        return samples * gains

    def _faded_in(self, samples: Samples) -> Samples:
        """The first packet, which is at least as long as the fade."""
        ramp, self._fade_in = self._fade_in[: len(samples)], EMPTY
        return np.concatenate((samples[: len(ramp)] * ramp, samples[len(ramp) :]))

    def _packet(self, samples: Samples, duration: int) -> Packet:
        payload = self._encoder.encode(samples)
        packet = Packet(payload, self._position, duration)
        self._position += duration
        return packet
