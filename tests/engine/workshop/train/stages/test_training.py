"""Every stage learns on next to nothing, stops at its budget, and resumes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from engine.text.frontend.phones import ANCHORS
from engine.workshop.train.corpus.data import Framed, framed
from engine.workshop.train.corpus.mixture import Mixture, MixturePlan
from engine.workshop.train.corpus.sequences import Builder
from engine.workshop.train.judging.generate import Drawing, Speaker, draw
from engine.workshop.train.networks.code_maker import CodeMaker
from engine.workshop.train.networks.dual_ar import DualAR, causal_attention
from engine.workshop.train.networks.wave_decoder import Snake, WaveDecoder, _snake
from engine.workshop.train.recipe import VoiceConfig
from engine.workshop.train.stages.run import Run, schedule
from engine.workshop.train.stages.train_ar import ArPlan, guide_loss, losses
from engine.workshop.train.stages.train_codes import encode, start_books
from engine.workshop.train.stages.train_wave import (
    CodeCrops,
    WavePlan,
    WaveTrainer,
    train_wave,
    trained_weights,
)
from tests.engine.workshop.train.corpus_fixture import FRAME_SAMPLES, RATE_HZ, tone_utterance


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Snake, "forward", lambda self, x: _snake(x, self.alpha))


@pytest.fixture(scope="module")
def corpus() -> list[Framed]:
    return [framed(tone_utterance(seed), FRAME_SAMPLES, RATE_HZ) for seed in range(16)]


def _codes(corpus: list[Framed], books: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    made = []
    for item in corpus:
        rows = rng.integers(0, 20, (item.frames, books))
        rows[:, 0] = item.anchors  # a code that says its phone
        made.append(rows.astype(np.uint16))
    return made


def test_the_code_maker_learns_and_codes_say_their_anchor(corpus: list[Framed]) -> None:
    torch.manual_seed(0)
    maker = CodeMaker(RATE_HZ, FRAME_SAMPLES, 8, 60, 20, 2, width=24).train()
    crops = CodeCrops(corpus, _codes(corpus), 12, FRAME_SAMPLES, seed=0)
    start_books(maker, crops, stretches=40)
    optimiser = torch.optim.Adam(maker.parameters(), 3e-3)
    seen = []
    for _ in range(60):
        wave, anchors = crops.batch(6)
        parts = maker(wave, anchors, torch.full((6,), 3))
        loss = parts["features"] + 0.1 * parts["phone"] + 0.25 * parts["commitment"]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        seen.append(parts["features"].item())
    assert np.mean(seen[-10:]) < 0.75 * np.mean(seen[:5])
    codes = encode(maker.eval(), corpus[0], FRAME_SAMPLES)
    assert codes.shape == (corpus[0].frames, 3)
    rows = maker.quantiser.anchored.row_anchor[torch.from_numpy(codes[:, 0].astype(int))]
    assert np.array_equal(rows.numpy(), corpus[0].anchors)


def test_the_decoder_learns_by_spectra_and_waveforms(
    config: VoiceConfig, corpus: list[Framed]
) -> None:
    decoder = WaveDecoder(config.codec, 8).train()
    decoder.vectors.normal_()
    plan = WavePlan(budget_s=1, batch=4, crop_frames=20, lead_frames=2)
    trainer = WaveTrainer(decoder, plan)
    crops = CodeCrops(corpus, _codes(corpus), plan.crop_frames, FRAME_SAMPLES, seed=0)
    steps = [trainer.step(*crops.code_batch(4, 0.1)) for _ in range(40)]
    assert all(np.isfinite(value) for figures in steps for value in figures.values())
    for name in ("spectral", "waveform"):
        assert np.mean([s[name] for s in steps[-5:]]) < 0.8 * steps[0][name]


def test_what_is_used_is_the_average_of_the_weights(
    config: VoiceConfig, corpus: list[Framed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Snake, "forward", lambda self, x: _snake(x, self.alpha))
    plan = WavePlan(budget_s=0.3, batch=2, crop_frames=20, lead_frames=2)
    decoder = WaveDecoder(config.codec, 8)
    before = {name: value.clone() for name, value in decoder.state_dict().items()}
    train_wave(decoder, corpus, _codes(corpus), plan, tmp_path)
    after, used = decoder.state_dict(), trained_weights(tmp_path)
    assert used.keys() == after.keys()
    assert torch.equal(used["vectors"], after["vectors"])
    name = "decoder.model.0.conv.weight"
    assert (used[name] - after[name]).norm() < (before[name] - after[name]).norm() + 1e-6


def test_the_decoder_is_causal(config: VoiceConfig) -> None:
    decoder = WaveDecoder(config.codec, 8).eval()
    decoder.vectors.normal_()
    codes = torch.randint(0, 20, (1, 10, 3))
    other = codes.clone()
    other[0, 6:] = (other[0, 6:] + 1) % 20
    with torch.no_grad():
        a, b = decoder(codes)[0], decoder(other)[0]
    cut = 6 * FRAME_SAMPLES
    assert torch.allclose(a[:cut], b[:cut], atol=1e-5)
    assert not torch.allclose(a[cut:], b[cut:], atol=1e-5)


def test_the_ar_learns_to_read(config: VoiceConfig, corpus: list[Framed]) -> None:
    torch.manual_seed(0)
    model = DualAR(config.model)
    builder = Builder(3, 60)
    plan = MixturePlan(join=0, history=0, cut=0, bare=0, clone=0, positions_per_batch=400)
    mixture = Mixture(corpus, _codes(corpus), plan, builder, seed=0).batches(pool=16)
    generator = torch.Generator().manual_seed(0)
    ar_plan = ArPlan(budget_s=1, alignment_heads=((0, 0), (1, 1)))
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    seen = []
    for _ in range(70):
        parts = losses(model, next(mixture), ar_plan, generator)
        loss = parts["semantic"] + parts["residual"] + 0.5 * parts["guide"]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        seen.append({name: value.item() for name, value in parts.items()})
    assert np.mean([s["semantic"] for s in seen[-5:]]) < 0.6 * seen[0]["semantic"]
    assert np.mean([s["guide"] for s in seen[-5:]]) < 0.7 * seen[0]["guide"]


@pytest.mark.parametrize("kv_heads", [4, 2])
def test_attention_by_plain_products_is_attention(kv_heads: int) -> None:
    q = torch.randn(2, 4, 9, 8)
    k, v = torch.randn(2, kv_heads, 9, 8), torch.randn(2, kv_heads, 9, 8)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    assert torch.allclose(causal_attention(q, k, v), expected, atol=1e-6)


def test_attention_on_the_spoken_token_costs_nothing() -> None:
    keys = torch.eye(6)[None, None] * 50
    guide = torch.tensor([[-1, -1, -1, 0, 1, 2]])
    queries = torch.zeros(1, 1, 6, 6)
    for position in (3, 4, 5):
        queries[0, 0, position, int(guide[0, position])] = 50.0
    assert guide_loss(queries, keys, guide, [0]) < 1e-3
    assert guide_loss(queries.flip(-1), keys, guide, [0]) > 10


def test_the_cached_loop_says_what_the_whole_sequence_scores(config: VoiceConfig) -> None:
    torch.manual_seed(1)
    model = DualAR(config.model)
    speaker = Speaker(model)
    greedy = Drawing(temperature=0.0, residual_temperature=0.0)
    prompts = []
    for length in (5, 9):
        ids = torch.randint(20, 100, (length,))
        prompts.append((ids, torch.zeros(length, 3, dtype=torch.long)))
    together = speaker.speak(prompts, greedy, [6, 6])
    for (ids, codes), answer in zip(prompts, together, strict=True):
        alone = speaker.speak([(ids, codes)], greedy, [6])[0]
        assert torch.equal(alone.codes, answer.codes)
        tokens = answer.codes[:, 0] + config.model.semantic_start_token_id
        whole_ids = torch.cat([ids, tokens])[None]
        whole_codes = torch.cat([codes, answer.codes])[None]
        with torch.no_grad():
            normed = model.slow(model.embed(whole_ids, whole_codes)).normed[0]
            best = model.semantic_logits(normed[len(ids) - 1 : -1]).argmax(-1)
            residual = model.fast(normed[len(ids) - 1 : -1], answer.codes[:, :-1]).argmax(-1)
        assert torch.equal(best, answer.codes[:, 0])
        assert torch.equal(residual, answer.codes[:, 1:])


def test_drawing_keeps_to_the_likely() -> None:
    logits = torch.tensor([[3.0, 2.9, -1.0, -5.0]]).repeat(200, 1)
    generator = torch.Generator().manual_seed(0)
    assert set(draw(logits, 1.0, Drawing(top_p=1.0, top_k=2), generator).tolist()) == {0, 1}
    assert set(draw(logits, 1.0, Drawing(top_p=0.3, top_k=4), generator).tolist()) == {0}
    assert set(draw(logits, 0.0, Drawing(), generator).tolist()) == {0}


def test_a_run_stops_at_its_budget_and_resumes(tmp_path: Path) -> None:
    module = torch.nn.Linear(2, 2)
    run = Run(tmp_path, {"module": module}, budget_s=0.02, report_every_s=0.0)
    for step in run.steps():
        run.record(loss=1.0 / (step + 1))
        sum(range(20000))
    assert run.step > 0
    weights = module.weight.clone()
    torch.nn.init.zeros_(module.weight)
    again = Run(tmp_path, {"module": module}, budget_s=0.02)
    assert again.step == run.step
    assert torch.equal(module.weight, weights)
    assert list(again.steps()) == []
    assert (tmp_path / "log.jsonl").read_text().count("loss") >= 1


def test_the_schedule_warms_up_and_decays() -> None:
    assert schedule(0.0, 0) < 0.02
    assert schedule(0.0, 500) == 1.0
    assert schedule(0.5, 500) == pytest.approx(0.515)
    assert schedule(1.0, 500) == pytest.approx(0.03)


def test_anchors_fit_the_semantic_book(config: VoiceConfig) -> None:
    assert config.codec.semantic_codebook_size >= len(ANCHORS)
