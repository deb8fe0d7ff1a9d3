"""The utterances of one session: who is in the queue, who is over, which ids are spent.

An utterance that is over is kept for a while, because the listener may still be hearing it: an
interrupt then has an answer. Ids are remembered longer, because an LLM's late tokens for an
interrupted utterance must not open it again.
"""

from __future__ import annotations

from collections import OrderedDict

from gateway.errors import LimitExceededError
from gateway.utterance.context import State
from gateway.utterance.playout import Playout
from gateway.utterance.utterance import Utterance

KEPT_OVER = 8
REMEMBERED_IDS = 4096
LEAVING_FACTOR = 4


class Roster:
    """Allocates places for utterances and frees them. `queue` is in playing order."""

    def __init__(self, max_contexts: int) -> None:
        self.queue: list[Utterance] = []
        self._max = max_contexts
        self._over: OrderedDict[str, Utterance] = OrderedDict()
        self._spent: OrderedDict[str, int] = OrderedDict()  # id -> generation of a new life
        self._last_playout: Playout | None = None

    def find(self, context_id: str) -> Utterance | None:
        """The utterance of this id, live or over but not forgotten."""
        for utterance in self.queue:
            if utterance.id == context_id:
                return utterance
        return self._over.get(context_id)

    def is_forgotten(self, context_id: str) -> bool:
        """An utterance of this id has been, and only its id is remembered."""
        return context_id in self._spent and context_id not in self._over

    def clear(self) -> None:
        """The session is over."""
        self.queue.clear()
        self._over.clear()

    def generation(self, context_id: str) -> int:
        """How often the id was interrupted so far."""
        return self._spent.get(context_id, 0)

    @property
    def last_playout(self) -> Playout | None:
        """What a new utterance is played after."""
        return self.queue[-1].playout if self.queue else self._last_playout

    def over(self) -> list[Utterance]:
        """Those that are over and not forgotten, oldest first."""
        return list(self._over.values())

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
        self.queue.append(utterance)

    def retire(self) -> None:
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
        while len(self._over) > KEPT_OVER:
            self._over.popitem(last=False)
        while len(self._spent) > REMEMBERED_IDS:
            self._spent.popitem(last=False)

    def note_interrupted(self, utterance: Utterance) -> None:
        """An utterance that was already over has been interrupted: its id's next life is newer."""
        if utterance.id in self._over:
            self._spent[utterance.id] = utterance.generation + 1

    def check_integrity(self) -> None:
        """For tests: nobody is in two places, and nothing over is held in the queue."""
        ids = [utterance.id for utterance in self.queue]
        assert len(ids) == len(set(ids)) <= LEAVING_FACTOR * self._max
        assert not any(utterance.over for utterance in self.queue)
        assert not set(ids) & set(self._over)
        assert all(utterance.over for utterance in self._over.values())
        assert set(self._over) <= set(self._spent)
