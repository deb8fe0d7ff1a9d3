"""What may be spoken while more is to come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.text.segment import Segmenter, SegmentPolicy
from gateway.text.segment.arriving import settled


@pytest.mark.parametrize(
    "text",
    [
        "It costs |$1,",
        "It costs |$1,299.",
        "It costs |$1 ",
        "We will |recom",
        "We will recommend |",
        "On |July 4, ",
        "on |July ",
        "I met |Dr. ",
        "I met Dr. Smith |",
        "at |3:30 ",
        "at 3:30 PM |",
        "It is at |123 Main ",
        "Call |(555) 123",
        "see |v1.2.",
        "All |of",
        "|Wait",
        "Wait! |",
        "In 2019. |",
        "In the year |2019.",
        "the |U.",
        "march on |",
        "你好|",
        "|1 2 3 ",
        "a b |1 2 3 4 5 6 ",
        "|",
    ],
)
def test_what_is_settled(text: str) -> None:
    before, _, after = text.partition("|")
    assert (before + after)[: settled(before + after)] == before


WHOLE = [
    "The price is $1,299.50 for now.",
    "We would recommend it on July 4, 2024 at 3:30 PM to Dr. Smith.",
    "Ask Mrs. A. Brown of 123 Main St. about +1 (555) 123-4567.",
    "It is 5 million, or 9.8 m/s, in v1.2.3 of Jan. 3rd.",
    "Monday, Dec 25 in Austin, TX 78701 it was -7 degrees.",
]
TOGETHER = [
    "$1,299.50", "recommend", "July 4, 2024", "3:30 PM", "Dr. Smith", "Mrs. A. Brown",
    "123 Main St.", "+1 (555) 123-4567", "5 million", "v1.2.3", "Jan. 3rd", "Monday, Dec 25",
    "Austin, TX 78701", "-7 degrees",
]  # fmt: skip


@given(st.sampled_from(WHOLE), st.lists(st.integers(1, 12), min_size=1, max_size=40))
def test_a_stall_anywhere_tears_nothing(text: str, sizes: list[int]) -> None:
    segmenter = Segmenter(SegmentPolicy(first_min_chars=0, min_chars=0))
    segments = []
    at, now_ms = 0, 0.0
    for size in [*sizes, len(text)]:
        segments += segmenter.push(text[at : at + size], now_ms)
        at += size
        if at < len(text):
            now_ms += 2000.0
            segments += segmenter.tick(now_ms)
    segments += segmenter.flush()
    assert "".join(segment.text for segment in segments) == text
    for stretch in TOGETHER:
        if stretch in text:
            assert any(stretch in segment.text for segment in segments), stretch


@pytest.mark.parametrize(
    "text",
    [
        "This is one.¦Sentence two is here.",
        "It is over!¦Now we go.",
        "Are you sure?¦Yes I am.",
        "He met Bob.¦Then he left.",
        "We use Node.js every day.",
        "Go to example.Com for more.",
        "The U.S.Army is large.",
        "Call System.Out now.",
        "Call the thing.Method() now.",
        "See report.PDF now.",
        "I was born July 4, 1990 there.",
        "He lives in Austin, TX 78701 now.",
        "John Smith, Jr. spoke up.",
        "Well, ¦The rest is here.",
    ],
)
def test_where_one_sentence_ends(text: str) -> None:
    wanted = text.split("¦")
    policy = SegmentPolicy(mode="clause", first_min_chars=0, min_chars=0, lead_growth=0)
    for pieces in ([text.replace("¦", "")], list(text.replace("¦", ""))):
        segmenter = Segmenter(policy)
        segments = [s for i, piece in enumerate(pieces) for s in segmenter.push(piece, float(i))]
        segments += segmenter.flush()
        assert [segment.text for segment in segments] == wanted


@pytest.mark.parametrize("opening", ["[", "`", "<x ", "<", "**", "(", "[a](", "<think"])
def test_nothing_unclosed_holds_speech_up(opening: str) -> None:
    segmenter = Segmenter(SegmentPolicy())
    text = f"So {opening}and this goes on. There is more to say here. And even more of it now. "
    text += "Nobody closed it and we go on talking for a while. Then there is another sentence. "
    segments = []
    for index, char in enumerate(text[:200]):
        segments += segmenter.push(char, float(index))
    assert segments
