"""Codes and decoder of a vocoder: learned on tones, exported, spoken by the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.codec.decoder import StreamingDecoder
from engine.workshop.train.corpus.corpus import write_shard
from engine.workshop.train.corpus.data import framed
from engine.workshop.train.corpus.voice_steps import (
    StepCrops,
    Stepped,
    other_voice,
    read_steps,
    stepped,
    write_steps,
)
from engine.workshop.train.networks.dual_ar import DualAR
from engine.workshop.train.networks.vocoder_codec import VocoderCodec, normalised, physical
from engine.workshop.train.recipe import VoiceConfig
from engine.workshop.train.stages.export import speaking_only, write_checkpoint
from engine.workshop.train.stages.train_vocoder import (
    VocoderPlan,
    VocoderTrainer,
    encode_steps,
    start_books,
    train_vocoder,
    trained_vocoder,
)
from tests.engine.workshop.train.corpus_fixture import FRAME_SAMPLES, RATE_HZ, tone_utterance

DIM = 8
PLAN = VocoderPlan(
    budget_s=1.0, batch=4, crop_frames=10, critic_steps=32, steps_before_books=2, compiled=False
)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Two threads that wait for each other beside other work are many times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def vocoder_config(config: VoiceConfig) -> VoiceConfig:
    """Frames of 128 samples: four latent steps of two vocoder steps of 16 samples."""
    codec = replace(
        speaking_only(config.codec),
        decoder_rates=(),
        decoder_block_dims=(),
        vocoder_steps=2,
        vocoder_hop_samples=16,
        vocoder_blocks=1,
        vocoder_bands=12,
        vocoder_noise_bands=4,
    )
    return replace(config, codec=codec)


@pytest.fixture
def codec(vocoder_config: VoiceConfig) -> VocoderCodec:
    return VocoderCodec(vocoder_config.codec, DIM, width=24)


@pytest.fixture
def corpus(codec: VocoderCodec) -> list[Stepped]:
    """Each phone token is an envelope with one hill, and a pitch."""
    parameters, items = codec.decoder.parameters_of_step, []
    for seed in range(12):
        item = framed(tone_utterance(seed), FRAME_SAMPLES, RATE_HZ)
        at = np.repeat(item.anchors, 8)
        bands = np.arange(parameters.bands)
        raw = np.zeros((len(at), parameters.size), np.float32)
        raw[:, : parameters.bands] = -10 + 4 * np.cos(bands - at[:, None])
        raw[:, -2] = np.log(100 + 2 * at)
        raw[:, -1] = np.where(at % 3, 1.0, -1.0)
        items.append(stepped(raw, item.anchors, parameters, 8))
    return items


def _crops(codec: VocoderCodec, corpus: list[Stepped], other_voices: float = 0.0) -> StepCrops:
    return StepCrops(corpus, 10, codec.decoder.parameters_of_step, other_voices, seed=0)


def test_codes_and_decoder_learn_and_codes_say_their_anchor(
    codec: VocoderCodec, corpus: list[Stepped]
) -> None:
    trainer, crops = VocoderTrainer(codec, PLAN), _crops(codec, corpus)
    start_books(codec, crops, batch=4)
    depth = torch.full((6,), codec.config.n_codebooks)
    seen = [trainer.step(*crops.batch(6), depth, criticised=False) for _ in range(120)]
    for name in ("envelope", "pitch", "voicing"):
        assert np.mean([s[name] for s in seen[-10:]]) < 0.7 * np.mean([s[name] for s in seen[:5]])
    codes = encode_steps(codec.eval(), corpus[0])
    assert codes.shape == (len(corpus[0].anchors), 3)
    rows = codec.quantiser.anchored.row_anchor[torch.from_numpy(codes[:, 0].astype(int))]
    assert np.array_equal(rows.numpy(), corpus[0].anchors)


def test_the_critic_learns_and_the_decoder_hears_of_it(
    codec: VocoderCodec, corpus: list[Stepped]
) -> None:
    trainer, crops = VocoderTrainer(codec, PLAN), _crops(codec, corpus, other_voices=0.5)
    start_books(codec, crops, batch=4)
    depth = torch.full((6,), codec.config.n_codebooks)
    steps, anchors = crops.batch(6)
    before = [p.detach().clone() for p in trainer.critic.parameters()]
    first = trainer.step(steps, anchors, depth, criticised=True)
    later = [trainer.step(steps, anchors, depth, criticised=True) for _ in range(20)]
    assert later[-1]["critic"] < first["critic"]
    assert all(np.isfinite(value) for figures in later for value in figures.values())
    after = list(trainer.critic.parameters())
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert all(p.requires_grad for p in after)


def test_a_run_resumes_and_what_is_used_is_the_average(
    codec: VocoderCodec, corpus: list[Stepped], vocoder_config: VoiceConfig, tmp_path: Path
) -> None:
    plan = replace(PLAN, budget_s=1.5)
    train_vocoder(codec, corpus, plan, tmp_path)
    again = VocoderCodec(vocoder_config.codec, DIM, width=24)
    train_vocoder(again, corpus, plan, tmp_path)  # nothing is left to do
    assert torch.equal(again.phone_head.weight, codec.phone_head.weight)
    last = again.decoder.vocoder["head"].weight.detach().clone()
    used = trained_vocoder(again, tmp_path)
    assert not torch.equal(used.vocoder["head"].weight, last)
    assert torch.equal(used.vectors, again.quantiser.rows())


def test_the_engine_speaks_what_was_trained(
    codec: VocoderCodec, vocoder_config: VoiceConfig, tmp_path: Path
) -> None:
    decoder = codec.decoder.eval()
    with torch.no_grad():
        decoder.vectors.normal_()
        decoder.vocoder["head"].bias[-1] = 1.0  # voiced, every second step
        for value in decoder.state_dict().values():
            value.copy_(value.half())
    write_checkpoint(
        tmp_path / "voice", vocoder_config, DualAR(vocoder_config.model).state_dict(), decoder
    )
    sizes = torch.tensor(vocoder_config.codec.codebook_sizes)
    codes = (torch.rand(1, 23, len(sizes)) * sizes).long()
    expected = decoder.waveform(codes)[0].numpy()
    streaming = StreamingDecoder.from_checkpoint(tmp_path / "voice", max_slots=1)
    made = streaming.decode_whole(codes[0].numpy())
    assert made.shape == expected.shape == (23 * vocoder_config.codec.frame_samples,)
    # F0 is rounded to fp16 twice, so phases drift apart: compare what is heard, not the samples
    for a, b in zip(np.split(made, 23), np.split(expected, 23), strict=True):
        assert np.std(a) == pytest.approx(np.std(b), rel=0.1)
    assert np.corrcoef(made[:256], expected[:256])[0, 1] > 0.95


def test_parameters_come_back_from_their_scales(codec: VocoderCodec) -> None:
    parameters = codec.decoder.parameters_of_step
    steps = torch.randn(5, parameters.size)
    steps[:, -2] = 5.0
    back = physical(normalised(steps, parameters), parameters)
    assert torch.allclose(back[:, :-1], steps[:, :-1], atol=1e-5)
    assert torch.equal(back[:, -1] > 0, steps[:, -1] > 0)


def test_another_voice_is_another_pitch_and_envelope_with_the_same_voicing(
    codec: VocoderCodec, corpus: list[Stepped]
) -> None:
    parameters = codec.decoder.parameters_of_step
    before = corpus[0].steps.astype(np.float32)
    after = before.copy()
    other_voice(after, parameters, np.random.default_rng(0))
    assert np.array_equal(after[:, -1], before[:, -1])
    shift = after[:, -2] - before[:, -2]
    assert np.ptp(shift) < 1e-4 < abs(shift[0])
    assert np.abs(after - before)[:, : parameters.bands].mean() > 0.01


def test_a_stretch_beyond_the_end_is_silence(codec: VocoderCodec, corpus: list[Stepped]) -> None:
    crops = StepCrops(corpus[:1], 200, codec.decoder.parameters_of_step, 0.0, seed=0)
    steps, anchors = crops.batch(1)
    own = len(corpus[0].anchors)
    assert steps.shape[1] == 8 * 200
    assert torch.equal(steps[0, 8 * own :], steps[0, 8 * own - 1].expand(8 * (200 - own), -1))
    assert (anchors[0, own:] == anchors.max()).all()


def test_shards_are_analysed_once(vocoder_config: VoiceConfig, tmp_path: Path) -> None:
    if find_spec("pyworld") is None:
        pytest.skip("needs the extra `train`")
    shard, target = tmp_path / "shard.npz", tmp_path / "steps" / "shard.npz"
    spoken = [tone_utterance(seed) for seed in range(2)]  # at another rate: higher and shorter
    spoken = [replace(each, f0_hz=5.0 * each.f0_hz[7::8]) for each in spoken]
    write_shard(shard, spoken)
    with pytest.raises(ValueError, match="expected vocoder_hop_samples 128"):
        write_steps(shard, target, vocoder_config.codec)
    wide = replace(vocoder_config.codec, vocoder_hop_samples=128)
    with pytest.raises(ValueError, match="expected a rate of at least 16000 Hz, got 4000"):
        write_steps(shard, target, wide)
    wide = replace(wide, sample_rate_hz=22050)
    assert write_steps(shard, target, wide)
    assert not write_steps(shard, target, wide)
    items = read_steps(shard, target, wide)
    for item, utterance in zip(items, spoken, strict=True):
        assert len(item.anchors) == framed(utterance, wide.frame_samples, 22050).frames
        assert len(item.steps) == 8 * len(item.anchors)
        voiced = item.steps[: len(utterance.f0_hz), -1] > 0
        assert np.array_equal(voiced, utterance.f0_hz > 0)
