"""What a model thinks aloud is not spoken, however it comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.text.segment import Segmenter, SegmentPolicy

CASES = [
    ("<think>Hm, [x `y ``` no.</think>Yes.", "Yes."),
    ("<think>\nI should\n\n```\ncode\n```\nsay it.\n</think>\n\nHello there.", "Hello there."),
    ("Before. <thinking>a > b. c</thinking> After.", "Before. After."),
    ("<Reasoning>one</reasoning><think>two</think>three", "three"),
    ("Never closed. <think>This goes on. And on", "Never closed."),
    ("a <b>bold</b> thinker </think> here", "a bold thinker here"),
    ("<thinker> is a word", "thinker is a word"),
]


def spoken(text: str, sizes: list[int], **options: bool) -> str:
    segmenter = Segmenter(SegmentPolicy(**options))
    segments = []
    at = 0
    for size in [*sizes, len(text)]:
        segments += segmenter.push(text[at : at + size], float(at))
        segments += segmenter.tick(float(at) + 9e6)
        at += size
    segments += segmenter.flush()
    assert "".join(segment.text for segment in segments) == text
    return " ".join(" ".join(segment.spoken for segment in segments).split())


@pytest.mark.parametrize(("text", "said"), CASES)
def test_by_the_character_and_at_once(text: str, said: str) -> None:
    assert spoken(text, []) == said
    one_by_one = Segmenter(SegmentPolicy())
    segments = [s for i, char in enumerate(text) for s in one_by_one.push(char, float(i))]
    segments += one_by_one.flush()
    assert " ".join(" ".join(s.spoken for s in segments).split()) == said


@given(st.sampled_from(CASES[:5]), st.lists(st.integers(1, 9), max_size=40))
def test_however_it_is_cut_and_whenever_it_stalls(case: tuple[str, str], sizes: list[int]) -> None:
    text, said = case
    for word in spoken(text, sizes).split():
        assert word in said or word in "<think>"[:6]


def test_thoughts_can_be_asked_for() -> None:
    text = "<think>Hm, well.</think>Yes."
    assert spoken(text, [], speak_thoughts=True) == "Hm, well. Yes."
