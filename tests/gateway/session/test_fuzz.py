"""The core against a simple model: anything, in any order, at any time.

The model only counts what every client may rely on: sequence numbers without gaps, times that do
not run back, exactly one end for each context, and silence after it.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from gateway.audio import make_chain
from gateway.text.segment import segmenter_for
from gateway.types import (
    AudioFormat,
    Codec,
    Command,
    Configure,
    Duck,
    End,
    Finished,
    Flush,
    Frames,
    Interrupt,
    Limits,
    Playback,
    Resume,
    SettingsPatch,
    Text,
)
from tests.gateway.fake_parts import FACTS, PCM, FakeChain, FakeSegmenter
from tests.gateway.fakes import FakeEngine, Harness, settings
from tests.gateway.model_client import Client

IDS = ("a", "b", "c", "d")
LATEST = "latest"  # stands for the context that was opened last
SOME = st.sampled_from((*IDS, LATEST, LATEST, LATEST, LATEST))
SENTENCES = ("Hello there. ", "How are you today. ", "boom. ", "All is well here. ")
PIECES = ("Hello there. ", "a", " ", "~", "...", "How are you today. ", "boom. ", "3.14 ", "\0", "")


class Conversation(RuleBasedStateMachine):
    """Every rule is something a client, the engine or the network may do at any moment."""

    FORMAT = PCM  # four bytes a sample, whichever chain it is
    SEGMENTERS: Any = staticmethod(FakeSegmenter)

    def chain(self, hold: int) -> Any:
        return lambda f, s: FakeChain(f, s, hold=hold)

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
                max_buffered_chars=120,
                max_context_chars=400,
                idle_timeout_ms=20_000,
            ),
            chain=self.chain(hold),
            defaults=settings(lead_ms=lead_ms, words=True, format=self.FORMAT),
            segmenter_factory=self.SEGMENTERS,
        )
        self.client = Client()
        self.seen = len(self.h.sent)

    def give(self, command: Command) -> None:
        if command.context == LATEST:
            command = msgspec.structs.replace(
                command, context=next(reversed(self.client.lives), "a")
            )
        before = self.received(command)
        self.h.session.receive((command,), self.h.now_ms)
        if isinstance(command, Text | End) and self.received(command) != before:
            life = self.client.lives.get(command.context) or self.client.open(command.context)
            life.text += command.text if isinstance(command, Text) else ""
        self.h.collect()
        self.look()

    def received(self, command: Command) -> tuple[object, int] | None:
        """Whom a text is for, and how much it has: to see whether a text was taken."""
        utterance = self.h.session._roster.find(command.context or "")
        return (utterance, utterance.context.received_chars) if utterance else None

    def look(self) -> None:
        for _, event in self.h.sent[self.seen :]:
            self.client.take(event)
        self.seen = len(self.h.sent)

    @rule(
        context=st.sampled_from(IDS),
        sentences=st.integers(1, 4),
        ended=st.booleans(),
        wait_ms=st.sampled_from([0.0, 30.0, 150.0, 600.0]),
    )
    def speak(self, context: str, sentences: int, ended: bool, wait_ms: float) -> None:
        for i in range(sentences):
            self.give(Text(context, SENTENCES[i]))
        if ended:
            self.give(End(context))
        self.wait(wait_ms)

    @rule(context=SOME, pieces=st.lists(st.sampled_from(PIECES), max_size=4))
    def text(self, context: str, pieces: list[str]) -> None:
        for piece in pieces:
            self.give(Text(context, piece))

    @rule(context=SOME, flush_id=st.none() | st.integers(0, 3))
    def flush(self, context: str, flush_id: int | None) -> None:
        self.give(Flush(context, flush_id))

    @rule(context=SOME)
    def end(self, context: str) -> None:
        self.give(End(context))

    @rule(
        context=st.none() | SOME,
        played_ms=st.none() | st.floats(0, 2000),
    )
    def interrupt(self, context: str | None, played_ms: float | None) -> None:
        self.give(Interrupt(context, played_ms))

    @rule(context=st.none() | SOME, gain=st.sampled_from([0.0, 0.3, 1.0]))
    def duck(self, context: str | None, gain: float) -> None:
        self.give(Duck(context, gain))

    @rule(context=st.none() | SOME)
    def resume(self, context: str | None) -> None:
        self.give(Resume(context))

    @rule(context=SOME, played_ms=st.floats(0, 3000))
    def playback(self, context: str, played_ms: float) -> None:
        self.give(Playback(context, played_ms))

    @rule(
        context=st.none() | SOME,
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
        self.h.session.report(Frames(request_id, frame, b"\0" * 2560, b"\0" * 6, ()), now_ms)
        self.h.session.report(Finished(request_id, "stop", frame, 1, 1), now_ms)
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


class RealConversation(Conversation):
    """The same with the real segmenter and the real audio chain."""

    FORMAT = AudioFormat(Codec.PCM_F32LE, PCM.sample_rate_hz, PCM.frame_ms)
    SEGMENTERS: Any = staticmethod(segmenter_for)

    def chain(self, hold: int) -> Any:
        return lambda f, s: make_chain(f, FACTS.sample_rate_hz, s)


@pytest.mark.parametrize(("machine", "examples"), [(Conversation, 150), (RealConversation, 60)])
def test_any_conversation(machine: type[Conversation], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=hypothesis_settings(max_examples=examples, stateful_step_count=40, deadline=None),
    )
