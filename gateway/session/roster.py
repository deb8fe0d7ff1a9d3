"""The utterances of one session: who is in the queue, who is over, which ids are spent.

An utterance that is over is kept for a while, because the listener may still be hearing it: how an
interrupt is answered depends on when it comes. Of older ones that answer is kept, which has become
final. Ids are remembered longest, because an LLM's late tokens for an interrupted utterance must
not open it again.
"""

from __future__ import annotations

from collections import OrderedDict

from gateway.errors import LimitExceededError
from gateway.types import Interrupted
from gateway.utterance.context import State
from gateway.utterance.playout import Playout
from gateway.utterance.utterance import Utterance

KEPT_OVER = 8
KEPT_AUDIBLE = 64  # while the listener has not heard them
KEPT_ANSWER_CHARS = 100_000  # in all final answers together
REMEMBERED_IDS = 4096
LEAVING_FACTOR = 4


class Roster:
    """Allocates places for utterances and frees them. `queue` is in playing order.

    `independent`: they are played beside one another, not one after another.
    """

    def __init__(self, max_contexts: int, independent: bool = False) -> None:
        self.queue: list[Utterance] = []
        self.independent = independent
        self._max = max_contexts
        self._over: OrderedDict[str, Utterance] = OrderedDict()
        self._answers: OrderedDict[str, Interrupted] = OrderedDict()  # the final ones
        self._answer_chars = 0
        self._spent: OrderedDict[str, int] = OrderedDict()  # id -> generation of a new life
        self._last_playout: Playout | None = None

    def find(self, context_id: str) -> Utterance | None:
        """The utterance of this id, live or over but not forgotten."""
        for utterance in self.queue:
            if utterance.id == context_id:
                return utterance
        return self._over.get(context_id)

    def is_forgotten(self, context_id: str) -> bool:
        """An utterance of this id has been, and is kept no more."""
        return context_id in self._spent and context_id not in self._over

    def final_answer(self, context_id: str) -> Interrupted:
        """What an interrupt of a forgotten utterance is answered with.

        Without its texts and times where even these are forgotten.
        """
        answer = self._answers.get(context_id)
        if answer is not None:
            return answer
        generation = max(self._spent[context_id] - 1, 0)
        return Interrupted(context_id, generation, "", "", 0.0, 0.0, True, 0, ended=False)

    def lanes(self) -> list[list[Utterance]]:
        """Those with something to say, in playing order; lanes do not wait for each other."""
        speaking = [utterance for utterance in self.queue if utterance.speaking]
        return [[utterance] for utterance in speaking] if self.independent else [speaking]

    def clear(self) -> None:
        """The session is over."""
        self.queue.clear()
        self._over.clear()
        self._answers.clear()
        self._answer_chars = 0

    def generation(self, context_id: str) -> int:
        """How often the id was interrupted so far."""
        return self._spent.get(context_id, 0)

    @property
    def last_playout(self) -> Playout | None:
        """What a new utterance is played after."""
        if self.independent:
            return None
        return self.queue[-1].playout if self.queue else self._last_playout

    def over(self) -> list[Utterance]:
        """Those that are over and not forgotten, oldest first."""
        return list(self._over.values())

    def audible(self, now_ms: float) -> list[Utterance]:
        """Those that are over, and whose sound was sent and has not all been heard yet."""
        return [utterance for utterance in self._over.values() if _is_audible(utterance, now_ms)]

    def check_room(self, preempting: bool = False) -> None:
        """Raises LimitExceededError when no more utterances may be open.

        Those that are being interrupted are leaving and do not count, up to a point.
        """
        held = 0 if preempting else sum(utterance.speaking for utterance in self.queue)
        if held >= self._max or len(self.queue) >= LEAVING_FACTOR * self._max:
            raise LimitExceededError(
                f"context: expected at most {self._max} at a time, got one more"
            )

    def add(self, utterance: Utterance) -> None:
        """Put a new utterance at the end of the queue, when there is room."""
        self._over.pop(utterance.id, None)
        self._spent.pop(utterance.id, None)
        self._drop_answer(utterance.id)
        self.queue.append(utterance)

    def retire(self, now_ms: float) -> None:
        """Take those that are over out of the queue."""
        if not any(utterance.over for utterance in self.queue):
            return
        for utterance in self.queue:
            if not utterance.over:
                continue
            interrupted = utterance.context.state is State.INTERRUPTED
            self._over[utterance.id] = utterance
            self._spent[utterance.id] = utterance.generation + interrupted
            self._last_playout = utterance.playout
        self.queue = [utterance for utterance in self.queue if not utterance.over]
        self._forget(now_ms)

    def _forget(self, now_ms: float) -> None:
        while len(self._over) > KEPT_OVER:
            oldest = next(iter(self._over.values()))
            if _is_audible(oldest, now_ms) and len(self._over) <= KEPT_AUDIBLE:
                break
            self._over.popitem(last=False)
            answer = self._answers[oldest.id] = oldest.last_answer(now_ms)
            self._answer_chars += _text_chars(answer)
        while self._answer_chars > KEPT_ANSWER_CHARS:
            self._drop_answer(next(iter(self._answers)))
        while len(self._spent) > REMEMBERED_IDS:
            context_id, _ = self._spent.popitem(last=False)
            self._drop_answer(context_id)

    def _drop_answer(self, context_id: str) -> None:
        if (answer := self._answers.pop(context_id, None)) is not None:
            self._answer_chars -= _text_chars(answer)

    def note_interrupted(self, context_id: str, generation: int) -> None:
        """An utterance that was already over has been interrupted: its id's next life is newer."""
        if context_id in self._spent:
            self._spent[context_id] = generation + 1

    def check_integrity(self) -> None:
        """For tests: nobody is in two places, and nothing over is held in the queue."""
        ids = [utterance.id for utterance in self.queue]
        assert len(ids) == len(set(ids)) <= LEAVING_FACTOR * self._max
        assert not any(utterance.over for utterance in self.queue)
        assert not set(ids) & set(self._over)
        assert all(utterance.over for utterance in self._over.values())
        assert set(self._over) <= set(self._spent)
        assert len(self._over) <= KEPT_AUDIBLE
        assert set(self._answers) <= set(self._spent) - set(self._over)
        chars = sum(map(_text_chars, self._answers.values()))
        assert self._answer_chars == chars <= KEPT_ANSWER_CHARS


def _is_audible(utterance: Utterance, now_ms: float) -> bool:
    playout = utterance.playout
    if utterance.context.state is State.INTERRUPTED or not playout.sent_ms:
        return False
    return playout.end_at_ms() > now_ms


def _text_chars(answer: Interrupted) -> int:
    return len(answer.heard_text) + len(answer.unspoken_text)
