"""Training sequences and their mixture."""

from __future__ import annotations

import numpy as np
import torch

from engine.text.frontend import vocabulary
from engine.workshop.train.corpus.data import framed
from engine.workshop.train.corpus.mixture import Mixture, MixturePlan
from engine.workshop.train.corpus.sequences import IGNORE, Builder, Spoken, collate, corrupted
from tests.engine.workshop.train.corpus_fixture import FRAME_SAMPLES, RATE_HZ, tone_utterance

BOOKS, SEMANTIC = 3, 60


def _spoken(frames: int, tokens: int = 4) -> Spoken:
    rng = np.random.default_rng(frames)
    return Spoken(
        ["h", "ə", "l", "ˈO", "_", "ð"][:tokens],
        rng.integers(0, 20, (frames, BOOKS)).astype(np.uint16),
        np.sort(rng.integers(0, tokens, frames)),
    )


def test_every_frame_is_predicted_from_the_position_before_it() -> None:
    turn = _spoken(7)
    sequence = Builder(BOOKS, SEMANTIC).sequence([turn])
    start = len(sequence.ids) - 1 - 7
    assert sequence.target[start - 1 : -1] == [*turn.codes[:, 0].tolist(), SEMANTIC]
    assert sequence.target[: start - 1] == [IGNORE] * (start - 1)
    assert sequence.target[-1] == IGNORE
    ids = sequence.ids[start : start + 7]
    assert ids == (turn.codes[:, 0].astype(int) + vocabulary.SEMANTIC_START).tolist()
    table = {index: token for token, index in vocabulary.ids().items()}
    guided = [table[sequence.ids[position]] for position in sequence.guide if position >= 0]
    assert guided == [turn.tokens[token] for token in turn.frame_token]


def test_the_reference_is_read_but_not_predicted() -> None:
    reference, turn = _spoken(5), _spoken(6)
    sequence = Builder(BOOKS, SEMANTIC).sequence([turn], reference)
    assert sum(target != IGNORE for target in sequence.target) == 7
    spoken = sum(index >= vocabulary.SEMANTIC_START for index in sequence.ids)
    assert spoken == 11


def test_splitting_and_joining_are_inverse() -> None:
    whole = _spoken(12, tokens=6)
    left, right = whole.split(3)
    again = left.then(right)
    assert again.tokens == whole.tokens
    assert np.array_equal(again.codes, whole.codes)
    assert np.array_equal(again.frame_token, whole.frame_token)


def test_corruption_changes_some_frames_and_never_the_targets() -> None:
    codes = np.arange(600, dtype=np.uint16).reshape(200, 3)
    rng = np.random.default_rng(1)
    changed = corrupted(codes, rng)
    share = (changed != codes).any(1).mean()
    assert 0.0 < share < 0.4
    assert corrupted(codes, None) is codes
    sequence = Builder(BOOKS, 600).sequence([Spoken(["h"], codes, np.zeros(200, int))], None, rng)
    targets = [target for target in sequence.target if target != IGNORE]
    assert targets == [*codes[:, 0].tolist(), 600]


def test_batches_are_padded_and_near_their_size() -> None:
    items = [framed(tone_utterance(seed), FRAME_SAMPLES, RATE_HZ) for seed in range(24)]
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 20, (item.frames, BOOKS)).astype(np.uint16) for item in items]
    plan = MixturePlan(clone=0.3, positions_per_batch=300)
    mixture = Mixture(items, codes, plan, Builder(BOOKS, SEMANTIC), seed=0)
    batches = mixture.batches(pool=20)
    clone = vocabulary.ids()[vocabulary.CLONE]
    cloned = 0
    for _ in range(12):
        batch = next(batches)
        assert batch.ids.numel() <= 300 or batch.ids.shape[0] == 1
        assert batch.codes.shape == (*batch.ids.shape, BOOKS)
        cloned += int((batch.ids == clone).sum())
    assert cloned > 0


def test_collate_pads_with_nothing_to_predict() -> None:
    builder = Builder(BOOKS, SEMANTIC)
    batch = collate([builder.sequence([_spoken(3)]), builder.sequence([_spoken(9)])], BOOKS)
    assert (batch.target[0, -6:] == IGNORE).all()
    assert (batch.guide[0, -6:] == -1).all()
    assert batch.ids.dtype == torch.int64
