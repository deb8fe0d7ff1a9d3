"""The segmenter: the table of cases, any chunking, bounds, marks in the text."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.text.segment import Segment, Segmenter, SegmentPolicy
from tests.gateway.text.segment_cases import CASES, CLAUSES, LINES

EVERY_SENTENCE = SegmentPolicy(first_mode="sentence", first_min_chars=0, min_chars=0, lead_growth=0)
EVERY_CLAUSE = SegmentPolicy(mode="clause", first_min_chars=0, min_chars=0, lead_growth=0)
TABLE = [
    *((label, EVERY_SENTENCE, row) for label, rows in CASES.items() for row in rows),
    *(("lines", EVERY_SENTENCE, row) for row in LINES),
    *(("clauses", EVERY_CLAUSE, row) for row in CLAUSES),
]
LANGUAGES = CASES.keys() - {"numbers", "links", "graphemes"}

# Text dense in what the rules look at.
HARD_TEXT = st.lists(
    st.sampled_from(
        [*"abIU .,!?\n\"'[]()<>|/:;*_`#-—…0123。、」「์กเา\u0301 \u00a0\u200d👍é\r\0"]
        + ["Dr.", "U.S.", "<break time='1s'/>", "<|speaker:1|>", "```\n", "[laughs]", "\n\n"]
    ),
    max_size=80,
).map("".join)
TEXT = st.one_of(st.text(max_size=200), HARD_TEXT)


def run(policy: SegmentPolicy, pieces: list[str]) -> list[Segment]:
    segmenter = Segmenter(policy)
    segments = [segment for piece in pieces for segment in segmenter.push(piece, 0.0)]
    return segments + segmenter.flush()


def texts(segments: list[Segment]) -> list[str]:
    return [segment.text for segment in segments]


# --- where segments end -------------------------------------------------------------------------


def test_the_table_is_large_enough() -> None:
    assert len(TABLE) >= 150
    assert len(LANGUAGES) >= 12


@pytest.mark.parametrize(("label", "policy", "row"), TABLE)
def test_table(label: str, policy: SegmentPolicy, row: str) -> None:
    wanted = [part for part in row.split("¦") if part]
    text = "".join(wanted)
    whole = run(policy, [text])
    assert texts(whole) == wanted
    assert run(policy, list(text)) == whole
    generator = random.Random(row)
    for _ in range(3):
        cuts = sorted(generator.sample(range(len(text) + 1), min(len(text), 5)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert run(policy, pieces) == whole


@given(TEXT, st.data())
@settings(max_examples=150, deadline=None)
def test_any_chunking_gives_the_same_segments(text: str, data: st.DataObject) -> None:
    policy = SegmentPolicy(min_chars=4, first_min_chars=2, max_chars=30)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=10)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = run(policy, [text])
    assert "".join(texts(whole)) == text
    assert run(policy, pieces) == whole
    assert run(policy, list(text)) == whole


# --- what holds for any text --------------------------------------------------------------------


@given(st.lists(st.tuples(TEXT, st.integers(0, 3), st.floats(0, 4000)), max_size=12))
@settings(max_examples=150, deadline=None)
def test_nothing_is_lost_whatever_the_calls(steps: list[tuple[str, int, float]]) -> None:
    policy = SegmentPolicy(min_chars=10, max_chars=40)
    segmenter = Segmenter(policy, {"ab": "xyz"})
    segments: list[Segment] = []
    pushed, now_ms = "", 0.0
    for text, action, delay_ms in steps:
        now_ms += delay_ms
        if action == 0:
            segments += segmenter.flush()
        elif action == 1:
            segments += segmenter.tick(now_ms)
        elif action == 2:
            segmenter.set_lead_ms(delay_ms)
        segments += segmenter.push(text, now_ms)
        pushed += text
        assert "".join(texts(segments)) + segmenter.buffered == pushed
        assert len(segmenter.buffered) <= policy.max_chars * 4 + 64
    segments += segmenter.flush()
    assert "".join(texts(segments)) == pushed
    assert segmenter.buffered == "" and segmenter.next_deadline_ms() is None
    for segment in segments:
        assert pushed[segment.start : segment.end] == segment.text != ""
        raw = [segment.raw_index(index) for index in range(len(segment.spoken) + 1)]
        assert raw == sorted(raw) and 0 <= raw[0] and raw[-1] == len(segment.text)


@given(TEXT, st.floats(0, 5000))
@settings(max_examples=100, deadline=None)
def test_a_tick_at_the_deadline_always_moves_on(text: str, delay_ms: float) -> None:
    segmenter = Segmenter(SegmentPolicy(max_buffer_delay_ms=delay_ms))
    segmenter.push(text, 100.0)
    for _ in range(3):
        deadline_ms = segmenter.next_deadline_ms()
        if deadline_ms is None:
            break
        assert 100.0 <= deadline_ms <= 100.001 + 2 * delay_ms
        assert segmenter.tick(deadline_ms - 0.5) == []
        assert segmenter.tick(deadline_ms)
    assert segmenter.next_deadline_ms() is None


@given(TEXT)
@settings(max_examples=100, deadline=None)
def test_segments_end_between_grapheme_clusters(text: str) -> None:
    import regex

    policy = SegmentPolicy(min_chars=1, first_min_chars=1, max_chars=20)
    edges = {match.end() for match in regex.finditer(r"\X", text)}
    assert {segment.end for segment in run(policy, [text])} <= edges


@pytest.mark.parametrize(
    "unit", ["word ", "x", "Dr. A. ", " ", "[", "`", "<", "a, ", "字", "ก", "\n", "e\u0301"]
)
def test_time_is_linear_in_the_text(unit: str) -> None:
    def calls(length: int) -> int:
        segmenter = Segmenter(SegmentPolicy())
        text = (unit * length)[:length]
        return count_calls(lambda: [segmenter.push(char, 0.0) for char in text])

    assert calls(6_000) < 4 * calls(2_000)


def count_calls(action: Callable[[], object]) -> int:
    """Calls of Python and C functions made by the action."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


