"""Pieces of a transcript, joined, are the text; and they divide it where the gateway does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clients.heard.words import Piece, Transcript
from clients.python import connect
from clients.python.wire import Flushed, SegmentStarted, Word, Words
from engine.fake import FakeEngine
from tests.gateway.shell import gateway

MARKS = ["", ".", ",", '"', " -", " ..."]
words_of_a_segment = st.lists(
    st.tuples(st.text("abcé文", min_size=1, max_size=5), st.sampled_from(MARKS)),
    min_size=1,
    max_size=4,
)


@given(st.lists(words_of_a_segment, min_size=1, max_size=4))
def test_the_pieces_are_the_whole_text(segments: list[list[tuple[str, str]]]) -> None:
    transcript, pieces = Transcript(), []
    at, now_ms = 0, 0.0
    for index, segment in enumerate(segments):
        text, words = "", []
        for word, mark in segment:
            text += " "
            start = at + len(text)
            text += word
            words.append(Word(start, at + len(text), word, now_ms, now_ms + 100.0))
            text += mark
            now_ms += 100.0
        text += " "
        transcript.sent(text)
        started = SegmentStarted("c", index, at, at + len(text), text, words[0].start_ms)
        assert transcript.take(started) == []
        pieces += transcript.take(Words("c", "heads", tuple(words)))
        at += len(text)
    assert "".join(piece.text for piece in pieces) == transcript.text
    assert [piece.start_ms for piece in pieces] == [100.0 * n for n in range(len(pieces))]
    assert all(piece.text.strip() for piece in pieces)


def test_text_without_words_goes_with_the_next_word() -> None:
    transcript = Transcript()
    transcript.sent("[laugh] Hello! Bye")
    transcript.take(SegmentStarted("c", 0, 0, 8, "[laugh] ", 0.0))
    transcript.take(SegmentStarted("c", 1, 8, 15, "Hello! ", 300.0))
    found = transcript.take(Words("c", "heads", (Word(8, 14, "Hello!", 300.0, 700.0),)))
    assert found == [Piece("[laugh] Hello! ", 300.0, 700.0)]
    assert found[0].middle_ms == 500.0


def test_other_events_tell_no_words() -> None:
    assert Transcript().take(Flushed("c", None, 0.0)) == []


async def test_heard_text_ends_between_two_pieces() -> None:
    text = "Of course, let me say that again. And then (once more) as well. "
    async with gateway(FakeEngine()) as served, connect(served.url) as client:
        transcript = Transcript()
        speech = client.context(words=True, lead_ms=0, format={"codec": "pcm_s16le"})
        transcript.sent(text)
        await speech.send(text)
        await speech.end()
        pieces = [piece async for item in speech.events() for piece in transcript.take(item)]
        assert "".join(piece.text for piece in pieces) == text
        played_ms = pieces[5].middle_ms + 1.0
        answer = await speech.interrupt(played_ms)
        assert answer is not None
        assert answer.heard_text == "".join(p.text for p in pieces if p.middle_ms <= played_ms)
