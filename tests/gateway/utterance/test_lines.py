"""Lines, their history and their place on the time line."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import EngineFailedError
from gateway.types import Finished, Frames, HistoryTurn, Limits
from gateway.utterance.lines import History, Lines, is_wordless
from gateway.utterance.word_times import SpeechRate
from tests.gateway.fake_parts import FACTS, PCM, FakeChain, FakeSegment

FRAME = struct.pack("<640f", *[0.5] * 640)
CODES = b"\1\0" * 3


def segment(text: str = "Hello there.", start: int = 0, pause_ms: float = 0.0) -> FakeSegment:
    return FakeSegment(text, start, start + len(text), text, pause_ms)


def lines(hold: int = 0) -> Lines:
    made = Lines(FACTS, Limits(), lambda f, s: FakeChain(f, s, hold=hold), SpeechRate(50.0))
    made.open_chain(PCM, 1.0)
    return made


def say(made: Lines, text: str, frames: int, start: int = 0) -> None:
    made.begin(segment(text, start), f"r{start}", "default")
    for i in range(frames):
        made.take(Frames("r0", i, FRAME, CODES))
    made.complete(Finished("r0", "stop", 0, 10, 4))


@pytest.mark.parametrize(
    ("spoken", "wordless"),
    [
        ("", True),
        (" \n", True),
        ("...", True),
        ("\U0001f642!", True),
        ("<|speaker:0|>", True),
        ("<|speaker:0|> Hi", False),
        ("[laughs]", False),
        ("3", False),
        ("\u4f60", False),
        ("<|", True),
    ],
)
def test_wordless(spoken: str, wordless: bool) -> None:
    assert is_wordless(spoken, speaks_tags=True) is wordless


@pytest.mark.parametrize(
    ("spoken", "wordless"),
    [
        ("[laughs]", True),
        ("[laughs] [sighs].", True),
        ("<|speaker:0|>[laughs]", True),
        ("[laughs] Ha", False),
        ("Ha", False),
        ("...", True),
        ("[3", False),
    ],
)
def test_wordless_where_tags_make_no_sound(spoken: str, wordless: bool) -> None:
    assert is_wordless(spoken, speaks_tags=False) is wordless


@given(st.lists(st.integers(1, 120), max_size=40), st.integers(1, 6), st.integers(1, 300))
def test_history_stays_within_its_bounds(lengths: list[int], turns: int, frames: int) -> None:
    history = History(turns, frames)
    for i, length in enumerate(lengths):
        history.add(HistoryTurn(str(i), b"x"), length)
        assert len(history.turns) <= turns and history.frames <= frames
        if length <= frames:
            assert history.turns[-1].text == str(i)  # the newest one is always kept
        numbers = [int(turn.text) for turn in history.turns]
        assert numbers == sorted(numbers)


def test_history_grows_and_then_starts_afresh_so_that_its_beginning_stays_the_same() -> None:
    history = History(4, 10_000)
    beginnings = []
    for i in range(12):
        history.add(HistoryTurn(str(i), b"x"), 10)
        beginnings.append(history.turns[0].text)
    changes = sum(a != b for a, b in zip(beginnings, beginnings[1:], strict=False))
    assert changes <= 12 / 2  # dropping one turn at a time would change it at almost every turn
    history.clear()
    assert history.turns == ()


def test_words_of_a_finished_line_are_certain_and_of_an_unfinished_one_estimated() -> None:
    made = lines()
    line = made.begin(segment("one two three four"), "r", "default")
    for i in range(5):  # 200 ms of what will be about a second
        made.take(Frames("r0", i, FRAME, CODES))
    assert made.take_timed() is None
    early = made.times(line)
    assert early is not None
    assert early[0].end_ms <= 300.0
    assert early[-1].end_ms == float("inf")
    made.complete(Finished("r0", "stop", 0, 1, 1))
    assert made.take_timed() is line
    assert line.words is not None and line.words[-1].end_ms == 200.0
    assert made.take_timed() is None


def test_a_line_with_words_left_unsaid_is_told_and_is_no_model_for_the_next() -> None:
    made = lines()
    for start, skipped in ((0, 0), (20, 2)):
        made.begin(segment("one two three four", start), f"r{start}", "default")
        made.take(Frames(f"r{start}", 0, FRAME, CODES))
        made.complete(Finished(f"r{start}", "stop", 1, 1, 1, skipped, retries=3))
    assert (made.skipped_words, made.retries, made.truncated) == (2, 6, False)
    assert len(made.history.turns) == 1


def test_words_wait_for_the_place_of_their_end() -> None:
    made = lines(hold=100)
    say(made, "one two", 3)
    chain = made.chain
    assert isinstance(chain, FakeChain)
    chain.undecided = 100
    assert made.take_timed() is None
    chain.undecided = 0
    assert made.take_timed() is made.all[0]


def test_a_line_knows_its_extent_even_when_the_chain_is_gone() -> None:
    made = lines()
    say(made, "one two", 3)
    say(made, "three", 2, start=8)
    assert [made.extent_ms(line) for line in made.all] == [(0.0, 120.0), (120.0, 200.0)]
    made.release()
    assert made.chain is None
    assert [made.extent_ms(line) for line in made.all] == [(0.0, 120.0), (120.0, 200.0)]
    assert [word.text for line in made.all for word in line.words or ()] == [
        "one",
        "two",
        "three",
    ]


@pytest.mark.parametrize(
    ("first_frame", "pcm", "message"),
    [
        (1, FRAME, "expected frame 0, got frame 1"),
        (0, FRAME[:-4], "expected whole frames of PCM, got 2556 bytes"),
    ],
)
def test_missing_sound_is_noticed(first_frame: int, pcm: bytes, message: str) -> None:
    made = lines()
    made.begin(segment(), "r", "default")
    with pytest.raises(EngineFailedError, match=message):
        made.take(Frames("r0", first_frame, pcm, CODES))


def test_what_is_abandoned_or_retracted_leaves_no_empty_line() -> None:
    made = lines()
    made.begin(segment(), "r", "default")
    made.abandon()
    assert made.all == [] and made.making is None
    made.begin(segment("again"), "r", "default")
    assert made.retract().text == "again"
    assert made.all == [] and made.ordinal == 1  # the abandoned one was consumed
    made.begin(segment(), "r", "default")
    made.take(Frames("r0", 0, FRAME, CODES))
    made.abandon()
    assert len(made.all) == 1


def test_the_bill_is_the_sum() -> None:
    made = lines()
    say(made, "one", 3)
    say(made, "two", 2, start=4)
    assert (made.frames, made.prompt_tokens, made.cached_tokens) == (5, 20, 8)
