"""One client's conversation: commands and engine reports in, effects out, no clock of its own.

Theory of operation. Utterances stand in a queue in the order of their opening. Every call does its
own small thing and then settles: submit what may be submitted, send what is due, until neither
changes anything. The shell performs the `effects`, tells the time, calls `tick` when
`next_deadline_ms` has come, and hands back what the engine says about each request. In a session
of independent contexts each utterance is a queue of its own. A session
with a `resume_token` outlives its connection for a while: see `resume.py`.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from gateway.errors import ClientError, OverloadedError, ResumeExpiredError
from gateway.session.commands import Commands
from gateway.session.requests import Requests
from gateway.session.resume import ResumeWindow, rewind
from gateway.session.roster import Roster
from gateway.session.schedule import choose, choose_unsent
from gateway.text.segment import segmenter_for
from gateway.types import (
    Abort,
    Aborted,
    ChainFactory,
    Command,
    Effect,
    EngineFacts,
    EngineReport,
    Event,
    Failed,
    Finished,
    Frames,
    Hello,
    Limits,
    RequestFailed,
    SegmenterFactory,
    Send,
    TextTokens,
)
from gateway.utterance.faded_tail import FadedTail
from gateway.utterance.history import Prosody
from gateway.utterance.shared import Shared
from gateway.utterance.utterance import Utterance
from gateway.utterance.word_times import SpeechRate

BURST_EVENTS = 32  # then the shell gets to send them: the socket may take no more


class Session:
    """See the module. All times are in ms on any one monotonic clock."""

    def __init__(
        self,
        session_id: str,
        engine: EngineFacts,
        limits: Limits,
        chain_factory: ChainFactory,
        now_ms: float,
        segmenter_factory: SegmenterFactory = segmenter_for,
        resume_token: str | None = None,
        independent_contexts: bool = False,
    ) -> None:
        self.id = session_id
        self._limits = limits
        self._engine = engine
        self._resume_window = ResumeWindow(limits, resume_token)
        self._effects: list[Effect] = []
        self._unsent = 0  # events in them
        self._writable = True
        self._cut_short = False  # more could be sent at once
        self._closed = False
        numbers, request_numbers = itertools.count(1), itertools.count(1)
        shared = Shared(
            session_id=session_id,
            facts=engine,
            limits=limits,
            chains=chain_factory,
            segmenters=segmenter_factory,
            rate=SpeechRate(),
            prosody=Prosody(),
            faded_tail=FadedTail(),
            emit=self._emit,
            next_number=lambda: next(numbers),
            next_request_id=lambda: f"{session_id}.{next(request_numbers)}",
        )
        self._roster = Roster(limits.max_contexts, independent_contexts)
        self._requests = Requests(self._effects.append)
        self._commands = Commands(shared, self._roster, self._requests)
        self._effects.append(Send((self._greeting(resumed=False),)))  # not counted, never replayed

    def __str__(self) -> str:
        return f"session {self.id} ({', '.join(str(u.context) for u in self._roster.queue)})"

    def receive(self, commands: Sequence[Command], now_ms: float) -> None:
        """Obey the commands of one message.

        What is wrong with one becomes a `Failed` event, changes nothing, and ends the message.
        """
        if self._closed:
            return
        self._resume_window.received += 1
        for command in commands:
            try:
                self._commands.obey(command, now_ms)
            except ClientError as error:
                self._emit(Send((Failed(command.context, error.code, str(error)),)))
                break
        self._settle(now_ms)

    def refuse(self, error: ClientError) -> None:
        """Answer a message that was no command."""
        self._resume_window.received += 1
        self._emit(Send((Failed(error.context, error.code, str(error)),)))

    # --- the engine ---

    def report(self, event: EngineReport, now_ms: float) -> None:
        """What the engine says of a request. About one that is over it changes nothing."""
        match event:
            case Frames():
                self._touch(event.request_id, now_ms)
                if not self._requests.frames(event):
                    return
            case TextTokens():
                self._requests.text_tokens(event)
                return
            case Finished():
                self._touch(event.request_id, now_ms)
                self._requests.finished(event)
            case RequestFailed(request_id=request_id, code=code):
                if code != OverloadedError.code or not self._requests.refused(request_id, now_ms):
                    self._requests.fail(request_id, code, event.message)
            case Aborted():
                self._requests.aborted(event)
        self._settle(now_ms)

    def dry_at_ms(self, request_id: str, now_ms: float) -> float:
        """When the listener will have heard all there is: sound of a request is urgent then."""
        utterance = self._requests.owner(request_id)
        return now_ms if utterance is None else now_ms + utterance.lead_ms(now_ms)

    # --- time, and the shell ---

    def tick(self, now_ms: float) -> None:
        """Do what the time asks for."""
        if (until_ms := self._resume_window.until_ms) is not None and until_ms <= now_ms:
            self.end()
        for utterance in tuple(self._roster.queue):
            utterance.tick(now_ms)
            if utterance.idle_at_ms() <= now_ms:
                self._reap(utterance, now_ms)
        self._requests.expire(now_ms)
        self._settle(now_ms)

    def next_deadline_ms(self) -> float | None:
        """When `tick` is wanted next; it may lie in the past."""
        if self._closed:
            return None
        deadlines = self._requests.deadlines_ms()
        if (until_ms := self._resume_window.until_ms) is not None:
            deadlines.append(until_ms)
        sending = self._sending
        if sending and self._cut_short:
            return 0.0
        for utterance in self._roster.queue:
            deadlines += utterance.deadlines_ms(sending and utterance.speaking)
            if utterance.speaking and not self._roster.independent:
                sending = False  # only the front one sends
        return max(min(deadlines), 0.0) if deadlines else None

    def set_writable(self, writable: bool, now_ms: float) -> None:
        """Whether the socket takes more. While it does not, nothing is encoded or sent."""
        self._writable = writable
        self._settle(now_ms)

    def disconnected(self, now_ms: float) -> None:
        """The socket is gone: wait for the client, or stop all work. Idempotent."""
        if self._closed or self._resume_window.begin(now_ms):
            self._settle(now_ms)
            return
        self.end()

    def resume(self, received: int, now_ms: float) -> tuple[Event, ...]:
        """The client is back on a new socket, and has received so many messages on earlier ones.

        Returns what it is told before any further effect: the greeting, and what it lacks. Raises
        ResumeExpiredError, and has changed nothing.
        """
        if self._closed:
            raise ResumeExpiredError("expected a session that is not over, got one that is")
        missing = self._resume_window.end(received)
        rewind(self._roster.queue + self._roster.over(), missing, now_ms)
        self._writable = True
        self._settle(now_ms)
        return (self._greeting(resumed=True), *missing)

    @property
    def closed(self) -> bool:
        """All work was stopped: nothing will ever follow."""
        return self._closed

    def end(self) -> None:
        """Stop all work. Idempotent."""
        self._effects[:] = [effect for effect in self._effects if isinstance(effect, Abort)]
        self._requests.abort_all()
        self._roster.clear()
        self._closed = True

    def effects(self) -> list[Effect]:
        """What is to be done, in order. Each effect is returned once."""
        drained = list(self._effects)
        self._effects.clear()
        self._unsent = 0
        return drained

    def check_integrity(self) -> None:
        """For tests: nothing is leaked, forgotten, or in two places."""
        self._roster.check_integrity()
        self._requests.check_integrity(self._roster.queue)
        self._resume_window.check_integrity()

    # --- inside ---

    def _emit(self, effect: Effect) -> None:
        self._effects.append(effect)
        if isinstance(effect, Send):
            self._unsent += len(effect.events)
            self._resume_window.note(effect.events)

    def _greeting(self, resumed: bool) -> Hello:
        facts = dataclasses.asdict(self._engine)
        voices = facts.pop("voices")
        return Hello(
            session=self.id,
            voices=voices,
            limits=self._limits.published(),
            engine=facts,
            resume_token=self._resume_window.token,
            resumed=resumed,
            received=self._resume_window.received,
        )

    @property
    def _sending(self) -> bool:
        return self._writable and not self._resume_window.active

    def _touch(self, request_id: str, now_ms: float) -> None:
        if (utterance := self._requests.owner(request_id)) is not None:
            utterance.context.touched_at_ms = now_ms

    def _reap(self, utterance: Utterance, now_ms: float) -> None:
        """Neither the client nor the engine has cared for this utterance for long."""
        making = utterance.lines.making
        if making is not None:
            self._requests.fail(making.request_id, "engine_failed", "no sound", stop=True)
        elif utterance.context.text_complete:
            self._commands.interrupt(utterance, None, now_ms)
        else:
            utterance.end(now_ms)
        utterance.context.touched_at_ms = now_ms

    def _settle(self, now_ms: float) -> None:
        changed = not self._closed
        self._cut_short = False
        while changed:
            self._roster.retire(now_ms)
            changed = self._submit(now_ms)
            if self._sending and not self._cut_short:
                changed = self._pump(now_ms) or changed
                self._cut_short = changed and self._unsent >= BURST_EVENTS

    def _submit(self, now_ms: float) -> bool:
        for lane in self._roster.lanes():
            utterance = choose(lane, self._limits.look_ahead_segments)
            if utterance is None and self._resume_window.active:
                utterance = choose_unsent(lane, now_ms)
            if utterance is not None:
                request_id = utterance.submit(now_ms)
                if request_id is not None:
                    self._requests.add(request_id, utterance)
                return True
        return False

    def _pump(self, now_ms: float) -> bool:
        changed = False
        for lane in self._roster.lanes():
            if lane:
                changed = lane[0].pump(now_ms) or changed
        return changed
