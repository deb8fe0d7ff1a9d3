"""Microseconds of CPU per 20 ms of sound, stage by stage, and for whole chains.

    uv run python -m benchmarks.audio [--seconds 20] [--rounds 7]

`opus` is libopus through opuslib, `opus_pyav` the same settings through avcodec in PyAV. The last
line is one JSON object: `us_per_20_ms`: per stage and chain its minimum, median and maximum over
the rounds; `first_packet_us`: a new chain, one engine frame in, one packet out;
`sessions_per_core`: how many real-time Opus streams one core carries if it does nothing else.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction

import av
import numpy as np

from benchmarks.parts.report import Spread, finish, say
from gateway.audio import OggOpusWriter, OpusEncoder, make_chain, opus_backend
from gateway.audio.constants import Samples
from gateway.audio.g711 import encode_mulaw
from gateway.audio.pcm import to_int16
from gateway.audio.resample import Resampler
from gateway.audio.speed import Stretcher
from gateway.audio.stitch import Stitcher
from gateway.types import OPUS_RATE_HZ, AudioFormat, Codec

ENGINE_HZ, ENGINE_FRAME = 44_100, 2_048
PACKET_MS = 20
Run = Callable[[], object]


def speech(rate_hz: int, seconds: float) -> Samples:
    """A gliding voice with syllables and pauses."""
    t = np.arange(int(rate_hz * seconds)) / rate_hz
    phase = 2 * np.pi * np.cumsum(120 + 30 * np.sin(2 * np.pi * 0.7 * t)) / rate_hz
    voice = sum(np.sin(k * phase) / k for k in range(1, 20))
    noise = np.random.default_rng(0).standard_normal(len(t))
    envelope = np.clip(np.sin(2 * np.pi * 2.2 * t), 0.002, None)
    return (0.2 * envelope * (voice + 0.1 * noise)).astype(np.float32)


def frames(samples: Samples, size: int) -> list[Samples]:
    """Whole frames."""
    return list(samples[: len(samples) // size * size].reshape(-1, size))


def stages(seconds: float) -> dict[str, Run]:
    """Each entry works through `seconds` of sound once."""
    engine = frames(speech(ENGINE_HZ, seconds), ENGINE_FRAME)
    packets = frames(speech(OPUS_RATE_HZ, seconds), OPUS_RATE_HZ * PACKET_MS // 1000)
    phone = frames(speech(8_000, seconds), 8_000 * PACKET_MS // 1000)

    def stitch() -> None:
        stitcher = Stitcher(ENGINE_HZ)
        stitcher.begin()
        for frame in engine:
            stitcher.push(frame)

    def resample(out_hz: int) -> None:
        resampler = Resampler(ENGINE_HZ, out_hz)
        for frame in engine:
            resampler.push(frame)

    def stretch() -> None:
        stretcher = Stretcher(ENGINE_HZ, 1.25)
        for frame in engine:
            stretcher.push(frame)

    def opus(audio_format: AudioFormat) -> None:
        encoder = OpusEncoder(audio_format)
        for packet in packets:
            encoder.encode(packet)

    payloads = [OpusEncoder(AudioFormat()).encode(packet) for packet in packets]

    def ogg() -> None:
        writer = OggOpusWriter(312)
        for payload in payloads:
            writer.write(payload)

    return {
        "stitch": stitch,
        "resample_48000": lambda: resample(48_000),
        "resample_8000": lambda: resample(8_000),
        "speed_1.25": stretch,
        "opus": lambda: opus(AudioFormat()),
        "opus_complexity_0": lambda: opus(AudioFormat(complexity=0)),
        "opus_complexity_10": lambda: opus(AudioFormat(complexity=10)),
        "opus_fec": lambda: opus(AudioFormat(fec=True)),
        "opus_pyav": lambda: encode_by_pyav(packets),
        "pcm_s16le": lambda: [to_int16(packet).tobytes() for packet in packets],
        "mulaw": lambda: [encode_mulaw(packet) for packet in phone],
        "ogg": ogg,
    }


def encode_by_pyav(packets: list[Samples]) -> None:
    """The same settings through avcodec's wrapper of the libopus in PyAV's wheel."""
    context = av.CodecContext.create("libopus", "w")
    context.sample_rate, context.layout, context.format = OPUS_RATE_HZ, "mono", "flt"
    context.bit_rate, context.time_base = AudioFormat().bitrate_bps, Fraction(1, OPUS_RATE_HZ)
    context.options = {
        "application": "audio",
        "compression_level": str(AudioFormat().complexity),
        "frame_duration": str(PACKET_MS),
    }
    for packet in packets:
        frame = av.AudioFrame.from_ndarray(packet[None, :], format="flt", layout="mono")
        frame.sample_rate = OPUS_RATE_HZ
        for encoded in context.encode(frame):
            bytes(encoded)


def chains(seconds: float) -> dict[str, Run]:
    """Whole chains, as a session uses them: push a frame, pull what is ready."""
    pcm = [frame.tobytes() for frame in frames(speech(ENGINE_HZ, seconds), ENGINE_FRAME)]

    def chain(audio_format: AudioFormat, speed: float = 1.0) -> None:
        made = make_chain(audio_format, ENGINE_HZ, speed)
        made.begin_segment()
        for frame in pcm:
            made.push(frame)
            while made.pull() is not None:
                pass
        made.finish()
        while made.pull() is not None:
            pass

    return {
        "chain_opus": lambda: chain(AudioFormat()),
        "chain_opus_speed_1.25": lambda: chain(AudioFormat(), 1.25),
        "chain_pcm_24000": lambda: chain(AudioFormat(Codec.PCM_S16LE, 24_000)),
        "chain_mulaw_8000": lambda: chain(AudioFormat(Codec.MULAW, 8_000)),
    }


def measure(runs: dict[str, Run], seconds: float, rounds: int) -> dict[str, Spread]:
    """All of them in turn, several times over, so that a disturbance hits each alike."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            packets = seconds * 1000 / PACKET_MS
            times[name].append((time.process_time() - start) * 1e6 / packets)
    return {name: Spread.of(values, 2) for name, values in times.items()}


def first_packet_us(rounds: int) -> Spread:
    """A new context: chain made, one engine frame in, one packet out. Wall time."""
    frame, times = speech(ENGINE_HZ, 1.0)[:ENGINE_FRAME].tobytes(), []
    for _ in range(max(rounds * 20, 20)):
        start = time.perf_counter()
        chain = make_chain(AudioFormat(), ENGINE_HZ)
        chain.begin_segment()
        chain.push(frame)
        assert chain.pull() is not None
        times.append((time.perf_counter() - start) * 1e6)
    return Spread.of(times, 1)


def main() -> None:
    """Print a table and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    runs = {**stages(options.seconds), **chains(options.seconds)}
    result = measure(runs, options.seconds, options.rounds)
    for name, value in result.items():
        say(f"{name:24} {value} us")
    finish(
        benchmark="audio",
        opus_backend=opus_backend(),
        us_per_20_ms={name: asdict(value) for name, value in result.items()},
        first_packet_us=first_packet_us(options.rounds),
        sessions_per_core=round(PACKET_MS * 1000 / result["chain_opus"].median),
    )


if __name__ == "__main__":
    main()
