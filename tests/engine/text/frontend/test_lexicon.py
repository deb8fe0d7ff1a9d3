"""Words to phonemes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.frontend import phones
from engine.text.frontend.lexicon import load_lexicon
from engine.text.frontend.rules import pronounce


@pytest.mark.parametrize(
    ("word", "phonemes"),
    [
        ("hello", "həlˈO"),
        ("HELLO", "həlˈO"),
        ("cats", "kˈæts"),
        ("John's", "ʤˈɑnz"),
        ("stopped", "stˈɑpt"),
        ("USA", "jˌuˌɛsˈA"),
        ("NASA", "nˈæsə"),
        ("GPT", "ʤˌipˌitˈi"),
        ("B", "bˈi"),
        ("I", "ˌI"),
        ("café", "kæfˈA"),
        ("日本", ""),
    ],
)
def test_known_words(word: str, phonemes: str) -> None:
    assert load_lexicon()(word) == phonemes


@pytest.mark.parametrize(
    ("word", "phonemes"),
    [
        ("blick", "blˈɪk"),
        ("zorbing", "zˈɔɹbɪŋ"),
        ("thrake", "θɹˈAk"),
        ("phlox", "flˈɑks"),
        ("knole", "nˈOl"),
        ("grable", "ɡɹˈæbəl"),
    ],
)
def test_rules(word: str, phonemes: str) -> None:
    assert pronounce(word) == phonemes


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=20))
def test_rules_read_any_letters(word: str) -> None:
    phonemes = pronounce(word)
    tokens, owner = phones.parse(phonemes)
    assert tokens and -1 not in owner
    assert phonemes.count(phones.PRIMARY) == 1
    assert all(token in phones.PHONE_TOKENS for token in tokens)


def test_every_entry_is_in_the_inventory() -> None:
    lexicon = load_lexicon()
    allowed = set("".join(phones.PHONE_TOKENS))
    assert {character for phonemes in lexicon._words.values() for character in phonemes} <= allowed


def test_endings_of_unknown_forms() -> None:
    lexicon = load_lexicon()
    lexicon_word = lexicon("kubernetes")
    assert lexicon_word
    assert lexicon("zorbles").endswith("z")
    assert lexicon("smartphones") == lexicon("smartphone") + "z"
