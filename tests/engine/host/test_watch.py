"""Readings that go well, for any pace, and readings that do not: what is seen, where and when."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.host.watch import Fault, Kind, Reading, Script

FRAME_MS = 46.4
ALONE_FRAMES = 8  # between two slips
TEXT = "The gateway accepts a stream of text, and answers with packets of speech. Nothing is lost."


def letters_of(text: str) -> list[tuple[int, int]]:
    """A token a character."""
    return [(at, at + 1) for at in range(len(text))]


def words_of(text: str) -> list[tuple[int, int]]:
    """Three tokens a word, each of the whole word, as phones are."""
    spans, at = [], 0
    for word in text.split(" "):
        spans += [(at, at + len(word))] * 3
        at += len(word) + 1
    return spans


def read(
    tokens: list[int], text: str = TEXT, spans: list[tuple[int, int]] | None = None
) -> Reading:
    reading = Reading(Script.of(text, spans or letters_of(text)), FRAME_MS)
    for token in tokens:
        assert reading.push(token) is None
    return reading


def faults(tokens: list[int], text: str = TEXT) -> list[tuple[int, Fault]]:
    """All faults, accepted, and the frame that showed each."""
    reading = Reading(Script.of(text, letters_of(text)), FRAME_MS)
    seen = []
    for frame, token in enumerate(tokens):
        if (fault := reading.push(token)) is not None:
            seen.append((frame, fault))
            reading.accept(fault)
    if (fault := reading.end()) is not None:
        seen.append((len(tokens), fault))
    return seen


@given(pauses=st.integers(0, 18), seed=st.integers(0, 2**32))
def test_an_honest_reading_has_no_faults(pauses: int, seed: int) -> None:
    chance = random.Random(seed)
    reading = Reading(Script.of(TEXT, letters_of(TEXT)), FRAME_MS)
    tokens, at, slipped_at = [], 0, 0
    while at < len(TEXT) - 1:
        step = 1 if TEXT[at] in ",." else chance.choice((0, 1, 1, 1, 2, 2))
        at = min(at + step, len(TEXT) - 1)
        tokens.append(at)
        if TEXT[at] in ",.":
            tokens += [at] * pauses
        elif chance.random() < 0.05 and len(tokens) > slipped_at + ALONE_FRAMES:
            slipped_at = len(tokens)  # attention slips alone, for a frame
            tokens += [chance.randrange(len(TEXT)), at]
    assert [reading.push(token) for token in tokens] == [None] * len(tokens)
    assert reading.end() is None
    assert reading.skipped_words == 0


@pytest.mark.parametrize("frames_a_letter", [1, 2, 3, 6])
def test_slow_speech_is_no_stall(frames_a_letter: int) -> None:
    tokens = [at for at in range(len(TEXT)) for _ in range(frames_a_letter)]
    assert read(tokens).end() is None


@given(start=st.integers(0, 40), size=st.integers(12, 40))
def test_a_skip_is_seen_within_seven_frames_and_its_words_are_told(start: int, size: int) -> None:
    tokens = [*range(start), *range(start + size, len(TEXT))]
    (frame, fault), *others = faults(tokens)
    assert fault == Fault(Kind.SKIP, start)
    assert start <= frame < start + 7 and not others
    reading = Reading(Script.of(TEXT, letters_of(TEXT)), FRAME_MS)
    for token in tokens:
        if (seen := reading.push(token)) is not None:
            reading.accept(seen)
    gone = [word for word in TEXT[start : start + size].split(" ")[1:-1] if word]
    assert len(gone) <= reading.skipped_words <= len(gone) + 2


@given(at=st.integers(20, 80), back=st.integers(15, 20))
def test_a_repeat_is_seen_where_it_begins(at: int, back: int) -> None:
    tokens = [*range(at), *range(at - back, len(TEXT))]
    (frame, fault), *_ = faults(tokens)
    assert fault == Fault(Kind.REPEAT, at)
    assert frame < at + 7


@given(at=st.integers(0, 70))
def test_a_stall_is_seen_in_time_and_most_of_it_is_unsound(at: int) -> None:
    reading = read(list(range(at + 1)))
    seen = [fault for _ in range(40) if (fault := reading.push(at)) is not None]
    assert seen and seen[0].kind is Kind.STALL
    assert at + 1 <= seen[0].sound <= at + 5


def test_an_end_before_the_text_is_one_is_a_fault() -> None:
    assert read(list(range(60))).end() == Fault(Kind.EARLY_END, 60)
    assert read(list(range(len(TEXT) - 3))).end() is None


def test_after_the_last_word_silence_may_last_longer() -> None:
    reading = read(list(range(len(TEXT))))
    assert reading.is_read
    assert all(reading.push(len(TEXT) - 1) is None for _ in range(30))


def test_what_was_taken_back_is_forgotten() -> None:
    reading = read(list(range(30)))
    fault = next(f for t in range(60, 80) if (f := reading.push(t)) is not None)
    reading.rewind(fault.sound)
    assert reading.frames == 30
    assert [reading.push(t) for t in range(30, len(TEXT))] == [None] * (len(TEXT) - 30)
    assert reading.end() is None and reading.skipped_words == 0


def test_marks_and_tags_are_not_said() -> None:
    text = "Yes, [whisper](softly) <|speaker:1|>now."
    script = Script.of(text, letters_of(text))
    assert script.letters == len("Yessoftlynow")
    assert script.words_between(0, script.letters) == {0, 1, 2}


def test_tokens_of_a_whole_word_share_its_letters() -> None:
    text = "One two"
    script = Script.of(text, words_of(text))
    assert script.ends == (1, 2, 3, 4, 5, 6)
    assert script.words == (0, 0, 0, 1, 1, 1)


def test_frames_of_which_nothing_is_told_are_no_stall() -> None:
    reading = read([0, 1, 2])
    assert all(reading.push(-1) is None for _ in range(100))


@given(at=st.integers(5, 70), left=st.integers(0, 70))
def test_the_rest_of_a_text_begins_with_a_word_and_behind_what_has_left(at: int, left: int) -> None:
    left = min(at, left)
    stay, start = read(list(range(at))).rest(at, left) or (at, 0)
    assert left <= stay <= at
    assert TEXT[start - 1] == " " and TEXT[start].isalnum()
    # all before is said, but for a word of which a part has left
    assert TEXT[stay:start].strip(" ,.").count(" ") == 0
    assert stay <= start + 2


def test_when_the_last_word_has_begun_to_leave_no_turn_is_left() -> None:
    at = len(TEXT) - 3
    assert read(list(range(at))).rest(at, at) is None
