"""Other people's names for this gateway's voices."""

from __future__ import annotations

import pytest

from gateway.types import VoiceNames

NAMES = VoiceNames(("ada", "Rosa"), {"alloy": "rosa", "21m00Tcm4TlvDq8ikWAM": "ada"}, "Rosa")


@pytest.mark.parametrize(
    ("asked", "speaks"),
    [
        ("ada", "ada"),
        (" ADA ", "ada"),
        ("rosa", "Rosa"),
        ("Alloy", "Rosa"),
        ("21m00tcm4tlvdq8ikwam", "ada"),
        ("nobody", "Rosa"),
        ("", "Rosa"),
    ],
)
def test_who_speaks(asked: str, speaks: str) -> None:
    assert NAMES.resolve(asked) == speaks


def test_without_a_fallback_the_first_one_speaks() -> None:
    assert VoiceNames(("ada", "rosa")).resolve("nobody") == "ada"
    assert VoiceNames(("ada", "rosa"), fallback="gone").resolve("nobody") == "ada"


def test_before_the_engine_is_known_a_name_is_kept() -> None:
    assert VoiceNames(()).resolve("ada") == "ada"


@pytest.mark.parametrize("aliases", [{"a": "a"}, {"a": "gone"}, {"a": "b", "b": "ada"}])
def test_an_alias_of_nobody_finds_nobody(aliases: dict[str, str]) -> None:
    assert VoiceNames(("ada",), aliases).find("a") is None


def test_a_voice_of_ours_wins_over_an_alias() -> None:
    assert VoiceNames(("ada", "rosa"), {"ada": "rosa"}).resolve("ada") == "ada"
