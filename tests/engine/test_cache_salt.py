"""Keys of the prefix cache: a model of the cache shows that a hit never carries other codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.cache_salt import cache_salt, dialogue_salt, history_salt, voice_salt
from engine.checkpoint import Checkpoint
from engine.prompt import Codes, PromptBuilder, Reference, Turn
from engine.tokenizer import load_tokenizer

CHECKPOINT = Checkpoint.open(Path(__file__).parents[1] / "golden" / "s2-pro-tiny")
BUILDER = PromptBuilder(load_tokenizer(CHECKPOINT), CHECKPOINT)
Matrix = NDArray[np.int64]


def codes(*residuals: int) -> Codes:
    """Frames that agree in codebook 0 and differ in codebook 1."""
    frames = np.zeros((len(residuals), 10), np.uint16)
    frames[:, 1] = residuals
    return frames


def voice(*residuals: int) -> list[Reference]:
    return [Reference("a", codes(*residuals))]


def test_voices_that_agree_in_codebook_0_differ() -> None:
    one, other = voice(1, 2), voice(1, 3)
    assert BUILDER.build("hi", one).input_ids == BUILDER.build("hi", other).input_ids
    assert voice_salt(one) != voice_salt(other)
    assert dialogue_salt(one, "d") != dialogue_salt(other, "d")
    assert history_salt(one, [Turn("a", codes(1))]) != history_salt(other, [Turn("a", codes(1))])


def test_every_code_counts() -> None:
    base = np.zeros((3, 10), np.uint16)
    salts = {voice_salt([Reference("a", base)])}
    for frame, book in np.ndindex(*base.shape):
        for value in (1, 256):
            changed = base.copy()
            changed[frame, book] = value
            salts.add(voice_salt([Reference("a", changed)]))
    assert len(salts) == 1 + 2 * base.size


def test_what_the_ids_show_is_not_in_the_key() -> None:
    """Other words, other cut between the recordings, same frames: the cache compares the ids."""
    assert voice_salt(voice(1, 2)) == voice_salt([Reference("b", codes(1, 2))])
    assert voice_salt(voice(1, 2)) == voice_salt([*voice(1), *voice(2)])
    assert voice_salt(voice(1, 2)) != voice_salt([*voice(2), *voice(1)])


def test_all_turns_of_a_dialogue_share_a_key() -> None:
    turns = [Turn("a", codes(1)), Turn("b", codes(2))]
    salts = {cache_salt(voice(1), turns[:length], "d") for length in range(3)}
    assert salts == {dialogue_salt(voice(1), "d")}
    assert dialogue_salt(voice(1), "d") != dialogue_salt(voice(1), "e")
    assert dialogue_salt(voice(1), "d") != dialogue_salt(voice(1), "d", attempt=1)
    assert dialogue_salt(voice(1), "d1", 1) != dialogue_salt(voice(1), "d", 11)


def test_history_without_a_name_is_covered() -> None:
    one, other = [Turn("a", codes(1))], [Turn("a", codes(2))]
    assert cache_salt(voice(1), one) != cache_salt(voice(1), other)
    assert cache_salt(voice(1), one) != cache_salt(voice(1))
    assert cache_salt(voice(1)) == voice_salt(voice(1))
    # The border between voice and history counts as well.
    assert history_salt(voice(1, 2), one) != history_salt(voice(1), [Turn("a", codes(2, 1))])


def test_without_a_voice_there_is_one_key() -> None:
    assert voice_salt([]) == voice_salt(()) == cache_salt([])
    assert voice_salt([]) != voice_salt(voice(0))


@pytest.mark.parametrize("order", ["<u2", ">u2", "<i8"])
def test_keys_are_the_same_on_every_machine(order: str) -> None:
    frames = np.arange(20).reshape(2, 10).astype(order)
    assert voice_salt([Reference("a", frames)]) == "4cf576ff1866a514630efa648d78feb0"
    assert (
        dialogue_salt([Reference("a", np.asfortranarray(frames))], "d\u00e9")
        == "08e72fe368e670e1e265adf2259e010b"
    )


@dataclass
class Cache:
    """SGLang's prefix cache, as far as keys go: what was filed first under a prefix stays.

    `columns` holds, for a key and a prefix of ids, the codes that its last KV was computed from.
    """

    salt: Callable[..., str]
    columns: dict[tuple[str, tuple[int, ...]], tuple[int, ...]] = field(default_factory=dict)
    hits: int = 0
    wrong_hits: int = 0

    def read(self, salt: str, matrix: Matrix) -> None:
        """Match a prompt; the last token is always computed."""
        ids = tuple(matrix[0].tolist())
        for length in range(1, len(ids)):
            cached = self.columns.get((salt, ids[:length]))
            if cached is None:
                return
            self.hits += 1
            self.wrong_hits += cached != tuple(matrix[:, length - 1].tolist())

    def write(self, salt: str, matrix: Matrix) -> None:
        """File a finished request, its prompt and the frames that it made."""
        ids = tuple(matrix[0].tolist())
        for length in range(1, len(ids) + 1):
            column = tuple(matrix[:, length - 1].tolist())
            self.columns.setdefault((salt, ids[:length]), column)


@dataclass
class Dialogue:
    """One conversation: utterances may be cut anywhere, the oldest turns are dropped."""

    name: str
    voice: list[Reference]
    history: list[Turn] = field(default_factory=list)
    attempt: int = 0

    def speak(self, cache: Cache, text: str, made: Codes, heard: int) -> None:
        salt = cache.salt(self.voice, self.history, self.name, self.attempt)
        prompt = BUILDER.build(text, self.voice, self.history).matrix()
        cache.read(salt, prompt)
        frames = np.vstack([made[:, 0].astype(np.int64) + 547, made.T])
        cache.write(salt, np.hstack([prompt, frames]))
        if heard:
            self.history.append(Turn(text, made[:heard]))
        else:
            self.attempt += 1
        if len(self.history) > 2:
            self.history.pop(0)
            self.attempt += 1


few_codes = st.lists(st.integers(0, 1), min_size=1, max_size=3).map(lambda r: codes(*r))
utterances = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("ab"), few_codes, st.integers(0, 3)), max_size=12
)


def converse(cache: Cache, spoken: list[tuple[int, str, Codes, int]], named: bool) -> None:
    """Two voices that agree in codebook 0, two dialogues with each."""
    dialogues = [
        Dialogue(f"d{index % 2}" if named else "", voice(1, index // 2)) for index in range(4)
    ]
    for index, text, made, heard in spoken:
        dialogues[index].speak(cache, text, made, min(heard, len(made)))


@given(utterances, st.booleans())
def test_no_hit_carries_other_codes(spoken: list[tuple[int, str, Codes, int]], named: bool) -> None:
    cache = Cache(cache_salt)
    converse(cache, spoken, named)
    assert cache.wrong_hits == 0


FIRST = codes(0, 1)
CONVERSATION = [
    (0, "a", FIRST, 2),
    (0, "b", FIRST, 2),
    (1, "a", codes(1, 0), 2),
    (1, "b", FIRST, 2),
]


def test_the_model_sees_what_a_weaker_key_would_do() -> None:
    """With the voice's key alone the second dialogue reads the first one's frames."""
    cache = Cache(lambda voice, history, dialogue, attempt: voice_salt(voice))
    converse(cache, CONVERSATION, named=True)
    assert cache.wrong_hits > 0


def test_the_second_turn_finds_the_first_and_its_frames() -> None:
    cache = Cache(cache_salt)
    converse(cache, CONVERSATION[:2], named=True)
    first = BUILDER.build("a", voice(1, 0))
    assert cache.hits == len(first.input_ids) + len(FIRST)
    assert cache.wrong_hits == 0
