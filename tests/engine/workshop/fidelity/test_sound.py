"""Signal to noise, and the codec's stream against the whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.codec.decoder import StreamingDecoder
from engine.workshop.fidelity.sound import snr_db, stream
from tests.golden_data import TINY, vectors


def test_snr_of_known_noise() -> None:
    noise = np.random.default_rng(0)
    signal = noise.standard_normal(20000).astype(np.float32)
    noisy = signal + 0.01 * noise.standard_normal(20000).astype(np.float32)
    assert snr_db(signal, noisy) == pytest.approx(40, abs=0.2)
    assert snr_db(signal, signal) == 300
    assert snr_db(signal, np.zeros_like(signal)) == 0
    assert snr_db(np.zeros_like(signal), signal) == -300


def test_snr_refuses_other_shapes_and_fails_what_is_not_finite() -> None:
    silence = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match=r"expected samples \(4,\), got \(3,\)"):
        snr_db(silence, silence[:3])
    assert math.isnan(snr_db(np.ones(4, np.float32), np.full(4, np.nan, np.float32)))


def test_a_stream_gives_back_its_slot_and_sounds_like_the_golden_whole() -> None:
    decoder = StreamingDecoder.from_checkpoint(TINY, max_slots=1)
    golden = vectors("codec_short")
    for _ in range(2):
        samples = stream(decoder, np.ascontiguousarray(golden["enc.codes"].T))
        assert snr_db(golden["dec.wav"], samples) > 80
