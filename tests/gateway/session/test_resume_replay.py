"""What is kept of what was sent: the newest, bounded, and exactly what a client lacks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ResumeExpiredError
from gateway.session.resume import Replay
from gateway.types import Audio, Event, Failed, Word, Words


def packet(sequence: int, size: int) -> Audio:
    return Audio("a", 1, 0, sequence, 960 * sequence, bytes(size))


@given(
    sizes=st.lists(st.integers(0, 2000), max_size=60),
    received=st.integers(-1, 61),
    max_bytes=st.integers(1, 20_000),
)
def test_a_client_gets_what_it_lacks_or_a_refusal(
    sizes: list[int], received: int, max_bytes: int
) -> None:
    replay = Replay(max_bytes)
    events: list[Event] = [packet(i, size) for i, size in enumerate(sizes)]
    for event in events:
        replay.note(event)
        replay.check_integrity()
    first_kept = len(events) - len(replay)
    if first_kept <= received <= len(events):
        assert list(replay.since(received)) == events[received:]
    else:
        with pytest.raises(ResumeExpiredError, match=f"got {received}$"):
            replay.since(received)


def test_text_counts_too() -> None:
    replay = Replay(10_000)
    replay.note(packet(0, 100))
    replay.note(Failed("a", "invalid_text", "é" * 4600))
    assert len(replay) == 2
    replay.note(Words("a", (Word(0, 1, "x", 0.0, 1.0),) * 50, "heads"))
    assert len(replay) == 1
