"""The built-in voice's tokenizer: what it reads, what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.checkpoint.folder import Checkpoint
from engine.errors import TextError, UnspeakableError
from engine.text.registry import load_tokenizer
from engine.text.tokenizer import TextTokenizer
from engine.worker_config import DEFAULT_CHECKPOINT, ForeignText


def _tokenizer(foreign_text: ForeignText = "transliterate") -> TextTokenizer:
    return load_tokenizer(Checkpoint.open(Path(DEFAULT_CHECKPOINT)), foreign_text)


def test_other_scripts_are_read_as_their_latin_spelling() -> None:
    tokenizer = _tokenizer()
    assert tokenizer.encode("Привет.") == tokenizer.encode("Privet.")
    ids, spans = tokenizer.encode_spans("Say 你好.")
    assert len(ids) == len(spans)
    assert {"Say 你好."[a:b] for a, b in spans} == {"Say", "你好", "."}


@pytest.mark.parametrize("text", ["Привет.", "Hello 世界."])
def test_other_scripts_are_refused_when_told_so(text: str) -> None:
    tokenizer = _tokenizer("refuse")
    assert tokenizer.encode("Hello, café.")
    with pytest.raises(TextError, match="expected text in Latin letters, got"):
        tokenizer.encode(text)


@pytest.mark.parametrize("text", ["...", "🎉🎉", "", "   ", "!?", "[laugh]", "[pause]", "[fast]"])
def test_nothing_to_say_is_an_error_not_silence(text: str) -> None:
    with pytest.raises(UnspeakableError, match="expected English words to speak"):
        _tokenizer().encode(text)


@pytest.mark.parametrize("text", ["[laugh]", "[whisper]", "[laugh] [sigh]."])
def test_a_lone_tag_cannot_be_said_and_it_says_so(text: str) -> None:
    tokenizer = _tokenizer()
    assert not tokenizer.speaks_tags and tokenizer.languages == ("en",)
    with pytest.raises(TextError):
        tokenizer.encode(text)


def test_ten_thousand_characters_are_read() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 223
    ids, spans = _tokenizer().encode_spans(text)
    assert len(ids) == len(spans) > 7000
    assert spans[-1][1] <= len(text)
