"""Word times of the teacher's recordings."""

from __future__ import annotations

import numpy as np

from engine.text.frontend import phones
from engine.workshop.train.corpus.recordings import timed_words
from engine.workshop.train.corpus.teacher import Speech


def _speech(phonemes: str) -> Speech:
    """Each token sounds for 100 samples, after 50 of silence."""
    tokens, _ = phones.parse(phonemes)
    ends = 50 + 100 * np.arange(1, len(tokens) + 1)
    return Speech(np.zeros(ends[-1], np.float32), tokens, ends, 50, np.zeros(0, np.float32))


def test_words_begin_with_their_first_phone_and_end_with_their_last() -> None:
    words = timed_words("Oh, my day.", _speech("ˈO, mˈI dˈA."), 1000)
    assert words is not None
    assert [(w.start, w.end) for w in words] == [(0, 3), (4, 6), (7, 11)]
    # tokens: O , _ m I _ d A .
    assert [(w.start_s, w.end_s) for w in words] == [(0.05, 0.15), (0.35, 0.55), (0.65, 0.85)]


def test_a_text_that_is_read_otherwise_than_written_has_no_times() -> None:
    assert timed_words("12 days.", _speech("twˈɛlv."), 1000) is None
