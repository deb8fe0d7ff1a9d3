"""What a client of the Realtime API may send, as far as it means something to a voice.

Fields that are not named here are taken and ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from gateway.dialects.explain import explain, parse_json, shown
from gateway.errors import InvalidMessageError
from gateway.types import Codec

CODECS = {
    "audio/pcm": Codec.PCM_S16LE,
    "audio/pcmu": Codec.MULAW,
    "audio/pcma": Codec.ALAW,
}

Id = Annotated[str, Meta(min_length=1, max_length=64)]


class Format(Struct):
    """`rate` in Hz, of PCM only; 24000 where it is missing."""

    type: Literal["audio/pcm", "audio/pcmu", "audio/pcma"] = "audio/pcm"
    rate: Annotated[int, Meta(ge=8_000, le=48_000)] | None = None


class VoiceId(Struct):
    """The other way to name a voice."""

    id: str


class AudioOutput(Struct):
    """What of the sound a client may choose; None leaves it."""

    format: Format | None = None
    speed: Annotated[float, Meta(ge=0.25, le=4.0)] | None = None
    voice: str | VoiceId | None = None


class Audio(Struct):
    """The microphone's half is not for a voice."""

    output: AudioOutput | None = None


class Session(Struct):
    """Settings of a session, or of one response."""

    audio: Audio | None = None
    instructions: str | None = None
    output_modalities: list[str] | None = None


class Part(Struct):
    """A piece of a message."""

    type: str | None = None
    text: str | None = None
    transcript: str | None = None


class Item(Struct):
    """An item of the conversation; only messages hold text."""

    type: str = "message"
    id: Id | None = None
    role: str | None = None
    content: list[Part] | None = None

    @property
    def text(self) -> str:
        """All its text, that of sound included."""
        return "".join(part.text or part.transcript or "" for part in self.content or ())


class ResponseParams(Session):
    """`input`: what to speak instead of the conversation's newest items."""

    conversation: str | None = None
    input: list[Item] | None = None
    metadata: dict[str, str] | None = None


class SessionUpdate(Struct):
    """New settings."""

    session: Session


class ItemCreate(Struct):
    """A new item, behind `previous_item_id` ("root": in front)."""

    item: Item
    previous_item_id: str | None = None


class ItemName(Struct):
    """Retrieve or delete an item."""

    item_id: str


class ItemTruncate(Struct):
    """Of an item's sound, only so much was heard."""

    item_id: str
    audio_end_ms: Annotated[float, Meta(ge=0)]
    content_index: int = 0


class ResponseCreate(Struct):
    """Speak."""

    response: ResponseParams | None = None


class ResponseCancel(Struct):
    """Stop speaking."""

    response_id: str | None = None


class Nothing(Struct):
    """No field that matters."""


MESSAGES: dict[str, type[Struct]] = {
    "session.update": SessionUpdate,
    "conversation.item.create": ItemCreate,
    "conversation.item.retrieve": ItemName,
    "conversation.item.delete": ItemName,
    "conversation.item.truncate": ItemTruncate,
    "response.create": ResponseCreate,
    "response.cancel": ResponseCancel,
    "input_audio_buffer.append": Nothing,
    "input_audio_buffer.commit": Nothing,
    "input_audio_buffer.clear": Nothing,
    "output_audio_buffer.clear": Nothing,
}


def event_id_of(message: dict[str, Any]) -> str | None:
    """The client's own name of a message."""
    given = message.get("event_id")
    return given[:512] if isinstance(given, str) else None


def parse(raw: str | bytes) -> dict[str, Any]:
    """Raises InvalidMessageError, InvalidTextError."""
    if isinstance(raw, bytes):
        raise InvalidMessageError(f"expected a text frame, got a binary one of {len(raw)} bytes")
    return parse_json(raw)


def read(message: dict[str, Any]) -> tuple[str, Any]:
    """(type, message). Raises ClientError that names the field."""
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in MESSAGES:
        got = shown(kind) if "type" in message else "none"
        raise InvalidMessageError(f"type: expected one of {', '.join(MESSAGES)}, got {got}")
    shape = MESSAGES[kind]
    try:
        return kind, msgspec.convert(message, shape)
    except msgspec.ValidationError as error:
        raise explain(error, message, shape) from None
