"""The voices that one command makes."""

from __future__ import annotations

import pytest

from engine.workshop.train.corpus.voices import NAMES, variants


def test_thirty_voices_all_differ() -> None:
    made = list(variants(30))
    assert len({name for name, *_ in made}) == 30 == len(NAMES)
    assert len({(voice, delivery) for _, voice, delivery, _ in made}) == 30


def test_more_voices_than_names() -> None:
    with pytest.raises(ValueError, match="expected 1 to 30"):
        list(variants(31))
