"""Keys of the prefix cache: every code of a voice counts, and nothing that the ids show already."""

from __future__ import annotations

import numpy as np
import pytest

from engine.host.cache_salt import voice_salt
from engine.text.prompt import Codes, Reference


def codes(*residuals: int) -> Codes:
    """Frames that agree in codebook 0 and differ in codebook 1."""
    frames = np.zeros((len(residuals), 10), np.uint16)
    frames[:, 1] = residuals
    return frames


def voice(*residuals: int) -> list[Reference]:
    return [Reference("a", codes(*residuals))]


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


def test_without_a_voice_there_is_one_key() -> None:
    assert voice_salt([]) == voice_salt(())
    assert voice_salt([]) != voice_salt(voice(0))


@pytest.mark.parametrize("order", ["<u2", ">u2", "<i8"])
def test_keys_are_the_same_on_every_machine(order: str) -> None:
    frames = np.arange(20).reshape(2, 10).astype(order)
    expected = voice_salt([Reference("a", np.arange(20, dtype=np.uint16).reshape(2, 10))])
    assert voice_salt([Reference("a", frames)]) == expected
