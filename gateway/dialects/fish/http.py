"""Fish Audio's `POST /v1/tts`: a msgpack or JSON body, sound as it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gateway.dialects import Close, HttpAnswer, Opening
from gateway.dialects.fish.messages import Request, closing, read_request, refusal
from gateway.dialects.fish.settings import MEDIA_TYPES, file_of, format_of, settings_of
from gateway.errors import GatewayError, InvalidTextError
from gateway.types import Audio, Command, Configure, Done, End, Event, FileFormat, Text

_CONTEXT = "tts"


class TtsRequest:
    """See `HttpDialect`."""

    headers: Mapping[str, str] = {}

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._request = Request()

    @property
    def file(self) -> FileFormat:
        """See `Dialect`."""
        return file_of(self._request)

    @property
    def media_type(self) -> str:
        """See `HttpDialect`."""
        return MEDIA_TYPES[format_of(self._request)]

    def decode(self, raw: str | bytes) -> Sequence[Command]:
        """The body: all the text. Raises ClientError."""
        body = raw.encode() if isinstance(raw, str) else raw
        request = read_request(body, self._opening.headers.get("content-type", ""))
        most = self._opening.limits.max_context_chars
        if len(request.text) > most:
            got = len(request.text)
            raise InvalidTextError(f"text: expected at most {most} characters, got {got}")
        self._request = request
        settings = settings_of(request, self._opening)
        return Configure(_CONTEXT, settings), Text(_CONTEXT, request.text), End(_CONTEXT)

    def encode(self, event: Event) -> Sequence[bytes | Close]:
        """See `Dialect`."""
        if isinstance(event, Audio):
            return (event.payload,)
        return (Close(),) if isinstance(event, Done) else ()

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        return closing(error)

    def refusal(self, error: GatewayError) -> HttpAnswer:
        """See `HttpDialect`."""
        return refusal(error)
