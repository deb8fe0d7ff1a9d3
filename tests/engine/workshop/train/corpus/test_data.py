"""The corpus on disk and in frames."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from engine.text.frontend import phones
from engine.workshop.train.corpus.corpus import read_shard, with_pause, write_shard
from engine.workshop.train.corpus.data import Crops, frame_tokens, framed, load_corpus
from engine.workshop.train.corpus.teacher import Speech
from tests.engine.workshop.train.corpus_fixture import FRAME_SAMPLES, RATE_HZ, tone_utterance


def test_a_shard_comes_back_as_it_was(tmp_path: Path) -> None:
    utterances = [tone_utterance(seed, tokens=5 + seed) for seed in range(4)]
    write_shard(tmp_path / "shard.npz", utterances)
    for a, b in zip(utterances, read_shard(tmp_path / "shard.npz"), strict=True):
        assert (a.text, a.tokens, a.style, a.voice) == (b.text, b.tokens, b.style, b.voice)
        assert np.array_equal(a.ends, b.ends)
        assert np.array_equal(a.samples, b.samples)
    assert [path.name for path in tmp_path.iterdir()] == ["shard.npz"]


def test_the_token_at_the_centre_owns_the_frame() -> None:
    ends = np.array([100, 300, 310, 600])
    assert frame_tokens(ends, 6, 100).tolist() == [0, 1, 1, 3, 3, 3]
    assert frame_tokens(ends, 8, 100).tolist()[-2:] == [3, 3]


def test_frames_of_silence_before_the_first_phone_are_silent() -> None:
    item = framed(tone_utterance(1), FRAME_SAMPLES, RATE_HZ)
    assert item.frames == -(-len(item.utterance.samples) // FRAME_SAMPLES)
    assert item.anchors[0] == len(phones.ANCHORS) - 1
    middle = item.frames // 2
    assert item.anchors[middle] == phones.anchor(item.utterance.tokens[item.frame_token[middle]])


def test_a_corpus_without_sound_is_the_same_but_for_the_samples(tmp_path: Path) -> None:
    paths = [tmp_path / "shard_0000.npz"]
    write_shard(paths[0], [tone_utterance(seed) for seed in range(3)])
    whole = load_corpus(paths, FRAME_SAMPLES, RATE_HZ)
    for a, b in zip(whole, load_corpus(paths, FRAME_SAMPLES, RATE_HZ, sound=False), strict=True):
        assert a.utterance.tokens == b.utterance.tokens
        assert np.array_equal(a.utterance.ends, b.utterance.ends)
        assert np.array_equal(a.frame_token, b.frame_token)
        assert np.array_equal(a.anchors, b.anchors)
        assert not len(b.utterance.samples)


def test_crops_hold_matching_sound_and_anchors(tmp_path: Path) -> None:
    write_shard(tmp_path / "shard_0000.npz", [tone_utterance(seed) for seed in range(3)])
    corpus = load_corpus([tmp_path / "shard_0000.npz"], FRAME_SAMPLES, RATE_HZ)
    crops = Crops(corpus, 8, FRAME_SAMPLES, seed=0)
    waves, anchors = crops.batch(5)
    assert waves.shape == (5, 8 * FRAME_SAMPLES)
    assert anchors.shape == (5, 8)
    wave, own = crops.stretch(1, corpus[1].frames - 3)
    assert np.array_equal(wave[3 * FRAME_SAMPLES :], np.zeros(5 * FRAME_SAMPLES))
    assert (own[3:] == len(phones.ANCHORS) - 1).all()


def test_a_pause_moves_what_follows_and_nothing_else() -> None:
    tokens = ["h", "ˈI", "_", "ð", "ɛ", "ɹ"]
    ends = np.array([300, 600, 700, 900, 1200, 1500])
    samples = np.ones(1500, np.float32)
    f0_hz = np.arange(1, 12, dtype=np.float32)
    speech = Speech(samples, tokens, ends, 50, f0_hz)
    made = with_pause(speech, 512, random.Random(0))
    assert made.tokens == ["h", "ˈI", "_", "[pause]", "_", "ð", "ɛ", "ɹ"]
    assert made.ends.tolist() == [300, 600, 650, 1162, 1212, 1412, 1712, 2012]
    assert len(made.samples) == 2012
    assert not made.samples[660:1152].any()
    assert made.f0_hz.tolist() == [1, 2, 3, 4, 5, 0, 0, 0, 0, 6, 7, 8, 9, 10, 11]
