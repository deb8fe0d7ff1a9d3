"""One utterance: its transition table, and the text that came for it.

Theory of operation. A context is configured or opened by its first text, takes text until `end`,
is drained, and is then over. Being over has three kinds: all of it was sent (DONE; the listener
may still be hearing it, so an interrupt still has an answer), it was interrupted, or it failed.
`TRANSITIONS` is the whole truth about what is legal when; a missing entry is the peer's error.
Text is cut into segments here and waits in `pending`; how it becomes sound is `lines.py`.

To cut text costs up to 30 microseconds a character, and all sessions share one thread. So what has
come waits to be read, a call of `read` takes in a bounded part of it, and the rest is read in later
turns of the loop, between which others are served. A flush and the end wait their turn in the same
queue.
"""

from __future__ import annotations

import enum
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.errors import ContextStateError
from gateway.types import (
    ContextSettings,
    SegmenterFactory,
    SegmenterLike,
    SegmentLike,
    SettingsPatch,
)


class State(enum.Enum):
    """Where a context is in its life."""

    __hash__ = object.__hash__  # enum's own takes ten times as long, and is asked for every packet

    IDLE = "configured"  # no text yet
    OPEN = "open"  # text may come
    ENDED = "ended"  # no more text; the rest is being spoken
    FAILING = "failing"  # the engine failed; what was made before is being sent
    DONE = "done"
    INTERRUPTING = "being interrupted"  # waiting for the engine's confirmation
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Trigger(enum.Enum):
    """What moves a context: commands of the peer, and happenings of our own."""

    CONFIGURE = "configure"
    TEXT = "text"
    FLUSH = "flush"
    END = "end"
    INTERRUPT = "interrupt"
    DUCK = "duck"
    RESUME = "resume"
    PLAYBACK = "playback"
    DRAINED = "drained"  # ours: the last packet has left
    BROKEN = "broken"  # ours: the engine failed a segment
    SILENCED = "silenced"  # ours: the interrupt is complete


OVER = frozenset({State.DONE, State.INTERRUPTED, State.FAILED})
SPEAKING = frozenset({State.IDLE, State.OPEN, State.ENDED, State.FAILING})

_ALWAYS = {Trigger.DUCK, Trigger.RESUME, Trigger.PLAYBACK}


def _stay(state: State, *triggers: Trigger) -> dict[Trigger, State]:
    return dict.fromkeys((*_ALWAYS, *triggers), state)


TRANSITIONS: dict[State, dict[Trigger, State]] = {
    State.IDLE: {
        **_stay(State.IDLE, Trigger.CONFIGURE, Trigger.FLUSH),
        Trigger.TEXT: State.OPEN,
        Trigger.END: State.ENDED,
        Trigger.INTERRUPT: State.INTERRUPTING,
    },
    State.OPEN: {
        **_stay(State.OPEN, Trigger.CONFIGURE, Trigger.FLUSH, Trigger.TEXT),
        Trigger.END: State.ENDED,
        Trigger.INTERRUPT: State.INTERRUPTING,
        Trigger.BROKEN: State.FAILING,
    },
    State.ENDED: {
        **_stay(State.ENDED, Trigger.CONFIGURE, Trigger.FLUSH, Trigger.END),
        Trigger.INTERRUPT: State.INTERRUPTING,
        Trigger.DRAINED: State.DONE,
        Trigger.BROKEN: State.FAILING,
    },
    State.FAILING: {
        **_stay(State.FAILING, Trigger.END),
        Trigger.INTERRUPT: State.INTERRUPTING,
        Trigger.DRAINED: State.FAILED,
    },
    State.INTERRUPTING: {
        **_stay(State.INTERRUPTING, Trigger.END, Trigger.INTERRUPT),
        Trigger.SILENCED: State.INTERRUPTED,
    },
    State.DONE: {
        **_stay(State.DONE, Trigger.END),
        Trigger.INTERRUPT: State.INTERRUPTING,
    },
    State.INTERRUPTED: _stay(State.INTERRUPTED, Trigger.END, Trigger.INTERRUPT),
    State.FAILED: {
        **_stay(State.FAILED, Trigger.END),
        Trigger.INTERRUPT: State.INTERRUPTING,
    },
}


