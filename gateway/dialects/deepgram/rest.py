"""Deepgram's `POST /v1/speak` and `/v2/speak`: the query says how, the body what."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from gateway.dialects import Close, HttpAnswer, Opening
from gateway.dialects.deepgram.options import Options, rest_options
from gateway.dialects.deepgram.v1 import model_uuid
from gateway.dialects.deepgram.wire import closing, refusal, spoken
from gateway.dialects.explain import parse_json
from gateway.errors import GatewayError, InvalidMessageError, InvalidTextError
from gateway.types import (
    Audio,
    Command,
    Configure,
    Done,
    End,
    Event,
    FileFormat,
    SettingsPatch,
    Text,
)

_CONTEXT = "speak"


class SpeakRequest:
    """See `HttpDialect`."""

    def __init__(self, opening: Opening, model_required: bool = False) -> None:
        self._opening = opening
        self._model_required = model_required
        self._options = Options("", SettingsPatch())
        self._request_id = str(uuid.uuid4())
        self._chars = 0

    @property
    def file(self) -> FileFormat:
        """See `Dialect`."""
        return self._options.file

    @property
    def media_type(self) -> str:
        """See `HttpDialect`."""
        return self._options.media_type

    @property
    def headers(self) -> Mapping[str, str]:
        """What the vendor tells of a request."""
        model = self._options.model
        return {
            "dg-request-id": self._request_id,
            "dg-model-name": model.encode("ascii", "replace").decode(),
            "dg-model-uuid": model_uuid(model),
            "dg-char-count": str(self._chars),
        }

    def decode(self, raw: str | bytes) -> Sequence[Command]:
        """The body: all the text. Raises ClientError."""
        self._options = rest_options(self._opening, self._model_required)
        text = self._text(raw.encode() if isinstance(raw, str) else raw)
        self._chars = len(text)
        configure = Configure(_CONTEXT, self._options.settings)
        return configure, Text(_CONTEXT, spoken(text)), End(_CONTEXT)

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
        return refusal(error, self._request_id)

    def _text(self, body: bytes) -> str:
        """JSON with a `text`, or the text itself where the client calls it plain."""
        if self._opening.headers.get("content-type", "").startswith("text/plain"):
            text: object = _plain(body)
        else:
            text = parse_json(body).get("text")
        if not isinstance(text, str):
            got = "none" if text is None else type(text).__name__
            raise InvalidMessageError(f"text: expected str, got {got}")
        if not text.strip():
            raise InvalidMessageError("text: expected a text, got an empty one")
        most = self._opening.limits.max_context_chars
        if len(text) > most:
            raise InvalidTextError(f"text: expected at most {most} characters, got {len(text)}")
        return text


def _plain(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise InvalidTextError(f"expected UTF-8, got other bytes at {error.start}") from None
