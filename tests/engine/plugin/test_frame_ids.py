"""Ids of frames: a model of SGLang's cache shows that a hit never carries other codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.checkpoint.folder import Checkpoint
from engine.host.cache_salt import voice_salt
from engine.plugin.frame_ids import ID_LIMIT, frame_ids
from engine.text.prompt import Codes, Prompt, PromptBuilder, Reference, Turn
from engine.text.registry import load_tokenizer
from tests.golden_data import TINY

CHECKPOINT = Checkpoint.open(TINY)
VOCAB_SIZE = CHECKPOINT.config.text_config.vocab_size
BUILDER = PromptBuilder(load_tokenizer(CHECKPOINT), CHECKPOINT)
Ids = Callable[[Codes], NDArray[np.int64]]


def hashed(codes: Codes) -> NDArray[np.int64]:
    return frame_ids(torch.from_numpy(codes.astype(np.int64)), VOCAB_SIZE).numpy()


def semantic(codes: Codes) -> NDArray[np.int64]:
    """What the vocabulary itself would say of a frame."""
    return codes[:, 0].astype(np.int64) + 547


def codes(*residuals: int) -> Codes:
    """Frames that agree in codebook 0 and differ in codebook 1."""
    frames = np.zeros((len(residuals), 10), np.uint16)
    frames[:, 1] = residuals
    return frames


@dataclass
class Cache:
    """SGLang's prefix cache, as far as ids go: what was filed first under a prefix stays."""

    ids: Ids
    codes: dict[tuple[object, ...], tuple[int, ...]] = field(default_factory=dict)
    hits: int = 0
    wrong_hits: int = 0

    def speak(self, salt: str, prompt: Prompt, made: Codes) -> None:
        """Match a prompt (its last token is always computed), then file it and its frames."""
        ids = np.array(prompt.input_ids)
        ids[prompt.code_positions()] = self.ids(prompt.codes)
        ids = np.concatenate((ids, self.ids(made)))
        columns = np.hstack((prompt.matrix()[1:], made.T)).T
        matching = True
        for end in range(1, len(ids) + 1):
            key, column = (salt, *ids[:end].tolist()), tuple(columns[end - 1].tolist())
            cached = (
                self.codes.setdefault(key, column)
                if end >= len(prompt.input_ids)
                else (self.codes.get(key) if matching else None)
            )
            if end < len(prompt.input_ids):
                matching = matching and cached is not None
                self.hits += matching
                self.wrong_hits += matching and cached != column
                self.codes.setdefault(key, column)


few_codes = st.lists(st.integers(0, 1), min_size=1, max_size=3).map(lambda r: codes(*r))
utterances = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("ab"), few_codes, st.integers(0, 3)), max_size=12
)


def converse(cache: Cache, spoken: list[tuple[int, str, Codes, int]]) -> None:
    """Two voices that agree in codebook 0, two dialogues with each; at most two turns of history,
    of which only the heard frames stay."""
    histories: dict[int, list[Turn]] = {index: [] for index in range(4)}
    for index, text, made, heard in spoken:
        voice = [Reference("a", codes(1, index // 2))]
        cache.speak(voice_salt(voice), BUILDER.build(text, voice, histories[index]), made)
        if heard:
            histories[index] = [*histories[index], Turn(text, made[:heard])][-2:]


@given(utterances)
def test_no_hit_carries_other_codes(spoken: list[tuple[int, str, Codes, int]]) -> None:
    cache = Cache(hashed)
    converse(cache, spoken)
    assert cache.wrong_hits == 0


FIRST = codes(0, 1)
CONVERSATION = [
    (0, "a", FIRST, 2),
    (0, "b", FIRST, 2),
    (1, "a", codes(1, 0), 2),
    (1, "b", FIRST, 2),
]


def test_the_model_sees_what_the_vocabularys_ids_would_do() -> None:
    cache = Cache(semantic)
    converse(cache, CONVERSATION)
    assert cache.wrong_hits > 0


def test_the_second_turn_finds_the_first_and_its_frames() -> None:
    cache = Cache(hashed)
    converse(cache, CONVERSATION[:2])
    first = BUILDER.build("a", [Reference("a", codes(1, 0))])
    assert cache.hits == len(first.input_ids) + len(FIRST)


def test_ids_lie_above_the_vocabulary_and_hardly_ever_meet() -> None:
    generator = torch.Generator().manual_seed(1)
    frames = torch.randint(0, 4096, (20_000, 10), generator=generator)
    ids = frame_ids(frames, 155_776)
    assert int(ids.min()) >= 155_776
    assert int(ids.max()) < ID_LIMIT
    # 20,000 draws from 844,224 values: 236 pairs are expected to meet
    assert 20_000 - ids.unique().numel() < 330


def test_every_codebook_counts() -> None:
    base = torch.zeros((1, 10), dtype=torch.int64)
    ids = {int(frame_ids(base, VOCAB_SIZE))}
    for book in range(10):
        for value in (1, 2, 1023):
            changed = base.clone()
            changed[0, book] = value
            ids.add(int(frame_ids(changed, VOCAB_SIZE)))
    assert len(ids) == 31
