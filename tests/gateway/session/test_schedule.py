"""Who is served next, and how urgently."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gateway.session.schedule import choose, choose_unsent


@dataclass
class Speaker:
    name: str
    has_pending: bool = True
    is_making: bool = False
    unstarted_lines: int = 0
    wanting: bool = True

    def wants_more(self, now_ms: float) -> bool:
        return self.wanting


@pytest.mark.parametrize(
    ("speakers", "look_ahead", "chosen"),
    [
        ([], 1, None),
        ([Speaker("a")], 1, "a"),
        ([Speaker("a", is_making=True)], 1, None),  # lines are made one after another
        ([Speaker("a", unstarted_lines=1)], 1, None),  # one ahead is enough
        ([Speaker("a", unstarted_lines=1)], 2, "a"),
        ([Speaker("a", has_pending=False), Speaker("b")], 1, "b"),
        ([Speaker("a"), Speaker("b")], 1, "a"),  # in order of playing
        # What is ahead in the queue counts against those behind, never the other way round.
        ([Speaker("a", has_pending=False, unstarted_lines=1), Speaker("b")], 1, None),
        ([Speaker("a"), Speaker("b", has_pending=False, unstarted_lines=1)], 1, "a"),
        # The last line of the front one is being made and heard: the next may be made beside it.
        ([Speaker("a", has_pending=False, is_making=True), Speaker("b")], 1, "b"),
        ([Speaker("a", is_making=True), Speaker("b")], 1, None),
    ],
)
def test_choice(speakers: list[Speaker], look_ahead: int, chosen: str | None) -> None:
    found = choose(speakers, look_ahead)
    assert (found.name if found else None) == chosen


@pytest.mark.parametrize(
    ("speakers", "chosen"),
    [
        ([], None),
        ([Speaker("a", unstarted_lines=3)], "a"),  # none of them can start now
        ([Speaker("a", wanting=False), Speaker("b")], None),
        ([Speaker("a", is_making=True), Speaker("b")], None),
        ([Speaker("a", has_pending=False), Speaker("b")], "b"),
    ],
)
def test_choice_while_nothing_can_be_sent(speakers: list[Speaker], chosen: str | None) -> None:
    found = choose_unsent(speakers, 0.0)
    assert (found.name if found else None) == chosen
