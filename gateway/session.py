"""One client's conversation: commands and engine reports in, effects out, no clock of its own.

Theory of operation. Utterances stand in a queue in the order of their opening. Every call does its
own small thing and then settles: submit what may be submitted, send what is due, until neither
changes anything. The shell performs the `effects`, tells the time, calls `tick` when
`next_deadline_ms` has come, and hands back what the engine says about each request. Reports about
requests that were dropped are late by definition and change nothing.
"""

from __future__ import annotations

import dataclasses
import itertools

from gateway.context import SegmenterFactory, State
from gateway.errors import (
    ClientError,
    ContextStateError,
    GatewayError,
    UnknownContextError,
    UnknownVoiceError,
)
from gateway.intake import check_text
from gateway.roster import Roster
from gateway.schedule import choose
from gateway.segmenters import segmenter_for
from gateway.speech import ChainFactory
from gateway.types import (
    Abort,
    Command,
    Configure,
    Configured,
    ContextSettings,
    Duck,
    Effect,
    End,
    EngineFacts,
    Failed,
    Flush,
    Hello,
    Interrupt,
    Limits,
    Playback,
    Resume,
    Send,
    Text,
    WarmVoice,
)
from gateway.utterance import Surroundings, Utterance
from gateway.wire_errors import wire_message
from gateway.words import SpeechRate


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
    ) -> None:
        self.id = session_id
        self._limits = limits
        self._effects: list[Effect] = []
        self._defaults = ContextSettings(voice=engine.voices[0] if engine.voices else "default")
        self._voices = engine.voices
        self._roster = Roster(limits.max_contexts)
        self._requests: dict[str, Utterance] = {}  # the engine works on these
        self._aborts: dict[str, Utterance] = {}  # ... and was asked to stop these
        self._warmed: set[str] = set()
        self._writable = True
        self._closed = False
        numbers, requests = itertools.count(1), itertools.count(1)
        self._around = Surroundings(
            session_id=session_id,
            facts=engine,
            limits=limits,
            chains=chain_factory,
            segmenters=segmenter_factory,
            rate=SpeechRate(),
            emit=self._effects.append,
            next_number=lambda: next(numbers),
            next_request_id=lambda: f"{session_id}.{next(requests)}",
        )
        facts = dataclasses.asdict(engine)
        voices = facts.pop("voices")
        self._emit(Send(Hello(session_id, voices, limits.published(), facts)))

    def __str__(self) -> str:
        return f"session {self.id} ({', '.join(str(u.context) for u in self._roster.queue)})"

    # --- commands ---

    def receive(self, command: Command, now_ms: float) -> None:
        """Obey a command. What is wrong with it becomes a `Failed` event and changes nothing."""
        if self._closed:
            return
        try:
            self._obey(command, now_ms)
        except ClientError as error:
            self._emit(Send(Failed(command.context, error.code, str(error))))
        self._settle(now_ms)

    def _obey(self, command: Command, now_ms: float) -> None:
        match command:
            case Text():
                self._text(command, now_ms)
            case Configure():
                self._configure(command, now_ms)
            case Interrupt(context=None):
                self._interrupt_all(command.played_ms, now_ms)
            case Duck(context=None) | Resume(context=None):
                for utterance in self._roster.queue:
                    self._address(utterance, command, now_ms)
            case Playback():
                # Reports go on after the end, and a forgotten context's report is no news.
                reported = self._roster.find(command.context)
                if reported is not None:
                    reported.playback(command.played_ms, now_ms)
                elif not self._roster.is_spent(command.context):
                    raise self._unknown(command.context)
            case _:
                assert command.context is not None
                addressed = self._roster.find(command.context)
                if addressed is None:
                    raise self._unknown(command.context)
                self._address(addressed, command, now_ms)

    def _address(self, utterance: Utterance, command: Command, now_ms: float) -> None:
        """A command for one existing utterance."""
        utterance.context.touched_at_ms = now_ms
        match command:
            case Flush():
                utterance.flush(command.flush_id, now_ms)
            case End():
                utterance.context.end(now_ms)
            case Interrupt():
                self._interrupt(utterance, command.played_ms, now_ms)
            case Duck():
                utterance.duck(command.gain, now_ms)
            case Resume():
                utterance.resume(now_ms)

    def _text(self, command: Text, now_ms: float) -> None:
        utterance = self._roster.find(command.context)
        if utterance is None:
            if self._roster.is_spent(command.context):
                raise ContextStateError(
                    f"context {command.context} is over: expected a new id, or configure first"
                )
            self._roster.check_room()
        received = 0
        if utterance is not None:
            utterance.context.check_text()
            received = utterance.context.received_chars
        buffered = sum(u.context.buffered_chars for u in self._roster.queue)
        check_text(command.text, received, buffered, self._limits)
        if utterance is None:
            utterance = self._open(command.context, self._defaults, now_ms)
        utterance.context.touched_at_ms = now_ms
        utterance.text(command.text, now_ms)

    def _configure(self, command: Configure, now_ms: float) -> None:
        voice = command.settings.voice
        if voice is not None and voice not in self._voices:
            known = ", ".join(self._voices)
            raise UnknownVoiceError(f"voice: expected one of {known}, got {voice}")
        if command.context is None:
            settings = self._defaults = command.settings.over(self._defaults)
        else:
            utterance = self._roster.find(command.context)
            if utterance is None or utterance.over:
                settings = command.settings.over(self._defaults)
                utterance = self._open(command.context, settings, now_ms)
            else:
                utterance.context.configure(command.settings)
            utterance.context.touched_at_ms = now_ms
            settings = utterance.context.settings
        if settings.voice not in self._warmed:
            self._warmed.add(settings.voice)
            self._emit(WarmVoice(settings.voice))
        self._emit(Send(Configured(command.context, settings)))

    def _open(self, context_id: str, settings: ContextSettings, now_ms: float) -> Utterance:
        self._roster.check_room()
        if settings.preempt:
            self._interrupt_all(None, now_ms)
            self._roster.retire()
        utterance = Utterance(
            context_id,
            settings,
            self._roster.generation(context_id),
            self._roster.last_playout,
            self._around,
            now_ms,
        )
        self._roster.add(utterance)
        return utterance

    @staticmethod
    def _unknown(context_id: str) -> UnknownContextError:
        return UnknownContextError(f"context: expected an open one, got {context_id}")

    # --- barge-in ---

    def _interrupt_all(self, played_ms: float | None, now_ms: float) -> None:
        """Stop everything that is not over, or that is over and still heard."""
        audible = [
            u
            for u in self._roster.over()
            if u.context.state is State.DONE and u.playout.end_at_ms() > now_ms
        ]
        for utterance in (*audible, *self._roster.queue):
            self._interrupt(utterance, played_ms, now_ms)
            played_ms = None  # it is about the one that is being heard

    def _interrupt(self, utterance: Utterance, played_ms: float | None, now_ms: float) -> None:
        request_id = utterance.interrupt(played_ms, now_ms)
        self._roster.note_interrupted(utterance)
        if request_id is not None and self._requests.pop(request_id, None) is not None:
            self._aborts[request_id] = utterance

    # --- the engine ---

    def engine_frames(
        self,
        request_id: str,
        first_frame: int,
        pcm: bytes,
        codes: bytes,
        text_tokens: tuple[int, ...],
        now_ms: float,
    ) -> None:
        """Sound of a request, as in `engine.api.Frames`."""
        utterance = self._requests.get(request_id)
        if utterance is None:
            if (utterance := self._aborts.get(request_id)) is not None:
                utterance.note_late_frames(pcm)
            return
        utterance.context.touched_at_ms = now_ms
        try:
            utterance.frames(first_frame, pcm, codes, text_tokens)
        except GatewayError as error:
            self._fail(request_id, error.code, str(error), abort=True)
        self._settle(now_ms)

    def engine_tokens(self, request_id: str, spans: tuple[tuple[int, int], ...]) -> None:
        """Which characters of `Submit.text` each index in `text_tokens` stands for.

        Told once, before or with the first frames; without it word times are proportional.
        """
        utterance = self._requests.get(request_id)
        if utterance is not None and utterance.speech.making is not None:
            utterance.speech.making.token_spans = spans

    def engine_finished(
        self,
        request_id: str,
        reason: str,
        frames: int,
        prompt_tokens: int,
        cached_tokens: int,
        now_ms: float,
    ) -> None:
        """The end of a request. `reason`: stop, length, or aborted, which nobody here asked for."""
        utterance = self._requests.get(request_id)
        if utterance is None:
            return
        making = utterance.speech.making
        made = making.frames if making is not None else 0
        if reason == "aborted" or frames != made:
            message = f"expected {made} frames and a stop, got {frames} and {reason}"
            self._fail(request_id, "engine_failed", message, abort=False)
        else:
            del self._requests[request_id]
            utterance.line_complete(prompt_tokens, cached_tokens, truncated=reason == "length")
        self._settle(now_ms)

    def engine_failed(self, request_id: str, code: str, message: str, now_ms: float) -> None:
        """The engine could not do it. `message` goes to the peer only when `code` is the peer's."""
        if (aborted := self._aborts.pop(request_id, None)) is not None:
            aborted.silence(confirmed=True, frames_after=0)
        elif request_id in self._requests:
            self._fail(request_id, code, message, abort=False)
        self._settle(now_ms)

    def engine_aborted(
        self, request_id: str, confirmed: bool, frames_after: int, now_ms: float
    ) -> None:
        """The answer to `Abort`."""
        utterance = self._aborts.pop(request_id, None)
        if utterance is not None:
            utterance.silence(confirmed, frames_after)
            self._settle(now_ms)

    def _fail(self, request_id: str, code: str, message: str, abort: bool) -> None:
        utterance = self._requests.pop(request_id)
        utterance.fail(code, wire_message(code, message))
        if abort:
            self._emit(Abort(request_id))

    # --- time ---

    def tick(self, now_ms: float) -> None:
        """Do what the time asks for."""
        for utterance in tuple(self._roster.queue):
            utterance.tick(now_ms)
            if utterance.idle_at_ms() <= now_ms:
                self._reap(utterance, now_ms)
        for request_id, utterance in tuple(self._aborts.items()):
            deadline_ms = utterance.abort_deadline_ms
            if deadline_ms is not None and deadline_ms <= now_ms:
                del self._aborts[request_id]
                utterance.silence(confirmed=False, frames_after=0)
        self._settle(now_ms)

    def next_deadline_ms(self) -> float | None:
        """When `tick` is wanted next."""
        deadlines = [at for u in self._aborts.values() if (at := u.abort_deadline_ms) is not None]
        front = True
        for utterance in self._roster.queue:
            deadlines += utterance.deadlines_ms(sending=front and self._writable)
            front = front and not utterance.speaking
        return min(deadlines, default=None)

    def set_writable(self, writable: bool, now_ms: float) -> None:
        """Whether the socket takes more. While it does not, nothing is encoded or sent."""
        self._writable = writable
        self._settle(now_ms)

    def set_voices(self, voices: tuple[str, ...]) -> None:
        """The engine's voices have changed."""
        self._voices = voices
        self._warmed &= set(voices)

    def disconnected(self, now_ms: float) -> None:
        """The socket is gone: stop all work."""
        self._effects.clear()
        self._effects += [Abort(request_id) for request_id in self._requests]
        self._requests.clear()
        self._aborts.clear()
        self._roster.queue.clear()
        self._closed = True

    def effects(self) -> list[Effect]:
        """What is to be done, in order. Each effect is returned once."""
        drained = list(self._effects)
        self._effects.clear()
        return drained

    def check_integrity(self) -> None:
        """For tests: every request belongs to a live utterance, and none was forgotten."""
        self._roster.check_integrity()
        making = [u.speech.making for u in self._roster.queue if u.speech.making is not None]
        assert {line.request_id for line in making} == set(self._requests)
        assert all(u.context.state is State.INTERRUPTING for u in self._aborts.values())

    def _reap(self, utterance: Utterance, now_ms: float) -> None:
        """Nobody has cared for this utterance for long."""
        making = utterance.speech.making
        if making is not None:
            self._fail(making.request_id, "engine_failed", "no sound for too long", abort=True)
        elif utterance.context.text_complete:
            self._interrupt(utterance, None, now_ms)
        else:
            utterance.context.end(now_ms)
        utterance.context.touched_at_ms = now_ms

    def _settle(self, now_ms: float) -> None:
        changed = not self._closed
        while changed:
            self._roster.retire()
            changed = self._submit(now_ms)
            if self._writable:
                changed = self._pump(now_ms) or changed

    def _submit(self, now_ms: float) -> bool:
        speakers = [u for u in self._roster.queue if u.speaking]
        utterance = choose(speakers, self._limits.look_ahead_segments)
        if utterance is None:
            return False
        request_id = utterance.submit(now_ms)
        if request_id is not None:
            self._requests[request_id] = utterance
        return True

    def _pump(self, now_ms: float) -> bool:
        for utterance in self._roster.queue:
            if utterance.speaking:
                return utterance.pump(now_ms)
        return False

    def _emit(self, effect: Effect) -> None:
        self._effects.append(effect)
