"""A client that checks every event against what came before it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gateway.types import (
    Audio,
    Configured,
    Done,
    Event,
    Failed,
    Flushed,
    Interrupted,
    SegmentStarted,
    Started,
    Words,
)

ENDING = {"engine_failed", "overloaded", "internal", "unknown_voice"}  # as the fake engine fails
REFUSING = {
    "context_state",
    "unknown_context",
    "limit_exceeded",
    "invalid_text",
    "unknown_voice",
}


@dataclass
class Life:
    """One utterance as its client sees it."""

    text: str = ""
    number: int | None = None
    generation: int = 0
    next_sequence: int = 0
    next_timestamp: int = 0
    next_segment: int = 0
    word_end: int = 0
    word_at_ms: float = 0.0
    over: str | None = None
    answers: list[Interrupted] = field(default_factory=list)


class Client:
    """Checks every event against what came before it."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}
        self.numbers: set[int] = set()
        self.interrupts: Counter[str] = Counter()

    def open(self, context: str) -> Life:
        """A new life of this id; it becomes the latest."""
        self.lives.pop(context, None)
        self.lives[context] = Life(generation=self.interrupts[context])
        return self.lives[context]

    def take(self, event: Event) -> None:
        context = getattr(event, "context", None)
        if context is None:
            return
        if isinstance(event, Configured):
            if context not in self.lives or self.lives[context].over:
                self.open(context)
            return
        if isinstance(event, Failed) and context not in self.lives:
            assert event.code in REFUSING
            return
        life = self.lives[context]
        match event:
            case Started():
                assert life.number is None and not life.over
                assert event.number not in self.numbers
                self.numbers.add(event.number)
                assert event.generation == life.generation
                life.number = event.number
            case Audio():
                assert not life.over, "a frame after the end"
                assert (event.number, event.generation) == (life.number, life.generation)
                assert event.sequence == life.next_sequence
                assert event.timestamp_samples == life.next_timestamp
                life.next_sequence += 1
                life.next_timestamp += len(event.payload) // 4
            case SegmentStarted():
                assert not life.over and event.index == life.next_segment
                assert life.text[event.start : event.end] == event.text
                life.next_segment += 1
            case Words():
                assert not life.over
                for word in event.words:
                    assert life.word_end <= word.start < word.end
                    assert life.text[word.start : word.end] == word.text
                    assert life.word_at_ms <= word.start_ms <= word.end_ms
                    life.word_end, life.word_at_ms = word.end, word.end_ms
            case Flushed():
                assert not life.over
            case Done():
                assert not life.over
                life.over = "done"
                assert event.segments == life.next_segment
                assert abs(event.audio_ms - life.next_timestamp / 16) < 1e-6
            case Interrupted():
                assert event.heard_text + event.unspoken_text == life.text
                assert 0 <= event.heard_ms <= event.sent_ms + 1e-6
                assert life.over in (None, "done", "interrupted", "failed")
                assert not life.answers or life.answers[-1] == event
                assert event.generation == life.generation
                self.interrupts[context] = life.generation + 1
                life.answers.append(event)
                life.over = "interrupted"
            case Failed():
                assert event.code in REFUSING | ENDING
                if event.code in ENDING - REFUSING:
                    assert not life.over
                    life.over = "failed"
