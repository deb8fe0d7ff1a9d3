"""`stream-input`, one utterance a connection, and `multi-stream-input`, several contexts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from gateway.dialects import Close, Frame, Opening
from gateway.dialects.elevenlabs import contexts as shared
from gateway.dialects.elevenlabs.contexts import Context, Contexts, Refused, Stage
from gateway.dialects.elevenlabs.errors import POLICY, close_for, closed, error_message
from gateway.dialects.elevenlabs.messages import Message, read_message
from gateway.dialects.elevenlabs.settings import MAX_CONTEXTS, inactivity_s
from gateway.errors import GatewayError
from gateway.types import Command, Event, Failed, FileFormat


class _Socket(ABC):
    """Everything but what a message asks for, and what follows the end of a context."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._contexts = Contexts(opening)
        self._leaving = False  # the client wants the connection to end

    @property
    def file(self) -> FileFormat:
        """See `Dialect`."""
        return self._contexts.file

    def decode(self, raw: str | bytes) -> Sequence[Command | Frame]:
        """See `Dialect`. Once the end was asked for, nothing is obeyed."""
        message = read_message(raw, self._opening.limits.max_message_bytes)
        if self._leaving:
            return ()
        try:
            return self._obey(message)
        except Refused as refused:
            return refused.frames

    def encode(self, event: Event) -> Sequence[Frame]:
        """See `Dialect`."""
        if (over := self._contexts.over(event)) is not None:
            context, frames = over
            return (*frames, *self._finish(context, event))
        if isinstance(event, Failed):
            return self._contexts.refused(event)
        return self._contexts.sound(event)

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        return shared.closing(error)

    @abstractmethod
    def _obey(self, message: Message) -> Sequence[Command | Frame]: ...

    @abstractmethod
    def _finish(self, context: Context, event: Event) -> Sequence[Frame]: ...


class StreamInput(_Socket):
    """One utterance: an empty text ends it, and the connection with it."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._context: Context | None = None

    def _obey(self, message: Message) -> Sequence[Command | Frame]:
        if self._context is None:
            self._context, commands = self._contexts.open(None, message)
        else:
            commands = self._contexts.check_settings(self._context, message)
        if message.text == "":
            self._leaving = True
            return [*commands, *self._contexts.end(self._context)]
        if message.text is not None:
            commands += self._contexts.text(self._context, message.text)
        if message.flush:
            commands += self._contexts.flush(self._context)
        return commands

    def _finish(self, context: Context, event: Event) -> Sequence[Frame]:
        if isinstance(event, Failed):
            return (close_for(event.code, event.message),)
        if context.stage is Stage.OPEN:  # not by its client
            seconds = inactivity_s(self._opening.query)
            text = (
                f"expected a text within {seconds} seconds, or an empty one as the end, got nothing"
            )
            return error_message("input_timeout_exceeded", text, POLICY), closed(POLICY, text)
        return shared.final(context), Close()


class MultiStreamInput(_Socket):
    """Contexts by the client's ids, each with its end. One without an id is a context too."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._named: dict[str | None, Context] = {}  # the newest of each name

    def _obey(self, message: Message) -> Sequence[Command | Frame]:
        if message.close_socket:
            return self._leave()
        context = self._named.get(message.context)
        if message.close_context:
            return [] if context is None else self._close(context)
        commands: list[Command] = []
        if context is not None and context.stage is Stage.OPEN:
            commands += self._contexts.check_settings(context, message)
        elif message.text or message.fixed:
            context, opened = self._open(message)
            commands += opened
        else:  # a sign of life, or a flush of nothing
            return []
        if message.text is not None:
            commands += self._contexts.text(context, message.text)
        if message.flush:
            commands += self._contexts.flush(context)
        return commands

    def _open(self, message: Message) -> tuple[Context, list[Command]]:
        """Raises Refused. Contexts that the client has closed do not count."""
        held = sum(context.stage is Stage.OPEN for context in self._contexts.all())
        if held >= MAX_CONTEXTS:
            text = f"expected at most {MAX_CONTEXTS} contexts at a time, got one more; close one"
            raise Refused("max_active_conversations", text)
        context, commands = self._contexts.open(message.context, message)
        self._named[message.context] = context
        return context, commands

    def _close(self, context: Context) -> list[Command]:
        """What was flushed is still spoken; what was not is not. Closed again, it is silent."""
        if context.stage is Stage.OPEN and context.flushed:
            return self._contexts.end(context)
        return self._contexts.cancel(context)

    def _leave(self) -> list[Command | Frame]:
        self._leaving = True
        if self._contexts.empty:
            return [Close()]
        return [
            command for context in self._contexts.all() for command in self._contexts.end(context)
        ]

    def _finish(self, context: Context, event: Event) -> Sequence[Frame]:
        if self._named.get(context.name) is context:
            del self._named[context.name]
        frames: tuple[Frame, ...] = (shared.final(context),)
        return (*frames, Close()) if self._leaving and self._contexts.empty else frames
