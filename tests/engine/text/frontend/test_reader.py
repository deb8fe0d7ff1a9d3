"""Texts to phone tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.frontend import phones
from engine.text.frontend.reader import Reader
from engine.text.frontend.vocabulary import SPEAKERS


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader()


def _joined(reader: Reader, text: str) -> str:
    return "".join(reader(text)[0])


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello there!", "həlˈO_ðɛɹ!"),
        ("the apple, the pear", "ði_ˈæpᵊl,_ðə_pˈɛɹ"),
        ("to eat to live", "tʊ_ˈit_tə_lˈɪv"),
        ("He used to go", "hi_jˈust_tə_ɡˌO"),
        ("a, b, A", "ˈA,_bˈi,_ˈA"),
        ("...well", "wˈɛl"),
        ("so?! (yes)", "sˌO?_jˈɛs,"),
        ("[whisper] hi", "[whisper]hˈI"),
    ],
)
def test_sentences(reader: Reader, text: str, tokens: str) -> None:
    assert _joined(reader, text) == tokens


def test_the_pause_stands_between_boundaries(reader: Reader) -> None:
    assert reader("go [pause] now")[0] == ["ɡ", "ˌO", "_", "[pause]", "_", "n", "ˈW"]


def test_nothing_to_say(reader: Reader) -> None:
    for text in ("", "😀!!", "...", "。", "[laughing]"):
        tokens, _ = reader(text)
        assert not any(token.lstrip("ˈˌ").isalpha() for token in tokens), text


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_gives_tokens_of_the_vocabulary_in_order(reader: Reader, text: str) -> None:
    tokens, spans = reader(text)
    legal = {*phones.PHONE_TOKENS, *phones.TAG_TOKENS, *SPEAKERS}
    assert all(token in legal or token.startswith("<|speaker:") for token in tokens)
    assert spans == sorted(spans)
    assert len(tokens) == len(spans)
    assert not any(a == b == phones.SPACE for a, b in zip(tokens, tokens[1:], strict=False))
