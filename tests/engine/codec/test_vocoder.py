from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from engine.codec.decoder import StreamingDecoder
from engine.codec.kernels.source_filter import N_FFT, SourceFilter, VoiceParameters, overlap_add
from engine.codec.sizes import CodecConfig
from engine.codec.vocoder import voice_parameters
from tests.engine.codec.conftest import SMALL, random_tensors, write_codec
from tests.engine.codec.test_decoder import Conversation, chunked, some_codes

RATE_HZ, HOP = 22050, 128
CONFIG = replace(
    SMALL,
    decoder_rates=(),
    vocoder_steps=2,
    vocoder_hop_samples=64,
    vocoder_blocks=2,
    vocoder_bands=20,
    vocoder_noise_bands=5,
    encoder_rates=(4, 4, 8),
)


def speaking_tensors(config: CodecConfig) -> dict[str, Tensor]:
    """Random tensors whose head gives a quiet voice around 150 Hz, with and without voicing."""
    tensors, parameters = random_tensors(config), voice_parameters(config)
    bias = tensors["vocoder.head.bias"].view(config.vocoder_steps, -1)
    bias[:, : parameters.bands] = -6.0
    bias[:, -2] = math.log(150.0)
    tensors["vocoder.head.weight"] *= 0.3
    return tensors


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> StreamingDecoder:
    folder: Path = tmp_path_factory.mktemp("vocoder")
    write_codec(folder, CONFIG, speaking_tensors(CONFIG))
    return StreamingDecoder.from_checkpoint(folder, max_slots=6)


# --- chunks, batches and slots change nothing, to the bit


@settings(max_examples=25)
@given(st.integers(1, 40), st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(0, 9))
def test_chunked_equals_whole(
    decoder: StreamingDecoder, frames: int, sizes: list[int], seed: int
) -> None:
    codes = some_codes(decoder.config, frames, seed)
    whole = decoder.decode_whole(codes)
    np.testing.assert_array_equal(chunked(decoder, codes, sizes), whole)
    assert whole.shape == (frames * decoder.config.frame_samples,)
    assert 1e-3 < np.abs(whole).max() < 1.0


@settings(max_examples=20)
@given(st.data())
def test_desynchronised_streams_in_one_batch_equal_each_alone(
    decoder: StreamingDecoder, data: st.DataObject
) -> None:
    talk = Conversation(decoder, [some_codes(decoder.config, 9, seed) for seed in range(5)])
    try:
        for _ in range(data.draw(st.integers(1, 14), label="calls")):
            for i in data.draw(st.sets(st.integers(0, 4), max_size=2), label="start"):
                talk.start(i)
            if not talk.slots:
                continue
            streams = st.lists(st.sampled_from(sorted(talk.slots)), min_size=1, unique=True)
            batch = data.draw(streams, label="batch")
            most = min(3, *(talk.left(i) for i in batch), 3)
            talk.go_on(batch, data.draw(st.integers(1, most), label="frames"))
    finally:
        talk.close()
    for codes, rows, done in zip(talk.utterances, talk.heard, talk.done, strict=True):
        if rows:
            alone = decoder.decode_whole(codes[:done])
            np.testing.assert_array_equal(np.concatenate(rows), alone)


def test_the_noise_goes_on_past_its_table(decoder: StreamingDecoder) -> None:
    codes = some_codes(decoder.config, 160, seed=1)  # 163,840 samples of 131,072
    np.testing.assert_array_equal(chunked(decoder, codes, [50]), decoder.decode_whole(codes))


def test_latents_that_nothing_rounded_sound_as_the_codes_do(decoder: StreamingDecoder) -> None:
    codes = some_codes(decoder.config, 40, seed=2)
    latents = decoder._decoder.table.latents(torch.from_numpy(codes)[None])[0]
    np.testing.assert_array_equal(decoder.decode_latents(latents), decoder.decode_whole(codes))


# --- what is heard is what the parameters say

PARAMETERS = VoiceParameters(bands=40, noise_bands=10)


def steady(log_power: float, f0_hz: float, voiced: bool, log_noise: float, count: int) -> Tensor:
    """Steps [1, 1 + count, size] of one sound, flat in frequency."""
    step = torch.zeros(PARAMETERS.size)
    step[:40], step[40:50] = log_power, log_noise
    step[-2], step[-1] = math.log(f0_hz), 1.0 if voiced else -1.0
    return step.repeat(1, 1 + count, 1)


