from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gateway.audio import libopus
from gateway.audio.opus import FRAME_MS, OpusDecoder, OpusEncoder, opus_backend, packet_samples
from gateway.types import AudioFormat
from tests.gateway.audio.signals import silence, sine, speech_like

RATE = 48_000


def encode(audio_format: AudioFormat, samples: np.ndarray) -> tuple[OpusEncoder, list[bytes]]:
    encoder = OpusEncoder(audio_format)
    n = encoder.frame_samples
    packets = [encoder.encode(samples[k : k + n]) for k in range(0, len(samples) - n + 1, n)]
    return encoder, packets


def decode(packets: list[bytes]) -> np.ndarray:
    decoder = OpusDecoder()
    return np.concatenate([decoder.decode(packet) for packet in packets])


@pytest.mark.parametrize("frame_ms", FRAME_MS)
def test_decoded_sound_lags_by_the_lookahead(frame_ms: int) -> None:
    sound = speech_like(RATE, 1.2)
    encoder, packets = encode(AudioFormat(frame_ms=frame_ms, bitrate_bps=96_000), sound)
    got = decode(packets)
    assert {packet_samples(p) for p in packets} == {encoder.frame_samples}
    lags = range(encoder.lookahead_samples - 20, encoder.lookahead_samples + 21)
    errors = {lag: float(np.square(got[lag:] - sound[: len(got) - lag]).mean()) for lag in lags}
    best = min(errors, key=errors.__getitem__)
    assert abs(best - encoder.lookahead_samples) <= 1
    assert errors[best] < 0.05 * float(np.square(sound).mean())


def test_bitrate_and_complexity_are_obeyed() -> None:
    sound = speech_like(RATE, 2.0)
    for bitrate_bps in (12_000, 32_000, 64_000):
        _, packets = encode(AudioFormat(bitrate_bps=bitrate_bps), sound)
        assert abs(sum(map(len, packets)) * 8 / 2.0 / bitrate_bps - 1) < 0.25
    plain, careful = (encode(AudioFormat(complexity=c), sound)[1] for c in (0, 10))
    assert plain != careful


def test_silk_gets_the_complexity_that_it_needs() -> None:
    sound = speech_like(RATE, 1.0)
    packets = [encode(AudioFormat(bitrate_bps=24_000, complexity=c), sound)[1] for c in (0, 5, 10)]
    assert packets[0] == packets[1] != packets[2]


def test_fec_adds_redundancy_that_a_decoder_can_use() -> None:
    sound = speech_like(RATE, 1.0)
    _, with_fec = encode(AudioFormat(fec=True, bitrate_bps=24_000), sound)
    _, without = encode(AudioFormat(bitrate_bps=24_000), sound)
    silk = [packet[0] >> 3 < 16 for packet in with_fec]
    assert sum(silk) > len(silk) // 2  # the modes that carry it
    assert with_fec != without


def test_dtx_sends_next_to_nothing_in_silence() -> None:
    sound = np.concatenate([speech_like(RATE, 0.5), silence(RATE, 2.0)])
    sizes = [len(p) for p in encode(AudioFormat(dtx=True), sound)[1]]
    assert sum(size <= 2 for size in sizes[-60:]) > 40
    assert len(decode(encode(AudioFormat(dtx=True), sound)[1])) == len(sizes) * 960


@pytest.mark.parametrize(
    ("audio_format", "message"),
    [
        (AudioFormat(frame_ms=30), r"frame_ms: expected one of \(10, 20, 40, 60\), got 30"),
        (AudioFormat(sample_rate_hz=24_000), "sample_rate_hz: expected 48000 for Opus, got 24000"),
        (AudioFormat(bitrate_bps=1), "bitrate_bps: expected 6000 to 256000, got 1"),
        (AudioFormat(complexity=11), "complexity: expected 0 to 10, got 11"),
    ],
)
def test_bad_settings_are_refused(audio_format: AudioFormat, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OpusEncoder(audio_format)


def test_a_frame_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="frame: expected 960 samples, got 959"):
        OpusEncoder(AudioFormat()).encode(np.zeros(959, np.float32))


@pytest.mark.parametrize("packet", [b"", b"\xff", b"\x03"])
def test_what_is_no_packet_is_refused(packet: bytes) -> None:
    with pytest.raises(ValueError, match=f"packet: expected Opus, got {len(packet)} bytes"):
        packet_samples(packet)
    if packet:  # for libopus, nothing is a lost packet
        with pytest.raises(ValueError, match="packet: expected Opus"):
            OpusDecoder().decode(packet)


def test_backend_names_version_and_source() -> None:
    name = opus_backend()
    assert name.startswith("libopus ") and name.endswith(f"({libopus.load().source})")


_WITHOUT_SYSTEM = """
import ctypes.util
ctypes.util.find_library = lambda name: None
import numpy as np
from gateway.audio import OpusDecoder, OpusEncoder, opus_backend
from gateway.types import AudioFormat
t = np.arange(960 * 10) / 48000
tone = (0.5 * np.sin(2 * np.pi * 440 * t)).astype(np.float32)
encoder, decoder = OpusEncoder(AudioFormat()), OpusDecoder()
got = np.concatenate([decoder.decode(encoder.encode(f)) for f in tone.reshape(10, 960)])
lag = encoder.lookahead_samples
print(opus_backend(), float(np.abs(got[lag + 960:] - tone[960:-lag]).max()) < 0.1)
"""


def test_without_a_system_library_pyavs_is_used() -> None:
    assert libopus.bundled_libopus() is not None
    run = subprocess.run(
        [sys.executable, "-c", _WITHOUT_SYSTEM], capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("libopus ")
    assert run.stdout.strip().endswith("(bundled with PyAV) True")


def test_without_any_library_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    monkeypatch.setattr(libopus, "bundled_libopus", lambda: None)
    with pytest.raises(ImportError, match="expected the system's or the one in PyAV's wheel"):
        libopus.load.__wrapped__()


def test_streams_do_not_share_state() -> None:
    tone, sound = sine(RATE, 0.2), speech_like(RATE, 0.2)
    alone = encode(AudioFormat(), tone)[1]
    a, b, mixed = OpusEncoder(AudioFormat()), OpusEncoder(AudioFormat()), []
    for k in range(0, len(tone), 960):
        mixed.append(a.encode(tone[k : k + 960]))
        b.encode(sound[k : k + 960])
    assert mixed == alone
