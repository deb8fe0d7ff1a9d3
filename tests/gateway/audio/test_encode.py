from __future__ import annotations

import numpy as np
import pytest

from gateway.audio.encode import make_encoder
from gateway.types import AudioFormat, Codec


@pytest.mark.parametrize(
    ("codec", "sample_bytes"),
    [(Codec.PCM_S16LE, 2), (Codec.PCM_F32LE, 4), (Codec.MULAW, 1), (Codec.ALAW, 1)],
)
@pytest.mark.parametrize("samples", [1, 3, 160, 161])
def test_payloads_are_whole_samples(codec: Codec, sample_bytes: int, samples: int) -> None:
    encoder = make_encoder(AudioFormat(codec, 8_000))
    assert encoder.pre_skip_samples == 0
    assert len(encoder.encode(np.zeros(samples, np.float32))) == samples * sample_bytes


def test_opus_pads_a_short_frame() -> None:
    encoder = make_encoder(AudioFormat())
    assert encoder.pre_skip_samples == 312
    assert len(encoder.encode(np.zeros(7, np.float32))) > 0


@pytest.mark.parametrize("rate_hz", [1, 7_999, 48_001])
def test_rates_out_of_range_are_refused(rate_hz: int) -> None:
    with pytest.raises(ValueError, match=f"sample_rate_hz: expected 8000 to 48000, got {rate_hz}"):
        make_encoder(AudioFormat(Codec.PCM_S16LE, rate_hz))


def test_a_frame_without_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="frame_ms: expected 1 or more, got 0"):
        make_encoder(AudioFormat(Codec.PCM_S16LE, 8_000, frame_ms=0))
