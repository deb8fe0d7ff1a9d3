"""Words and their times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.utterance.word_times import (
    SpeechRate,
    TimedSpan,
    WordSpan,
    carry_over,
    from_tokens,
    proportional,
    split_words,
    total_weight,
    weigh,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, there. ", ["Hello,", "there."]),
        ("  spaces  kept ", ["spaces", "kept"]),
        ("pi is 3.14, not 1,299.50", ["pi", "is", "3.14,", "not", "1,299.50"]),
        ("[laughs softly] Hi <|speaker:0|>you", ["Hi", "you"]),
        ('wait <break time="300ms"/>now', ["wait", "now"]),
        ("so - yes \u2014 no", ["so", "yes", "no"]),
        ('"Quoted!" (he said)', ['"Quoted!"', "(he", "said)"]),
        (
            "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
            ["\u4f60", "\u597d\uff0c", "\u4e16", "\u754c\u3002"],
        ),
        ("\u0e14\u0e35\u0e21\u0e32\u0e01", ["\u0e14\u0e35", "\u0e21", "\u0e32", "\u0e01"]),
        ("\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e\u0964", None),
        ("mixed \u65e5\u672c text", ["mixed", "\u65e5", "\u672c", "text"]),
        ("a [b", ["a", "b"]),
        ("...", []),
        ("", []),
        ("\U0001f642", []),
    ],
)
def test_words(text: str, expected: list[str] | None) -> None:
    words = split_words(text, offset=7)
    if expected is not None:
        assert [word.text for word in words] == expected
    for word in words:
        assert text[word.start - 7 : word.end - 7] == word.text


@given(st.text(alphabet="ab1.,!? -[]<>|\u4f60\u0e14\u0e35\u3002\n\u00e9", max_size=60))
def test_words_are_ordered_slices_that_hold_every_letter(text: str) -> None:
    at = 0
    for word in split_words(text):
        assert at <= word.start < word.end
        assert text[word.start : word.end] == word.text
        assert any(c.isalnum() for c in word.text)
        at = word.end
    plain = text.translate(str.maketrans("", "", "[]<>|"))
    held = "".join(word.text for word in split_words(plain))
    assert [c for c in held if c.isalnum()] == [c for c in plain if c.isalnum()]


@given(st.text(alphabet="abc .,!19\u4f60", max_size=80), st.integers(0, 10**7))
def test_proportional_times_are_monotonic_and_cover_the_segment(text: str, samples: int) -> None:
    words = split_words(text)
    timed = proportional(words, samples)
    assert [t.word for t in timed] == words
    at = 0
    for t in timed:
        assert at <= t.start_samples <= t.end_samples <= samples
        at = t.end_samples
    if timed:
        assert timed[0].start_samples == 0 and timed[-1].end_samples == samples


def test_longer_words_take_longer_and_pauses_belong_to_nobody() -> None:
    a, long, b = proportional(split_words("a extraordinarily, b"), 10_000)
    assert long.end_samples - long.start_samples > 3 * (a.end_samples - a.start_samples)
    assert b.start_samples > long.end_samples
    assert weigh("2024")[0] > weigh("word")[0]
    assert weigh('done."') == (weigh("done.")[0], weigh("done.")[1])


def spans(text: str, size: int) -> list[tuple[int, int]]:
    return [(i, min(i + size, len(text))) for i in range(0, len(text), size)]


def test_heads_find_the_frame_at_which_each_word_begins() -> None:
    text = "one two three"
    frames = [0] * 2 + [3] * 1 + [4] * 3 + [8] * 5  # characters, frame by frame
    timed = from_tokens(split_words(text), frames, spans(text, 1), frame_samples=10)
    assert [(t.start_samples, t.end_samples) for t in timed] == [(0, 30), (30, 60), (60, 110)]


def test_heads_that_slip_do_not_move_a_word() -> None:
    text = "one two"
    for slipping in (
        [0, 1, 6, 1, 2, 2, 4, 5, 6],
        [0, 0, 1, 1, 2, 2, 4, 0, 6],
        [0, 0, 1, -1, 2, 99, 4, 5, 6],
    ):
        one, two = from_tokens(split_words(text), slipping, spans(text, 1), 10)
        assert (one.start_samples, two.end_samples) == (0, 90)
        assert one.end_samples == two.start_samples == pytest.approx(60, abs=10)


def test_a_token_with_its_leading_space_begins_its_word() -> None:
    timed = from_tokens(split_words("one two"), [0, 0, 1, 1], [(0, 3), (3, 7)], 10)
    assert timed[1].start_samples == 20


@given(
    st.lists(st.integers(-2, 40), max_size=40),
    st.text(alphabet="ab ,.", min_size=1, max_size=30),
    st.integers(1, 4),
)
def test_heads_never_give_times_out_of_order(tokens: list[int], text: str, size: int) -> None:
    timed = from_tokens(split_words(text), tokens, spans(text, size), 10)
    at = 0
    for t in timed:
        assert at <= t.start_samples <= t.end_samples <= 10 * len(tokens)
        at = t.start_samples
    assert [t.word for t in timed] == split_words(text)


def timed(*triples: tuple[str, int, int]) -> list[TimedSpan]:
    found, at = [], 0
    for text, start, end in triples:
        found.append(TimedSpan(WordSpan(at, at + len(text), text), start, end))
        at += len(text) + 1
    return found


def test_times_carry_over_to_the_same_words() -> None:
    words = split_words("one two")
    spoken = timed(("one", 0, 5), ("two", 5, 9))
    over = carry_over(spoken, words, lambda i: i)
    assert [(t.word.text, t.start_samples, t.end_samples) for t in over] == [
        ("one", 0, 5),
        ("two", 5, 9),
    ]


def test_a_number_takes_the_time_of_all_words_that_say_it() -> None:
    written = split_words("pay $30 now")
    spoken = timed(("pay", 0, 4), ("thirty", 4, 8), ("dollars", 8, 15), ("now", 15, 18))
    origin = {0: 0, 4: 4, 11: 4, 19: 8}
    over = carry_over(spoken, written, lambda i: origin[i])
    assert [(t.start_samples, t.end_samples) for t in over] == [(0, 4), (4, 15), (15, 18)]


def test_words_said_in_one_replacement_share_its_time() -> None:
    written = split_words("3 km far")
    spoken = timed(("three", 0, 5), ("kilometres", 5, 15), ("far", 15, 18))
    origin = {0: 0, 6: 0, 17: 5}
    over = carry_over(spoken, written, lambda i: origin[i])
    assert over[0].start_samples == 0 and over[1].end_samples == 15
    assert over[0].end_samples == over[1].start_samples
    assert (over[2].start_samples, over[2].end_samples) == (15, 18)


def test_words_that_are_not_said_take_no_time() -> None:
    assert carry_over([], split_words("never said"), lambda i: i)[1].end_samples == 0
    assert carry_over(timed(("um", 0, 3)), [], lambda i: i) == []


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=12),
    st.text(alphabet="ab ", max_size=30),
)
def test_carried_times_stay_in_order(steps: list[tuple[int, int]], text: str) -> None:
    spoken, origins, at, samples = [], {}, 0, 0
    for i, (step, length) in enumerate(steps):
        at = min(at + step, 29)
        origins[i] = at
        spoken.append(TimedSpan(WordSpan(i, i + 1, "x"), samples, samples + length))
        samples += length
    over = carry_over(spoken, split_words(text), lambda i: origins[i])
    assert [t.word for t in over] == split_words(text)
    at = 0
    for t in over:
        assert at <= t.start_samples <= t.end_samples <= samples
        at = t.start_samples


def test_the_rate_follows_what_was_finished() -> None:
    rate = SpeechRate(ms_per_weight=60.0)
    weight = total_weight("a few words to say")
    for _ in range(30):
        rate.observe(weight, 100.0 * weight)
    assert rate.estimate_ms(weight) == pytest.approx(100.0 * weight, rel=0.01)
    rate.observe(0.0, 10.0)
    rate.observe(5.0, 0.0)
    assert rate.estimate_ms(weight) == pytest.approx(100.0 * weight, rel=0.01)
