"""The core against a simple model: anything, in any order, at any time.

The model only counts what every client may rely on: sequence numbers without gaps, times that do
not run back, exactly one end for each context, and silence after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from gateway.types import (
    Audio,
    Command,
    Configure,
    Configured,
    Done,
    Duck,
    End,
    Event,
    Failed,
    Flush,
    Flushed,
    Interrupt,
    Interrupted,
    Limits,
    Playback,
    Resume,
    SegmentStarted,
    SettingsPatch,
    Started,
    Text,
    Words,
)
from tests.gateway.fakes import FakeChain, FakeEngine, Harness, settings

IDS = ("a", "b", "c", "d")
ENDING = {"engine_failed", "overloaded", "internal", "unknown_voice"}  # as the fake engine fails
REFUSING = {
    "context_state",
    "unknown_context",
    "limit_exceeded",
    "invalid_text",
    "unknown_voice",
}
PIECES = ("Hello there. ", "a", " ", "~", "...", "How are you today. ", "boom. ", "3.14 ", "\0", "")


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

    def take(self, event: Event) -> None:
        context = getattr(event, "context", None)
        if context is None or isinstance(event, Configured):
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
                life.number, life.generation = event.number, event.generation
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
                life.answers.append(event)
                life.over = "interrupted"
            case Failed():
                assert event.code in REFUSING | ENDING
                if event.code in ENDING - REFUSING:
                    assert not life.over
                    life.over = "failed"


class Conversation(RuleBasedStateMachine):
    """Every rule is something a client, the engine or the network may do at any moment."""

    @initialize(
        frame_delay_ms=st.sampled_from([0.0, 5.0, 45.0]),
        abort_delay_ms=st.sampled_from([None, 0.0, 40.0, 400.0]),
        hold=st.sampled_from([0, 100]),
        lead_ms=st.sampled_from([0, 20, 300]),
        tokens=st.booleans(),
        contexts=st.sampled_from([1, 2, 8]),
    )
    def begin(
        self,
        frame_delay_ms: float,
        abort_delay_ms: float | None,
        hold: int,
        lead_ms: int,
        tokens: bool,
        contexts: int,
    ) -> None:
        self.h = Harness(
            FakeEngine(
                frame_delay_ms=frame_delay_ms,
                abort_delay_ms=abort_delay_ms,
                failures={"boom. ": "engine_failed"},
                fail_after=1,
                with_tokens=tokens,
            ),
            Limits(
                max_contexts=contexts,
                max_buffered_chars=80,
                max_context_chars=200,
                idle_timeout_ms=20_000,
            ),
            chain=lambda f, s: FakeChain(f, s, hold=hold),
            defaults=settings(lead_ms=lead_ms, words=True),
        )
        self.client = Client()
        self.seen = len(self.h.sent)

    def give(self, command: Command) -> None:
        known = self.h.session._roster.find(command.context or "")
        before = known.context.received_chars if known else 0
        self.h.session.receive(command, self.h.now_ms)
        self.note(command, known, before)
        self.h.collect()
        self.look()

    def note(self, command: Command, known: object, before: int) -> None:
        """Follow what a command opened or added, before its events are looked at."""
        utterance = self.h.session._roster.find(command.context or "")
        if utterance is None:
            return
        life = self.client.lives.get(utterance.id)
        if utterance is not known or life is None:
            life = self.client.lives[utterance.id] = Life(generation=utterance.generation)
            before = 0
        if isinstance(command, Text) and utterance.context.received_chars > before:
            life.text += command.text

    def look(self) -> None:
        for _, event in self.h.sent[self.seen :]:
            self.client.take(event)
        self.seen = len(self.h.sent)

    @rule(context=st.sampled_from(IDS), pieces=st.lists(st.sampled_from(PIECES), max_size=4))
    def text(self, context: str, pieces: list[str]) -> None:
        for piece in pieces:
            self.give(Text(context, piece))

    @rule(context=st.sampled_from(IDS), flush_id=st.none() | st.integers(0, 3))
    def flush(self, context: str, flush_id: int | None) -> None:
        self.give(Flush(context, flush_id))

    @rule(context=st.sampled_from(IDS))
    def end(self, context: str) -> None:
        self.give(End(context))

    @rule(
        context=st.none() | st.sampled_from(IDS),
        played_ms=st.none() | st.floats(0, 2000),
    )
    def interrupt(self, context: str | None, played_ms: float | None) -> None:
        self.give(Interrupt(context, played_ms))

    @rule(context=st.none() | st.sampled_from(IDS), gain=st.sampled_from([0.0, 0.3, 1.0]))
    def duck(self, context: str | None, gain: float) -> None:
        self.give(Duck(context, gain))

    @rule(context=st.none() | st.sampled_from(IDS))
    def resume(self, context: str | None) -> None:
        self.give(Resume(context))

    @rule(context=st.sampled_from(IDS), played_ms=st.floats(0, 3000))
    def playback(self, context: str, played_ms: float) -> None:
        self.give(Playback(context, played_ms))

    @rule(
        context=st.none() | st.sampled_from(IDS),
        lead_ms=st.sampled_from([None, 0, 100]),
        preempt=st.sampled_from([None, True, False]),
        voice=st.sampled_from([None, "other", "nobody"]),
    )
    def configure(
        self, context: str | None, lead_ms: int | None, preempt: bool | None, voice: str | None
    ) -> None:
        self.give(Configure(context, SettingsPatch(voice=voice, lead_ms=lead_ms, preempt=preempt)))

    @rule(writable=st.booleans())
    def set_writable(self, writable: bool) -> None:
        self.h.session.set_writable(writable, self.h.now_ms)
        self.h.collect()
        self.look()

    @rule(duration_ms=st.sampled_from([1.0, 7.0, 60.0, 700.0]))
    def wait(self, duration_ms: float) -> None:
        self.h.run(duration_ms)
        self.look()

    @rule(request=st.integers(0, 5), frame=st.integers(0, 3))
    def stray_report(self, request: int, frame: int) -> None:
        """The engine says something about a request that is over, or never was."""
        live = self.h.session._requests._live
        request_id = f"s-1.{request}"
        if request_id in live:
            return
        now_ms = self.h.now_ms
        self.h.session.engine_frames(request_id, frame, b"\0" * 2560, b"\0" * 6, (), now_ms)
        self.h.session.engine_finished(request_id, "stop", frame, 1, 1, now_ms)
        self.h.collect()
        self.look()

    @invariant()
    def nothing_is_leaked(self) -> None:
        if hasattr(self, "h"):
            self.h.session.check_integrity()
            assert len(self.h.session._roster._over) <= 8

    def teardown(self) -> None:
        """Left alone, every context comes to its end."""
        if not hasattr(self, "h"):
            return
        self.h.session.set_writable(True, self.h.now_ms)
        self.h.collect()
        self.h.run(3_000_000)
        self.look()
        assert not self.h.session._roster.queue
        assert not self.h.session._requests._live and not self.h.session._requests._aborting
        assert all(life.over for life in self.client.lives.values())
        assert self.h.session.next_deadline_ms() is None


def test_any_conversation() -> None:
    run_state_machine_as_test(
        Conversation,
        settings=hypothesis_settings(
            max_examples=60, stateful_step_count=40, deadline=None, derandomize=False
        ),
    )
