"""What each command of the peer does. Whatever raises a `ClientError` has changed nothing."""

from __future__ import annotations

from gateway.errors import (
    ContextStateError,
    InvalidTextError,
    LimitExceededError,
    UnknownContextError,
    UnknownVoiceError,
)
from gateway.session.requests import Requests
from gateway.session.roster import Roster
from gateway.types import (
    Command,
    Configure,
    Configured,
    ContextSettings,
    Duck,
    Ducked,
    End,
    Flush,
    Interrupt,
    Limits,
    Mark,
    Playback,
    Resume,
    Resumed,
    Send,
    SettingsPatch,
    Text,
    WarmVoice,
)
from gateway.utterance.context import State
from gateway.utterance.shared import Shared
from gateway.utterance.utterance import Utterance


class Commands:
    """Obeys commands on one session's utterances."""

    def __init__(self, shared: Shared, roster: Roster, requests: Requests) -> None:
        self._shared = shared
        self._roster = roster
        self._requests = requests
        self._voices = shared.facts.voices
        self._defaults = ContextSettings(
            voice=self._voices[0] if self._voices else "default",
            normalize=shared.facts.wants_words,
        )
        self._warmed: set[str] = set()

    def obey(self, command: Command, now_ms: float) -> None:
        """Do what is asked. Raises ClientError."""
        match command:
            case Text():
                self._text(command, now_ms)
            case Configure(context=None):
                self._configure_defaults(command.settings)
            case Configure(context=str(context_id)):
                self._configure(context_id, command.settings, now_ms)
            case Interrupt(context=None):
                self.interrupt_all(command.played_ms, now_ms)
            case Duck(context=None) | Resume(context=None):
                for utterance in self._roster.queue:
                    self._address(utterance, command, now_ms)
            case Playback():
                self._playback(command, now_ms)
            case End() if self._is_new(command.context):
                self._roster.check_room(self._defaults.preempt)
                utterance = self._open(command.context, self._defaults, now_ms)
                self._address(utterance, command, now_ms)
            case Flush() | Mark() | Duck() | Resume() | Interrupt() | End():
                assert command.context is not None
                if self._roster.is_forgotten(command.context):
                    self._address_forgotten(command, command.context)
                else:
                    self._address(self._find(command.context), command, now_ms)

    def interrupt_all(self, played_ms: float | None, now_ms: float) -> None:
        """Stop everything that is not over, or that is over and still heard.

        `played_ms` is about the first of them in order of playing: that one is being heard.
        """
        for utterance in (*self._roster.audible(now_ms), *self._roster.queue):
            if utterance.context.state is not State.INTERRUPTING:
                self.interrupt(utterance, played_ms, now_ms)
                played_ms = None

    def interrupt(self, utterance: Utterance, played_ms: float | None, now_ms: float) -> None:
        """Stop one utterance."""
        request_id = utterance.interrupt(played_ms, now_ms)
        if request_id is not None:
            self._requests.drop(request_id)
        self._roster.note_interrupted(utterance.id, utterance.generation)

    def _find(self, context_id: str | None) -> Utterance:
        utterance = self._roster.find(context_id) if context_id is not None else None
        if utterance is None:
            raise UnknownContextError(f"context: expected a known one, got {context_id}")
        return utterance

    def _address(self, utterance: Utterance, command: Command, now_ms: float) -> None:
        """A command for one existing utterance."""
        utterance.context.touched_at_ms = now_ms
        match command:
            case Flush():
                utterance.flush(command.flush_id, now_ms)
            case Mark():
                utterance.mark(command.mark_id)
            case End():
                utterance.end(now_ms)
            case Interrupt():
                self.interrupt(utterance, command.played_ms, now_ms)
            case Duck():
                utterance.duck(command.gain, now_ms)
            case Resume():
                utterance.resume(now_ms)

    def _address_forgotten(self, command: Command, context_id: str) -> None:
        """A command for an utterance that was over long ago."""
        answer = self._roster.final_answer(context_id)
        match command:
            case Flush() | Mark():
                raise _over_error(context_id)
            case Interrupt():
                self._roster.note_interrupted(context_id, answer.generation)
                self._shared.emit(Send((answer,)))
            case Duck():
                self._shared.emit(Send((Ducked(context_id, answer.sent_ms),)))
            case Resume():
                self._shared.emit(Send((Resumed(context_id, answer.sent_ms),)))

    def _is_new(self, context_id: str) -> bool:
        return self._roster.find(context_id) is None and not self._roster.is_forgotten(context_id)

    def _playback(self, command: Playback, now_ms: float) -> None:
        """Reports go on after the end; one for a forgotten context is no news."""
        if not self._roster.is_forgotten(command.context):
            self._find(command.context).playback(command.played_ms, now_ms)

    def _text(self, command: Text, now_ms: float) -> None:
        utterance = self._roster.find(command.context)
        received = 0
        if utterance is not None:
            utterance.context.check_text()
            received = utterance.context.received_chars
        elif self._roster.is_forgotten(command.context):
            raise _over_error(command.context)
        else:
            self._roster.check_room(self._defaults.preempt)
        buffered = sum(u.context.buffered_chars for u in self._roster.queue)
        _check_text(command.text, received, buffered, self._shared.limits)
        if utterance is None:
            utterance = self._open(command.context, self._defaults, now_ms)
        utterance.context.touched_at_ms = now_ms
        utterance.text(command.text, now_ms)

    def _configure_defaults(self, patch: SettingsPatch) -> None:
        self._check_voice(patch.given.get("voice"))
        self._defaults = patch.over(self._defaults)
        self._confirm(None, self._defaults)

    def _configure(self, context_id: str, patch: SettingsPatch, now_ms: float) -> None:
        self._check_voice(patch.given.get("voice"))
        utterance = self._roster.find(context_id)
        if utterance is None or utterance.over:
            utterance = self._open(context_id, patch.over(self._defaults), now_ms)
        else:
            utterance.context.configure(patch)
        utterance.context.touched_at_ms = now_ms
        self._confirm(context_id, utterance.context.settings)

    def _check_voice(self, voice: str | None) -> None:
        if voice is not None and voice not in self._voices:
            known = ", ".join(self._voices)
            raise UnknownVoiceError(f"voice: expected one of {known}, got {voice}")

    def _confirm(self, context_id: str | None, settings: ContextSettings) -> None:
        if settings.voice not in self._warmed:
            self._warmed.add(settings.voice)
            self._shared.emit(WarmVoice(settings.voice))
        self._shared.emit(Send((Configured(context_id, settings),)))

    def _open(self, context_id: str, settings: ContextSettings, now_ms: float) -> Utterance:
        self._roster.check_room(settings.preempt)
        if settings.preempt:
            self.interrupt_all(None, now_ms)
            self._roster.retire(now_ms)
        utterance = Utterance(
            context_id,
            settings,
            self._roster.generation(context_id),
            self._roster.last_playout,
            self._shared,
            now_ms,
        )
        self._roster.add(utterance)
        return utterance


