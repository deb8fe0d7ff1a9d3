"""Finding heads that follow the text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.checkpoint.folder import Checkpoint
from engine.models.alignment import Alignment
from engine.text.prompt import PromptBuilder
from engine.text.registry import load_tokenizer
from engine.workshop.align.__main__ import main
from engine.workshop.align.heads import (
    attended,
    followed,
    score_heads,
    word_of_frame,
    word_of_token,
)
from engine.workshop.train.corpus.timed_words import TimedWord, read_words
from engine.workshop.train.corpus.wav import write_wav
from engine.workshop.train.networks.dual_ar import DualAR
from engine.workshop.train.networks.wave_decoder import WaveDecoder
from engine.workshop.train.networks.wave_encoder import WaveEncoder
from engine.workshop.train.recipe import VoiceConfig
from engine.workshop.train.stages.export import write_checkpoint

WORDS = [TimedWord(0.0, 0.1, 0, 5), TimedWord(0.15, 0.3, 6, 11)]


def test_frames_and_tokens_belong_to_words() -> None:
    assert word_of_frame(WORDS, 7, 0.05).tolist() == [0, 0, -1, 1, 1, 1, -1]
    spans = [(0, 5), (0, 5), (5, 6), (6, 11), (11, 12)]
    assert word_of_token(WORDS, spans).tolist() == [0, 0, -1, 1, -1]


def _checkpoint(config: VoiceConfig, path: Path) -> Checkpoint:
    decoder = WaveDecoder(config.codec, config.codec.codebook_dim - 2)
    decoder.vectors.normal_()
    model = DualAR(config.model)
    write_checkpoint(path, config, model.state_dict(), decoder, WaveEncoder(config.codec))
    return Checkpoint.open(path)


def test_a_head_looks_where_its_scores_are_greatest(config: VoiceConfig, tmp_path: Path) -> None:
    checkpoint = _checkpoint(config, tmp_path / "voice")
    prompt = PromptBuilder(load_tokenizer(checkpoint), checkpoint).build("Hello there.")
    codes = np.random.default_rng(0).integers(0, 20, (6, 3)).astype(np.uint16)
    model = DualAR(config.model).eval()
    seen = attended(model, prompt, codes)
    start, end = prompt.text_span
    assert seen.shape == (2, 4, 6)
    assert 0 <= int(seen.min()) and int(seen.max()) < end - start
    # The same from the definition, for one layer and head.
    tokens = codes[:, 0].astype(int) + config.model.semantic_start_token_id
    ids = torch.tensor([[*prompt.input_ids, *tokens.tolist()]])
    table = torch.zeros(1, ids.shape[1], 3, dtype=torch.long)
    table[0, len(prompt.input_ids) :] = torch.from_numpy(codes.astype(np.int64))
    with torch.no_grad():
        q, k = model.slow(model.embed(ids, table), watch=frozenset({1})).guides[1]
    scores = q[0, 3] @ k[0, 1].T  # query heads 2 and 3 share key head 1
    at = len(prompt.input_ids) - 1
    assert torch.equal(scores[at : at + 6, start:end].argmax(-1), seen[1, 3])


def test_heads_together_are_followed_as_the_engine_follows_them(
    config: VoiceConfig, tmp_path: Path
) -> None:
    checkpoint = _checkpoint(config, tmp_path / "voice")
    prompt = PromptBuilder(load_tokenizer(checkpoint), checkpoint).build("Hello there.")
    codes = np.random.default_rng(0).integers(0, 20, (6, 3)).astype(np.uint16)
    model = DualAR(config.model).eval()
    heads = [(1, 3), (0, 2), (1, 0)]
    alignment = Alignment(heads, 4, 2)
    tokens = codes[:, 0].astype(int) + config.model.semantic_start_token_id
    ids = torch.tensor([[*prompt.input_ids, *tokens.tolist()]])
    table = torch.zeros(1, ids.shape[1], 3, dtype=torch.long)
    table[0, len(prompt.input_ids) :] = torch.from_numpy(codes.astype(np.int64))
    start, end = prompt.text_span
    at = len(prompt.input_ids) - 1
    inside = torch.ones(6, end - start, dtype=torch.bool)
    weights = torch.zeros(6, end - start)
    with torch.no_grad():
        guides = model.slow(model.embed(ids, table), watch=frozenset({0, 1})).guides
    for layer, (q, k) in guides.items():
        keys = k[0].transpose(0, 1)[None, start:end].expand(6, -1, -1, -1)
        weights += alignment.weights(layer, q[0, :, at : at + 6].transpose(0, 1), keys, inside)
    assert followed(model, prompt, codes, heads) == weights.argmax(-1).tolist()


def _recordings(folder: Path) -> Path:
    folder.mkdir()
    write_wav(folder / "a.wav", np.zeros(2000, np.float32), 4000)
    (folder / "a.txt").write_text("Hello there.")
    words = [
        {"start_s": w.start_s, "end_s": w.end_s, "start": w.start, "end": w.end} for w in WORDS
    ]
    (folder / "a.json").write_text(json.dumps(words))
    return folder


def test_all_heads_are_scored_and_the_best_comes_first(config: VoiceConfig, tmp_path: Path) -> None:
    checkpoint = _checkpoint(config, tmp_path / "voice")
    scores = score_heads(checkpoint, _recordings(tmp_path / "recordings"))
    assert len(scores) == 8
    assert [s.share for s in scores] == sorted((s.share for s in scores), reverse=True)
    assert all(0 <= s.share <= 1 for s in scores)


def test_the_command_prints_what_belongs_into_the_configuration(
    config: VoiceConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = _checkpoint(config, tmp_path / "voice")
    recordings = _recordings(tmp_path / "recordings")
    main(checkpoint.path, recordings, best=2)
    *rows, last = capsys.readouterr().out.splitlines()
    best = score_heads(checkpoint, recordings)[:2]
    assert len(rows) == 2
    assert json.loads(last) == {
        "voice_gateway": {"alignment_heads": [[score.layer, score.head] for score in best]}
    }


@pytest.mark.parametrize("text", ["", "{}", '[{"start_s": 0.1}]', '[{"start_s": "a"}]'])
def test_broken_word_times_are_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"a\.json: expected a list of words"):
        read_words(path)


def test_a_missing_checkpoint_ends_the_command_with_a_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nowhere"):
        main(tmp_path / "nowhere", tmp_path)
