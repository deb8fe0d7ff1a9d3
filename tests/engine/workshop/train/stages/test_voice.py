"""From a corpus to a checkpoint that the engine loads, in seconds, on tones."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from engine.checkpoint.folder import Checkpoint
from engine.codec.decoder import StreamingDecoder
from engine.codec.encoder import Encoder
from engine.workshop.train.corpus.corpus import read_shard, write_shard
from engine.workshop.train.judging.evaluate import phone_errors, round_trip, say
from engine.workshop.train.judging.generate import Drawing
from engine.workshop.train.networks.wave_decoder import Snake, _snake
from engine.workshop.train.recipe import VoiceConfig
from engine.workshop.train.stages.voice import VoiceProject
from tests.engine.workshop.train.corpus_fixture import tone_utterance

PLANS = {
    "codes": {"budget_s": 0.4, "batch": 4, "crop_frames": 10, "steps_before_books": 3},
    "wave": {
        "budget_s": 0.4,
        "batch": 2,
        "crop_frames": 20,
        "lead_frames": 2,
    },
    "ar": {"budget_s": 0.4, "alignment_heads": [[1, 0]]},
    "encoder": {"budget_s": 0.4, "batch": 2, "crop_frames": 10, "lead_frames": 2},
    "mixture": {"clone": 0.2, "positions_per_batch": 300},
}


@pytest.fixture
def project(config: VoiceConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VoiceProject:
    monkeypatch.setattr(Snake, "forward", lambda self, x: _snake(x, self.alpha))
    monkeypatch.setattr(
        "engine.workshop.train.stages.voice.VECTOR_DIM", config.codec.codebook_dim - 2
    )
    monkeypatch.setattr("engine.workshop.train.stages.voice._HELD_OUT", 6)
    work = tmp_path / "work"
    (work / "corpus").mkdir(parents=True)
    for shard in range(2):
        utterances = [tone_utterance(20 * shard + seed) for seed in range(20)]
        write_shard(work / "corpus" / f"shard_{shard:04d}.npz", utterances)
    return VoiceProject(work, dataclasses.replace(config, sections=PLANS))


def test_all_stages_make_a_checkpoint_that_speaks(project: VoiceProject, tmp_path: Path) -> None:
    assert sum(project.left_s().values()) == pytest.approx(1.6)
    stages = project.stages()
    for name in ("codes", "encode", "wave", "ar", "export"):
        stages[name]()
    assert project.left_s()["wave"] == 0.0
    export = project.work / "export"
    assert not (project.work / "export.part").exists()
    Checkpoint.open(export)
    decoder = StreamingDecoder.from_checkpoint(export, max_slots=1)
    assert len(decoder.decode_whole(np.zeros((4, 3), np.int64))) == 4 * 128
    for name in ("encoder", "export"):
        stages[name]()
    codes = Encoder.from_checkpoint(export).encode(np.zeros(1000, np.float32), 4000)
    assert codes.shape == (8, 3)
    figures = say(project, ["Hello there.", "No."], tmp_path / "said", Drawing())
    assert figures["seconds"] > 0
    assert len(json.loads((tmp_path / "said" / "texts.json").read_text())) == 2
    round_trip(project, tmp_path / "trip", count=3)
    assert len(list((tmp_path / "trip").glob("*.wav"))) == 3
    errors = phone_errors(project, Drawing(temperature=0.0), ["Hello there."])
    assert errors["floor"] < 0.7


@pytest.fixture
def vocoder_project(project: VoiceProject) -> VoiceProject:
    """The same voice with a vocoder, and parameters as if the tones had been analysed."""
    codec = dataclasses.replace(
        project.config.codec,
        decoder_rates=(),
        decoder_block_dims=(),
        vocoder_steps=2,
        vocoder_hop_samples=16,
        vocoder_blocks=1,
        vocoder_bands=12,
        vocoder_noise_bands=4,
    )
    codes = {"budget_s": 2.0, "batch": 4, "crop_frames": 10, "critic_steps": 32}
    plans = PLANS | {"codes": codes | {"steps_before_books": 3, "compiled": False}}
    (project.work / "steps").mkdir()
    for shard in (project.work / "corpus").glob("*.npz"):
        rows = []
        for item in read_shard(shard):
            steps = np.full((len(item.f0_hz), 18), -6.0, np.float16)
            steps[:, -2] = np.log(np.maximum(item.f0_hz, 80.0))
            steps[:, -1] = np.where(item.f0_hz > 0, 1.0, -1.0)
            rows.append(steps)
        lengths = np.array([len(row) for row in rows])
        np.savez(project.work / "steps" / shard.name, steps=np.concatenate(rows), lengths=lengths)
    config = dataclasses.replace(project.config, codec=codec, sections=plans)
    return VoiceProject(project.work, config)


def test_all_stages_make_a_voice_with_a_vocoder(
    vocoder_project: VoiceProject, tmp_path: Path
) -> None:
    project = vocoder_project
    stages = project.stages()
    assert list(stages)[1] == "analyse"
    for name in list(stages)[1:]:  # the corpus is there
        stages[name]()
    assert not (project.work / "wave").exists()
    export = project.work / "export"
    decoder = StreamingDecoder.from_checkpoint(export, max_slots=1)
    assert decoder.config.has_vocoder
    assert len(decoder.decode_whole(np.zeros((4, 3), np.int64))) == 4 * 128
    assert Encoder.from_checkpoint(export).encode(np.zeros(1000, np.float32), 4000).shape == (8, 3)
    assert say(project, ["Hello there."], tmp_path / "said", Drawing())["seconds"] > 0
    round_trip(project, tmp_path / "trip", count=3)
    assert len(list((tmp_path / "trip").glob("*.wav"))) == 3


def test_a_finished_stage_does_nothing_more(project: VoiceProject) -> None:
    project.codes()
    before = (project.work / "codes" / "last.pt").read_bytes()
    project.codes()
    assert len((project.work / "codes" / "last.pt").read_bytes()) == len(before)
    assert project.left_s()["codes"] == 0.0


def test_a_missing_corpus_is_named(config: VoiceConfig, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="expected shards"):
        VoiceProject(tmp_path, dataclasses.replace(config, sections=PLANS)).codes()
