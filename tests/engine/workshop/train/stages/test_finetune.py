"""Fine-tuning: adapters, data, and a whole run on the tiny voice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from engine.checkpoint.folder import Checkpoint
from engine.workshop.train.corpus.sequences import IGNORE
from engine.workshop.train.corpus.wav import read_wav, write_wav
from engine.workshop.train.networks.dual_ar import DualAR
from engine.workshop.train.networks.lora import add_adapters, merge_adapters
from engine.workshop.train.networks.wave_decoder import WaveDecoder
from engine.workshop.train.networks.wave_encoder import WaveEncoder
from engine.workshop.train.recipe import VoiceConfig
from engine.workshop.train.stages.export import write_checkpoint
from engine.workshop.train.stages.finetune import (
    FinetunePlan,
    Recordings,
    finetune,
    load_model,
    pairs,
    speech_loss,
)


@pytest.fixture
def checkpoint(config: VoiceConfig, tmp_path: Path) -> Checkpoint:
    decoder = WaveDecoder(config.codec, config.codec.codebook_dim - 2)
    decoder.vectors.normal_()
    model = DualAR(config.model).state_dict()
    write_checkpoint(tmp_path / "voice", config, model, decoder, WaveEncoder(config.codec))
    return Checkpoint.open(tmp_path / "voice")


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    folder = tmp_path / "recordings"
    folder.mkdir()
    for index, text in enumerate(["Hello there.", "Good morning to you.", "One more."]):
        rng = np.random.default_rng(index)
        samples = 0.2 * rng.standard_normal(3000 + 500 * index).astype(np.float32)
        write_wav(folder / f"{index}.wav", samples, 4000)
        (folder / f"{index}.txt").write_text(text)
    return folder


def test_adapters_start_as_nothing_and_merge_into_the_same_function() -> None:
    model = nn.ModuleDict({"wo": nn.Linear(6, 4), "other": nn.Linear(4, 4)})
    x = torch.randn(3, 6)
    before = model["wo"](x)
    parameters = add_adapters(model, rank=2)
    assert torch.equal(model["wo"](x), before)
    assert [p.shape for p in parameters] == [(2, 6), (4, 2)]
    assert not any(p.requires_grad for p in model["other"].parameters())
    nn.init.normal_(parameters[1])
    changed = model["wo"](x)
    assert not torch.allclose(changed, before)
    merge_adapters(model)
    assert isinstance(model["wo"], nn.Linear)
    assert torch.allclose(model["wo"](x), changed, atol=1e-6)


def test_adapters_need_something_to_adapt() -> None:
    with pytest.raises(ValueError, match="found none"):
        add_adapters(nn.Sequential(nn.Linear(2, 2)), rank=1)


def test_data_errors_say_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected name\.wav"):
        pairs(tmp_path)
    write_wav(tmp_path / "a.wav", np.zeros(10, np.float32), 8000)
    with pytest.raises(FileNotFoundError, match=r"beside a\.wav"):
        pairs(tmp_path)


def test_a_wav_comes_back(tmp_path: Path) -> None:
    samples = np.linspace(-1, 1, 100, dtype=np.float32)
    write_wav(tmp_path / "a.wav", samples, 8000)
    read, rate_hz = read_wav(tmp_path / "a.wav")
    assert rate_hz == 8000
    assert np.abs(read - samples).max() < 1e-4


def test_a_recording_becomes_a_prompt_with_its_frames(
    checkpoint: Checkpoint, recordings: Path
) -> None:
    data = Recordings(checkpoint, recordings)
    for sequence in data.sequences:
        lengths = {len(sequence.ids), len(sequence.codes), len(sequence.target)}
        assert lengths == {len(sequence.target_codes)} == {len(sequence.guide)}
        targets = [target for target in sequence.target if target != IGNORE]
        start = len(sequence.ids) - len(targets)
        first = checkpoint.config.semantic_start_token_id
        assert [index - first for index in sequence.ids[start:-1]] == targets[:-1]
        assert targets[-1] == checkpoint.config.num_semantic
    batch = next(data.batches(positions=60, seed=0))
    assert batch.ids.shape[0] >= 1


@pytest.mark.parametrize("rank", [0, 4])
def test_a_run_lowers_the_loss_and_leaves_a_whole_checkpoint(
    checkpoint: Checkpoint, recordings: Path, tmp_path: Path, rank: int
) -> None:
    data = Recordings(checkpoint, recordings)
    batch = next(data.batches(positions=10_000, seed=0))
    generator = torch.Generator().manual_seed(0)

    def loss(path: Path) -> float:
        model = load_model(Checkpoint.open(path)).eval()
        with torch.no_grad():
            return float(sum(speech_loss(model, batch, 1.0, generator).values()))

    target = tmp_path / "tuned"
    finetune(
        checkpoint.path, recordings, target, FinetunePlan(budget_s=0.8, lora_rank=rank, rate=1e-2)
    )
    assert loss(target) < 0.95 * loss(checkpoint.path)
    assert (target / "codec.pth").exists()
    assert not (tmp_path / "tuned.state").exists()
    with pytest.raises(FileExistsError):
        finetune(checkpoint.path, recordings, target, FinetunePlan(budget_s=1.0))