def render(steps: Tensor) -> NDArray[np.float64]:
    count = steps.shape[1] - 1
    source_filter = SourceFilter(PARAMETERS, HOP, RATE_HZ, torch.device("cpu"))
    noise = torch.randn(1, count, HOP, generator=torch.Generator().manual_seed(0))
    segments, _ = source_filter.render(steps, torch.zeros(1), noise)
    samples, _ = overlap_add(segments, torch.zeros(1, N_FFT - HOP), HOP)
    return samples[0].double().numpy()


@pytest.mark.parametrize("f0_hz", [70.0, 123.4, 260.0])
def test_a_voiced_sound_has_its_harmonics_and_nothing_else(f0_hz: float) -> None:
    samples = render(steady(-6.0, f0_hz, True, -20.0, 400))[4096:]
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    hz = np.fft.rfftfreq(len(samples), 1 / RATE_HZ)
    away = np.abs(hz / f0_hz - np.round(hz / f0_hz)) * f0_hz
    inside = (hz > f0_hz / 2) & (hz < 10500)
    assert spectrum[inside & (away < 4)].sum() > 0.999 * spectrum[inside].sum()
    peaks = [spectrum[np.abs(hz - f0_hz * h) < 4].sum() for h in range(1, int(10000 / f0_hz))]
    assert max(peaks) / min(peaks) < 1.3


@pytest.mark.parametrize(("voiced", "log_noise"), [(True, -20.0), (True, 0.0), (False, -20.0)])
def test_power_is_the_envelopes_whatever_the_source(voiced: bool, log_noise: float) -> None:
    samples = render(steady(-5.0, 150.0, voiced, log_noise, 600))[4096:]
    assert 10 * np.log10(np.mean(samples**2)) == pytest.approx(-5.0 * 10 / math.log(10), abs=0.6)


def test_a_filter_is_minimum_phase_and_has_its_magnitude() -> None:
    source_filter = SourceFilter(PARAMETERS, HOP, RATE_HZ, torch.device("cpu"))
    logs = torch.randn(40, generator=torch.Generator().manual_seed(3)).cumsum(0)
    log_spectrum = source_filter.to_spectrum(0.5 * logs[None])[0].double().numpy()
    magnitude, phase = np.exp(log_spectrum[:513]), log_spectrum[513:]
    response = np.fft.irfft(magnitude * np.exp(1j * phase))
    energy = np.cumsum(response**2) / np.sum(response**2)
    # no other phase has its energy earlier: not the same magnitudes with delays of one more zero
    later = np.fft.irfft(magnitude * np.exp(1j * (phase + np.linspace(0, -3 * np.pi, 513))))
    assert (energy[:400] >= np.cumsum(later**2)[:400] / np.sum(later**2) - 1e-6).all()
    zero = np.fft.irfft(magnitude)  # half of it is before time 0
    assert energy[10] > np.sum(zero[:11] ** 2) / np.sum(zero**2)
    assert energy[400] > 0.999


def test_pitch_glides_without_a_click() -> None:
    steps = steady(-6.0, 100.0, True, -20.0, 300)
    steps[..., -2] = torch.linspace(math.log(100.0), math.log(200.0), 301)
    samples = render(steps)[2048:]
    high = np.abs(np.diff(samples, n=2))
    quiet = render(steady(-6.0, 140.0, True, -20.0, 300))[2048:]
    assert high.max() < 2.0 * np.abs(np.diff(quiet, n=2)).max()


def test_the_envelope_learns_through_the_filter() -> None:
    source_filter = SourceFilter(PARAMETERS, HOP, RATE_HZ, torch.device("cpu"), learns=True)
    steps = steady(-6.0, 150.0, True, -3.0, 8).requires_grad_()
    segments, _ = source_filter.render(steps, torch.zeros(1), torch.randn(1, 8, HOP))
    segments.square().sum().backward()
    assert steps.grad is not None
    assert (steps.grad[..., :40].abs().sum(-1) > 0).all()


# --- configuration


def test_a_vocoder_has_no_convolutional_blocks() -> None:
    with pytest.raises(ValueError, match="expected no decoder_rates"):
        replace(CONFIG, decoder_rates=(8, 8))


def test_a_hop_must_divide_the_response() -> None:
    with pytest.raises(ValueError, match="expected vocoder_hop_samples to divide 1024, got 100"):
        replace(CONFIG, vocoder_hop_samples=100)