# The segmenter and the encoder are made with these: fixed once text has come.
_FIXED_BY_TEXT = (
    "format",
    "segment_mode",
    "max_buffer_delay_ms",
    "speakable",
    "normalize",
    "language",
    "style",
    "speak_thoughts",
    "speak_directions",
    "pronunciations",
)


READ_CHARS = 256  # in one turn of the loop
PIECE_CHARS = 64
SEGMENT_CHARS = 8  # so many characters cost as much as giving out a segment


@dataclass(frozen=True, slots=True)
class FlushMark:
    """A flush waits for everything before segment `ordinal`."""

    flush_id: int | str | None
    ordinal: int


@dataclass(frozen=True, slots=True)
class _FlushHere:
    """A flush among the pieces of text that were not read."""

    flush_id: int | str | None


class Context:
    """State and text of one utterance. What the table forbids raises and changes nothing."""

    def __init__(
        self,
        context_id: str,
        settings: ContextSettings,
        segmenters: SegmenterFactory,
        now_ms: float,
    ) -> None:
        self.id = context_id
        self.state = State.IDLE
        self.settings = settings
        self.pending: deque[SegmentLike] = deque()  # cut, not yet given to the engine
        self.received_chars = 0
        self.taken_chars = 0  # up to the end of the last segment that left `pending`
        self.segments_cut = 0
        self.flushes: deque[FlushMark] = deque()  # read, and not yet taken by the sending side
        self.text_dropped = False  # some of it will never be spoken
        self.touched_at_ms = now_ms
        self.text_since_ms: float | None = None  # when the first segment was ready
        self._segmenters = segmenters
        self._segmenter: SegmenterLike | None = None
        self._pieces: list[str] = []
        self._unread: deque[str | _FlushHere] = deque()
        self._unread_from = 0  # in the first of them
        self._ink_chars = 0  # received, up to the last one that is not blank
        self._cut_chars = 0  # up to the end of the last segment
        self._marks: deque[tuple[int, int | str]] = deque()  # where they stand, and their ids

    def __str__(self) -> str:
        return f"context {self.id} ({self.state.value}, {self.received_chars} characters)"

    @property
    def text(self) -> str:
        """All text received so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def buffered_chars(self) -> int:
        """Characters received that no engine request has yet."""
        return self.received_chars - self.taken_chars

    @property
    def text_complete(self) -> bool:
        """No more segments will be cut."""
        return self._ended and not self._unread

    @property
    def has_unread(self) -> bool:
        """Some of what came waits for a later turn of the loop."""
        return bool(self._unread)

    @property
    def _ended(self) -> bool:
        return self.state not in (State.IDLE, State.OPEN)

    def check(self, trigger: Trigger) -> State:
        """Return the state that follows. Raises ContextStateError where the table has none."""
        try:
            return TRANSITIONS[self.state][trigger]
        except KeyError:
            legal = ", ".join(t.value for t in TRANSITIONS[self.state] if t in _COMMANDS)
            hint = "; configure opens it anew" if self.state in OVER else ""
            raise ContextStateError(
                f"context {self.id}: expected {legal} while it is {self.state.value}{hint},"
                f" got {trigger.value}"
            ) from None

    def move(self, trigger: Trigger) -> None:
        """Take the transition. Raises ContextStateError where the table has none."""
        self.state = self.check(trigger)

    def check_text(self) -> None:
        """Raises ContextStateError when no text may come."""
        self.check(Trigger.TEXT)

    def configure(self, patch: SettingsPatch) -> None:
        """Change settings. What the sound depends on is fixed once text has come."""
        settings = patch.over(self.settings)
        after = self.check(Trigger.CONFIGURE)
        if self.received_chars:
            for name in _FIXED_BY_TEXT:
                if getattr(settings, name) != getattr(self.settings, name):
                    raise ContextStateError(
                        f"{name}: expected no change after the first text of context {self.id}"
                    )
        self.settings, self.state = settings, after

    def push(self, text: str, lead_ms: float, now_ms: float) -> None:
        """Take a piece of text. `lead_ms`: how long the listener can wait for the next segment."""
        self.move(Trigger.TEXT)
        self._pieces.append(text)
        if ink := len(text.rstrip()):
            self._ink_chars = self.received_chars + ink
        self.received_chars += len(text)
        if self._segmenter is None:
            self._segmenter = self._segmenters(self.settings)
        self._unread.append(text)
        self.read(lead_ms, now_ms)

    def flush(self, flush_id: int | str | None, lead_ms: float, now_ms: float) -> None:
        """Cut what is buffered. `flushes` tells when that was read."""
        self.move(Trigger.FLUSH)
        self._unread.append(_FlushHere(flush_id))
        self.read(lead_ms, now_ms)

    def mark(self, mark_id: int | str) -> None:
        """As a flush, but it waits until the text so far is cut by itself."""
        self.move(Trigger.FLUSH)
        self._marks.append((self._ink_chars, mark_id))
        self._pass_marks()

    def _pass_marks(self) -> None:
        while self._marks and (self._marks[0][0] <= self._cut_chars or self.text_complete):
            self.flushes.append(FlushMark(self._marks.popleft()[1], self.segments_cut))

    def end(self, lead_ms: float, now_ms: float) -> None:
        """No more text."""
        self.move(Trigger.END)
        self.read(lead_ms, now_ms)

    def read(self, lead_ms: float, now_ms: float) -> None:
        """Cut some of what has come. `lead_ms`: as for `push`."""
        if self._segmenter is not None:
            self._segmenter.set_lead_ms(lead_ms)
        left = READ_CHARS
        while self._unread and left > 0:
            head = self._unread[0]
            if isinstance(head, _FlushHere):
                self._unread.popleft()
                left -= self._cut_rest(now_ms)
                self.flushes.append(FlushMark(head.flush_id, self.segments_cut))
                continue
            piece = head[self._unread_from : self._unread_from + PIECE_CHARS]
            self._unread_from += len(piece)
            if self._unread_from == len(head):
                self._unread.popleft()
                self._unread_from = 0
            if self._segmenter is not None:
                left -= len(piece) + self._add(self._segmenter.push(piece, now_ms), now_ms)
        if self.text_complete:
            self._cut_rest(now_ms)
            self._segmenter = None

    def tick(self, lead_ms: float, now_ms: float) -> None:
        """Read on, or cut what has waited for an end mark too long."""
        if self._unread:
            self.read(lead_ms, now_ms)
        elif self._segmenter is not None:
            self._segmenter.set_lead_ms(lead_ms)
            self._add(self._segmenter.tick(now_ms), now_ms)

    def next_deadline_ms(self) -> float | None:
        """When `tick` may have something to do."""
        if self._unread:
            return -math.inf
        return None if self._segmenter is None else self._segmenter.next_deadline_ms()

    def take(self) -> SegmentLike:
        """Remove the next segment from `pending`."""
        segment = self.pending.popleft()
        self.taken_chars = segment.end
        return segment

    def restore(self, segment: SegmentLike) -> None:
        """Undo `take`."""
        self.pending.appendleft(segment)
        self.taken_chars = segment.start

    def drop_text(self) -> None:
        """Nothing that waits will be spoken."""
        self.pending.clear()
        self._unread.clear()
        self._unread_from = 0
        self.flushes.clear()
        self.text_dropped = True
        self.taken_chars = self.received_chars
        self._segmenter = None

    def _cut_rest(self, now_ms: float) -> int:
        return 0 if self._segmenter is None else self._add(self._segmenter.flush(), now_ms)

    def _add(self, segments: Sequence[SegmentLike], now_ms: float) -> int:
        """Returns what it cost, in characters."""
        if segments and self.text_since_ms is None:
            self.text_since_ms = now_ms
        self.pending.extend(segments)
        self.segments_cut += len(segments)
        if segments:
            self._cut_chars = segments[-1].end
            self._pass_marks()
        return SEGMENT_CHARS * len(segments)


_COMMANDS = frozenset(Trigger) - {Trigger.DRAINED, Trigger.BROKEN, Trigger.SILENCED}
