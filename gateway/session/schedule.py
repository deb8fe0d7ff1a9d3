"""Which segment the engine gets next.

Theory of operation. Contexts are played in the order of their opening, and inside a context lines
are made one after another. Work goes `look_ahead` lines beyond what is leaving: a segment is
submitted once everything submitted before it, in its own context and the ones before, has begun to
leave. So segment N+1 is made while N plays, an interrupt wastes little, and a context further back
never keeps one in front from being served, nor gets ahead of what waits there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class Scheduled(Protocol):
    """What the schedule must know of a context."""

    @property
    def has_pending(self) -> bool:
        """A segment waits to be submitted."""
        ...

    @property
    def is_making(self) -> bool:
        """The engine works on a line of it."""
        ...

    @property
    def unstarted_lines(self) -> int:
        """Lines submitted, none of whose sound has left."""
        ...

    def wants_more(self, now_ms: float) -> bool:
        """Less sound was made than may be sent ahead of the listener."""
        ...


ScheduledT = TypeVar("ScheduledT", bound=Scheduled)


def choose(contexts: Sequence[ScheduledT], look_ahead: int) -> ScheduledT | None:
    """The first context, in order of playing, whose next segment may be submitted."""
    unstarted = 0
    for context in contexts:
        unstarted += context.unstarted_lines
        if unstarted >= look_ahead:
            return None
        if context.has_pending:
            return None if context.is_making else context
    return None


def choose_unsent(contexts: Sequence[ScheduledT], now_ms: float) -> ScheduledT | None:
    """While nothing can be sent: the front context, until the lead it may have is made."""
    for context in contexts:
        if context.is_making or not context.wants_more(now_ms):
            return None
        if context.has_pending:
            return context
    return None
