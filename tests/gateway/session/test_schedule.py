"""Who is served next, and how urgently."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gateway.session.schedule import choose, choose_unsent


@dataclass
class Context:
    name: str
    has_pending: bool = True
    is_making: bool = False
    unstarted_lines: int = 0
    wanting: bool = True

    def wants_more(self, now_ms: float) -> bool:
        return self.wanting


@pytest.mark.parametrize(
    ("contexts", "look_ahead", "chosen"),
    [
        ([], 1, None),
        ([Context("a")], 1, "a"),
        ([Context("a", is_making=True)], 1, None),  # lines are made one after another
        ([Context("a", unstarted_lines=1)], 1, None),  # one ahead is enough
        ([Context("a", unstarted_lines=1)], 2, "a"),
        ([Context("a", has_pending=False), Context("b")], 1, "b"),
        ([Context("a"), Context("b")], 1, "a"),  # in order of playing
        # What is ahead in the queue counts against those behind, never the other way round.
        ([Context("a", has_pending=False, unstarted_lines=1), Context("b")], 1, None),
        ([Context("a"), Context("b", has_pending=False, unstarted_lines=1)], 1, "a"),
        # The last line of the front one is being made and heard: the next may be made beside it.
        ([Context("a", has_pending=False, is_making=True), Context("b")], 1, "b"),
        ([Context("a", is_making=True), Context("b")], 1, None),
    ],
)
def test_choice(contexts: list[Context], look_ahead: int, chosen: str | None) -> None:
    found = choose(contexts, look_ahead)
    assert (found.name if found else None) == chosen


@pytest.mark.parametrize(
    ("contexts", "chosen"),
    [
        ([], None),
        ([Context("a", unstarted_lines=3)], "a"),  # none of them can start now
        ([Context("a", wanting=False), Context("b")], None),
        ([Context("a", is_making=True), Context("b")], None),
        ([Context("a", has_pending=False), Context("b")], "b"),
    ],
)
def test_choice_while_nothing_can_be_sent(contexts: list[Context], chosen: str | None) -> None:
    found = choose_unsent(contexts, 0.0)
    assert (found.name if found else None) == chosen
