"""Fish Audio's `/v1/tts/live` socket: start, text, flush, stop.

One context of ours takes the text until the stop. MP3 is the exception: its encoder keeps the last
moment of what it is given, so a flush ends the context and the sound of the next one is appended.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from gateway.dialects import Close, Frame, Opening
from gateway.dialects.fish import messages
from gateway.dialects.fish.messages import Request, audio_event, closing, finish_event, read_event
from gateway.dialects.fish.settings import file_of, format_of, settings_of
from gateway.errors import CLIENT_CODES, ContextStateError, GatewayError, wire_message
from gateway.types import (
    Audio,
    Command,
    Configure,
    Done,
    End,
    Event,
    Failed,
    FileFormat,
    Flush,
    Interrupted,
    SettingsPatch,
    Text,
)


class LiveDialect:
    """See `Dialect`."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._max_bytes = opening.limits.max_message_bytes
        self._names = (f"live-{number}" for number in itertools.count(1))
        self._request: Request | None = None
        self._settings = SettingsPatch()
        self._files: dict[str, FileFormat] = {}  # of the contexts that are not over
        self._last_file = FileFormat()
        self._context: str | None = None  # takes text
        self._stopped = False

    @property
    def file(self) -> FileFormat:
        """See `Dialect`. Contexts are spoken in order, so it is the first one's."""
        return next(iter(self._files.values()), self._last_file)

    def decode(self, raw: str | bytes) -> Sequence[Command | Frame]:
        """See `Dialect`."""
        name, fields = read_event(raw, self._max_bytes)
        if self._stopped:
            return ()
        if isinstance(fields, messages.Start):
            return self._start(fields.request)
        if self._request is None:
            raise ContextStateError(f"event: expected start first, got {name}")
        if isinstance(fields, messages.Text):
            return self._text(fields.text)
        return self._flush() if name == "flush" else self._stop()

    def encode(self, event: Event) -> Sequence[Frame]:
        """See `Dialect`."""
        match event:
            case Audio():
                return (audio_event(event.payload),) if event.payload else ()
            case Done() | Interrupted():
                return self._over(event.context)
            case Failed():
                told = wire_message(event.code, event.message)
                code = 1008 if event.code in CLIENT_CODES else 1011
                return finish_event(told), Close(code, event.code)
        return ()

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        return closing(error)

    def _start(self, request: Request) -> Sequence[Command]:
        """Sent again, it changes what is said from then on; the same again changes nothing."""
        settings = settings_of(request, self._opening)
        if self._request is not None and _same(self._request, request):
            return self._text(request.text)
        self._request, self._settings = request, settings
        return (*self._end(), *self._text(request.text))

    def _text(self, text: str) -> Sequence[Command]:
        if not text:
            return ()
        if self._context is not None:
            return (Text(self._context, text),)
        context = self._context = next(self._names)
        assert self._request is not None
        self._files[context] = self._last_file = file_of(self._request)
        return Configure(context, self._settings), Text(context, text)

    def _flush(self) -> Sequence[Command]:
        if self._context is None:
            return ()
        assert self._request is not None
        return self._end() if format_of(self._request) == "mp3" else (Flush(self._context),)

    def _stop(self) -> Sequence[Command | Frame]:
        self._stopped = True
        if not self._files:
            return finish_event(), Close()
        return self._end()

    def _end(self) -> Sequence[Command]:
        context, self._context = self._context, None
        return () if context is None else (End(context),)

    def _over(self, context: str) -> Sequence[Frame]:
        self._files.pop(context, None)
        if context == self._context:
            self._context = None  # nobody spoke for so long that it was ended
        return (finish_event(), Close()) if self._stopped and not self._files else ()


def _same(one: Request, other: Request) -> bool:
    """But for the text, which is said each time."""
    names = (name for name in Request.__struct_fields__ if name != "text")
    return all(getattr(one, name) == getattr(other, name) for name in names)
