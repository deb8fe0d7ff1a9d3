"""Places for utterances, and the memory of those that are over."""

from __future__ import annotations

import itertools

import pytest

from gateway.errors import LimitExceededError
from gateway.session.roster import KEPT_OVER, LEAVING_FACTOR, Roster
from gateway.types import ContextSettings, Effect, Limits
from gateway.utterance.context import State
from gateway.utterance.faded_tail import FadedTail
from gateway.utterance.history import Prosody
from gateway.utterance.shared import Shared
from gateway.utterance.utterance import Utterance
from gateway.utterance.word_times import SpeechRate
from tests.gateway.fake_parts import FACTS, FakeChain, FakeSegmenter

EFFECTS: list[Effect] = []
SHARED = Shared(
    session_id="s",
    facts=FACTS,
    limits=Limits(),
    chains=FakeChain,
    segmenters=FakeSegmenter,
    prosody=Prosody(),
    faded_tail=FadedTail(),
    rate=SpeechRate(),
    emit=EFFECTS.append,
    next_number=itertools.count(1).__next__,
    next_request_id=lambda: "r",
)


def utterance(name: str, roster: Roster) -> Utterance:
    made = Utterance(
        name, ContextSettings(), roster.generation(name), roster.last_playout, SHARED, 0.0
    )
    roster.add(made)
    roster.check_integrity()
    return made


def finish(made: Utterance, roster: Roster, state: State = State.DONE) -> None:
    made.context.state = state
    roster.retire(0.0)
    roster.check_integrity()


def test_a_full_roster_refuses_and_has_room_when_one_is_over() -> None:
    roster = Roster(2)
    first, _ = utterance("a", roster), utterance("b", roster)
    with pytest.raises(LimitExceededError, match="at most 2"):
        roster.check_room()
    roster.check_room(preempting=True)
    finish(first, roster)
    roster.check_room()


def test_those_that_are_leaving_do_not_count_up_to_a_point() -> None:
    roster = Roster(1)
    for i in range(LEAVING_FACTOR):
        roster.check_room()
        utterance(str(i), roster).context.state = State.INTERRUPTING
    with pytest.raises(LimitExceededError):
        roster.check_room()
    with pytest.raises(LimitExceededError):
        roster.check_room(preempting=True)


def test_what_is_over_can_be_found_until_it_is_forgotten() -> None:
    roster = Roster(1)
    for i in range(KEPT_OVER + 3):
        finish(utterance(str(i), roster), roster)
    assert roster.find("0") is None and roster.is_forgotten("0")
    assert roster.find("10") is not None and not roster.is_forgotten("10")
    assert not roster.is_forgotten("never")
    assert [u.id for u in roster.over()] == [str(i) for i in range(3, 11)]


def test_every_interrupt_makes_the_ids_next_life_newer() -> None:
    roster = Roster(1)
    for expected in range(3):
        made = utterance("a", roster)
        assert made.generation == expected
        finish(made, roster, State.INTERRUPTED)
    made = utterance("a", roster)
    finish(made, roster)
    assert roster.generation("a") == 3  # done, not interrupted
    roster.note_interrupted(made.id, made.generation)
    assert roster.generation("a") == 4


def test_playing_order_goes_through_those_that_are_over() -> None:
    roster = Roster(2)
    assert roster.last_playout is None
    first = utterance("a", roster)
    assert roster.last_playout is first.playout
    finish(first, roster)
    assert roster.last_playout is first.playout
    second = utterance("b", roster)
    assert roster.last_playout is second.playout
    roster.clear()
    assert roster.find("a") is None and roster.queue == []
