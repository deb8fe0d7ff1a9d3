"""The fuzzed strings hold what they claim to hold."""

from __future__ import annotations

from engine.workshop.fidelity.marks import MIN_STRINGS
from engine.workshop.fidelity.strings import fuzzed_strings, scripts

CONTROL = ("<|im_end|>", "<|semantic:5|>", "<think>")
STRINGS = fuzzed_strings(MIN_STRINGS, CONTROL)


def test_the_same_seed_gives_the_same_strings() -> None:
    assert fuzzed_strings(50, CONTROL) == STRINGS[:50]
    assert fuzzed_strings(50, CONTROL, seed=1) != STRINGS[:50]
    assert len(set(STRINGS)) > 0.99 * MIN_STRINGS


def test_every_script_occurs() -> None:
    seen = {character for text in STRINGS for character in text}
    for name in ("ARABIC", "CJK", "CYRILLIC", "DEVANAGARI", "HANGUL", "HEBREW", "THAI", "ETHIOPIC"):
        assert name in scripts()
    missing = [name for name, characters in scripts().items() if seen.isdisjoint(characters)]
    assert len(scripts()) > 150 and not missing


def test_emoji_tags_spaces_and_control_tokens_occur_whole_and_tampered() -> None:
    everything = "\0".join(STRINGS)
    for piece in (
        "\U0001f600",
        "\u200d",
        "\ufe0f",
        "[laughing]",
        "<|speaker:0|>",
        "\r\n",
        "\u3000",
    ):
        assert everything.count(piece) > 20, ascii(piece)
    for token in CONTROL:
        assert sum(token in text for text in STRINGS) > 100, token
        assert sum(token.upper() in text for text in STRINGS) > 10, token
    assert any("\0" in text for text in STRINGS)


def test_every_string_is_valid_unicode() -> None:
    assert all(text.encode().decode() == text for text in STRINGS)


def test_no_control_tokens_is_fine() -> None:
    assert len(fuzzed_strings(10, ())) == 10