# --- marks in the text --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "pause_ms"),
    [
        ('<break time="300ms"/>', 300),
        ("<break time='1.5s' />", 1500),
        ("<BREAK time=2s>", 2000),
        ('<break strength="strong"/>', 700),
        ("<break/>", 400),
        ('<break time="99s"/>', 10_000),
        ('<break time="soon"/>', 0),
    ],
)
def test_a_break_is_exact_silence_after_its_segment(tag: str, pause_ms: int) -> None:
    segments = run(SegmentPolicy(), [f"One {tag} two."])
    assert [(s.text, s.spoken, s.pause_ms) for s in segments] == [
        (f"One {tag} ", "One", pause_ms),
        ("two.", "two.", 0),
    ]


def test_breaks_alone_are_wordless_segments_with_a_pause() -> None:
    segments = run(SegmentPolicy(), ['<break time="1s"/><break time="2s"/>'])
    assert [(s.spoken, s.pause_ms) for s in segments] == [("", 1000), ("", 2000)]


def test_every_segment_carries_its_speaker() -> None:
    policy = EVERY_SENTENCE
    text = "<|speaker:1|>One here. Two here. <|speaker:0|>Three here. Four here."
    assert [segment.spoken for segment in run(policy, [text])] == [
        "<|speaker:1|>One here.",
        "<|speaker:1|>Two here.",
        "<|speaker:0|>Three here.",
        "<|speaker:0|>Four here.",
    ]


def test_fenced_code_is_silent_and_the_rest_is_not() -> None:
    text = "Look:\n```python\nprint('Hello. You')\n\nx = 1\n```\nThat is it."
    assert [segment.spoken for segment in run(EVERY_SENTENCE, [text])] == [
        "Look:",
        "",
        "That is it.",
    ]
    long_code = "```\n" + "x = 1. Yes\n" * 100 + "```\nDone."
    *code, last = run(SegmentPolicy(), [long_code])
    assert all(segment.spoken == "" for segment in code) and last.spoken == "Done."


def test_spoken_words_map_back_to_the_raw_text() -> None:
    segmenter = Segmenter(SegmentPolicy(), {"GIF": "jif"})
    (segment,) = segmenter.push("# **My** GIF at https://www.example.com/x?y=1 🎉 ok", 0) or (
        segmenter.flush()
    )
    assert segment.spoken == "My jif at example.com/x ok"
    for word in ("My", "at", "ok"):
        raw = segment.raw_index(segment.spoken.index(word))
        assert segment.text[raw : raw + len(word)] == word
    assert segment.text[segment.raw_index(3) :].startswith("GIF")
    assert segment.text[segment.raw_index(10) :].startswith("https://")


@pytest.mark.parametrize(
    ("field", "value"),
    [("mode", "word"), ("min_chars", -1), ("max_chars", 3), ("max_buffer_delay_ms", -1.0)],
)
def test_a_policy_out_of_range_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{field}: expected .* got"):
        SegmentPolicy(**{field: value})  # type: ignore[arg-type]