def _over_error(context_id: str) -> ContextStateError:
    return ContextStateError(
        f"context: expected one that is not over, got {context_id}; configure opens it anew"
    )


def _check_text(text: str, received_chars: int, buffered_chars: int, limits: Limits) -> None:
    """Whether a peer may send this as text, and so much of it.

    Raises InvalidTextError or LimitExceededError; the text is then as if never sent.

    `received_chars`: what the context has; `buffered_chars`: what waits in the whole session.
    """
    if not text.isascii():
        for position, char in enumerate(text):
            if "\ud800" <= char <= "\udfff":
                raise InvalidTextError(
                    f"text: expected Unicode characters, got the lone surrogate"
                    f" U+{ord(char):04X} at {position}"
                )
    if (position := text.find("\0")) >= 0:
        raise InvalidTextError(f"text: expected no NUL characters, got one at {position}")
    if received_chars + len(text) > limits.max_context_chars:
        raise InvalidTextError(
            f"text: expected at most {limits.max_context_chars} characters in a context,"
            f" got {received_chars + len(text)}"
        )
    if buffered_chars + len(text) > limits.max_buffered_chars:
        raise LimitExceededError(
            f"text: expected at most {limits.max_buffered_chars} characters waiting to be spoken,"
            f" got {buffered_chars + len(text)}; send this piece again later"
        )
