"""What is drawn again, what leaves, and what is said when nothing helps."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest

from engine.errors import PromptError
from engine.host.guard import MOST_RETRIES, Attempt, Guard
from engine.host.holding import Holding
from engine.host.watch import Reading, Script
from engine.models.request_table import RowSettings
from engine.plugin.language import CodeStep

FRAME_MS = 50.0
TEXT = "The gateway accepts a stream of text and answers with speech."
LETTERS = len(TEXT)
GOOD = list(range(LETTERS))
SKIPS = [*range(12), *range(30, LETTERS)]
STALLS = [*range(12), *[12] * 80]
STOPS_EARLY = list(range(30))
GOES_ON = [*range(12), *[12] * 20, *range(13, LETTERS)]
RAMBLES = [*GOOD, *[LETTERS - 1] * 80]


@dataclass
class Model:
    """Answers each attempt with a script: the token of every frame of the text from the start."""

    scripts: list[list[int]]
    asked: list[Attempt] = field(default_factory=list)
    stopped: int = 0
    made: int = 0
    refuses: bool = False

    async def ask(self, attempt: Attempt) -> AsyncGenerator[CodeStep]:
        self.asked.append(attempt)
        script = self.scripts[min(attempt.number, len(self.scripts) - 1)]
        if self.refuses and attempt.number:
            raise PromptError("more than the KV cache holds")
        stopped = self.stopped
        for at in range(len(attempt.kept), len(script)):
            if self.stopped > stopped:
                yield self._step([], "abort")
                return
            yield self._step([at], None, script)
        yield self._step([], "stop")

    def _step(
        self, frames: Sequence[int], finish: str | None, script: Sequence[int] = ()
    ) -> CodeStep:
        codes = [at.to_bytes(2, "little") for at in frames]
        return CodeStep(codes, tuple(script[at] for at in frames), 40, 7, finish, 0)

    def stop(self) -> None:
        self.stopped += 1

    def count(self, frames: int) -> None:
        assert frames > 0
        self.made += frames


@dataclass
class Outcome:
    model: Model
    guard: Guard
    frames: list[int]
    tokens: list[int]
    finish: str | None


async def tell(*scripts: list[int], lead_ms: float = 1e9, refuses: bool = False) -> Outcome:
    model = Model(list(scripts), refuses=refuses)
    guard = Guard(
        model.ask,
        model.stop,
        model.count,
        Reading(Script.of(TEXT, [(at, at + 1) for at in range(LETTERS)]), FRAME_MS),
        Holding(FRAME_MS, lead_ms, 0.0),
        clock=lambda: 0.0,
    )
    frames: list[int] = []
    tokens: list[int] = []
    finishes = []
    async for step in guard.steps():
        frames += [int.from_bytes(codes, "little") for codes in step.codes]
        tokens += step.text_tokens
        finishes.append(step.finish)
        assert (step.prompt_tokens, step.cached_tokens) == (40, 7)
    assert finishes[:-1] == [None] * (len(finishes) - 1)
    assert frames == list(range(len(frames)))  # none lost, none twice
    return Outcome(model, guard, frames, tokens, finishes[-1])


async def test_a_good_reading_costs_one_request() -> None:
    told = await tell(GOOD)
    assert told.tokens == GOOD and told.finish == "stop"
    assert told.model.asked == [Attempt()] and not told.model.stopped
    assert told.model.made == LETTERS
    assert (told.guard.retries, told.guard.skipped_words) == (0, 0)


@pytest.mark.parametrize(
    ("faulty", "good"), [(SKIPS, GOOD), (STALLS, GOES_ON), (STOPS_EARLY, GOOD)]
)
async def test_a_fault_is_drawn_again_before_it_is_heard(
    faulty: list[int], good: list[int]
) -> None:
    told = await tell(faulty, good)
    assert told.finish == "stop"
    assert (told.guard.retries, told.guard.skipped_words) == (1, 0)
    assert len(told.model.asked) == 2
    kept = told.model.asked[1].kept
    assert 12 <= len(kept) <= 30
    assert told.tokens[len(kept) :] == good[len(kept) :]
    assert told.model.stopped == (faulty is not STOPS_EARLY)  # that one had ended


async def test_after_so_many_retries_what_was_skipped_is_told() -> None:
    told = await tell(SKIPS)
    assert told.finish == "stop" and told.tokens == SKIPS
    assert told.guard.retries == MOST_RETRIES
    assert told.guard.skipped_words == 3  # "accepts a stream"


async def test_a_stall_that_stays_is_cut_and_told() -> None:
    told = await tell(STALLS)
    assert told.finish == "length"
    assert len(told.frames) < 40
    assert told.guard.skipped_words == 8  # all but half of "accepts"


async def test_an_end_that_was_missed_is_made() -> None:
    told = await tell(RAMBLES)
    assert told.finish == "stop" and told.guard.retries == 0
    assert LETTERS <= len(told.frames) < LETTERS + 40


async def test_what_has_been_heard_is_not_drawn_again() -> None:
    told = await tell(SKIPS, GOOD, lead_ms=0.0)
    assert told.tokens[:12] == GOOD[:12]
    if told.guard.retries:  # the clock stands still: six frames leave, the others wait
        assert len(told.model.asked[1].kept) >= 6


async def test_a_skip_that_has_left_is_told() -> None:
    start = [0, *range(20, LETTERS)]
    told = await tell(start, GOOD, lead_ms=-1e9)  # every frame leaves at once
    assert told.finish == "stop" and told.guard.retries == 0
    assert told.guard.skipped_words >= 2


async def test_a_retry_that_is_refused_leaves_the_rest_unread() -> None:
    told = await tell(SKIPS, GOOD, refuses=True)
    assert told.finish == "length"
    assert told.tokens == GOOD[:12]
    assert told.guard.skipped_words == 9


async def test_a_first_request_that_is_refused_fails() -> None:
    class Refuses(Model):
        async def ask(self, attempt: Attempt) -> AsyncGenerator[CodeStep]:
            raise PromptError("too long")
            yield

    model = Refuses([])
    reading = Reading(Script.of(TEXT, [(0, 1)]), FRAME_MS)
    guard = Guard(model.ask, model.stop, model.count, reading, Holding(FRAME_MS, 0.0, 0.0))
    with pytest.raises(PromptError):
        _ = [step async for step in guard.steps()]


def test_each_retry_draws_otherwise_and_cooler() -> None:
    first = RowSettings(0.8, 0.6, 0.9, 30, seed=2**63 - 1, min_frames=0)
    tries = [Attempt(number).settings(first) for number in range(4)]
    assert tries[0] == first
    assert len({settings.seed for settings in tries}) == 4
    assert all(-(2**63) <= settings.seed < 2**63 for settings in tries)
    temperatures = [settings.temperature for settings in tries]
    assert temperatures == sorted(temperatures, reverse=True) and temperatures[-1] > 0
