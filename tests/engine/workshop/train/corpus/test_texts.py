"""Texts of the corpus."""

from __future__ import annotations

import itertools
import random

from engine.workshop.train.corpus.texts import NUMBERS, normalised, salad, sentence, texts
from engine.workshop.train.stages.voice import evaluation_sentences

WORDS = ["apple", "river", "stone", "quiet", "jumping"]


def test_every_template_can_be_filled() -> None:
    rng = random.Random(0)
    made = [sentence(rng) for _ in range(3000)]
    assert not any("{" in text or "}" in text for text in made)
    assert len(set(made)) > 2500
    assert not any(" a apple" in text or " a orange" in text for text in made)


def test_numbers_are_varied() -> None:
    rng = random.Random(0)
    for name, make in NUMBERS.items():
        if name != "a":
            assert len({make(rng) for _ in range(200)}) > 8, name


def test_salads_end_like_sentences() -> None:
    rng = random.Random(0)
    for _ in range(100):
        text = salad(rng, WORDS)
        assert text[-1] in ".?!"
        assert text[0].isupper()


def test_the_same_seed_gives_the_same_texts_and_none_twice() -> None:
    first = list(itertools.islice(texts(5, WORDS), 300))
    assert first == list(itertools.islice(texts(5, WORDS), 300))
    assert len({normalised(text) for text in first}) == 300


def test_excluded_texts_do_not_occur() -> None:
    some = list(itertools.islice(texts(5, WORDS, salad_share=0.0), 200))
    rest = itertools.islice(texts(5, WORDS, salad_share=0.0, excluded=some[:50]), 200)
    assert not {normalised(t) for t in rest} & {normalised(t) for t in some[:50]}


def test_there_are_enough_evaluation_sentences_and_none_twice() -> None:
    sentences = [text for group in evaluation_sentences().values() for text in group]
    assert len(sentences) >= 60
    assert len(set(map(normalised, sentences))) == len(sentences)
