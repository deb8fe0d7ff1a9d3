"""Text frames to commands."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from gateway.dialects.explain import explain, parse_json, shown
from gateway.errors import ClientError, InvalidMessageError, InvalidValueError, MessageTooLargeError
from gateway.types import (
    MAX_ID_CHARS,
    Command,
    Configure,
    ContextSettings,
    Duck,
    End,
    Flush,
    Interrupt,
    Playback,
    Resume,
    SettingsPatch,
    Text,
)
from gateway.types.commands import ContextId


def _optional(settings: type[Struct]) -> list[tuple[str, Any, Any]]:
    """The fields of a struct, each of which may be missing."""
    fields = msgspec.structs.fields(settings)
    return [(field.name, field.type | UnsetType, UNSET) for field in fields]


# `configure` as it is sent: the settings stand beside the context, and none must be there.
_ConfigureMessage = msgspec.defstruct(
    "_ConfigureMessage",
    [("context", ContextId | None, None), *_optional(ContextSettings)],
    forbid_unknown_fields=True,
    tag="configure",
    tag_field="type",
)
_MESSAGES: dict[str, type[Struct]] = {
    "configure": _ConfigureMessage,
    **{kind.__name__.lower(): kind for kind in (Text, Flush, End, Interrupt, Duck, Resume)},
    "playback": Playback,
}


def decode(raw: str | bytes, max_bytes: int = 65_536) -> Command:
    """Return the command of one frame.

    Raises InvalidMessageError, InvalidValueError, InvalidTextError, MessageTooLargeError; their
    `context` is the one that the message names.
    """
    if isinstance(raw, bytes):
        raise InvalidMessageError(f"expected a text frame, got a binary one of {len(raw)} bytes")
    size = len(raw) if raw.isascii() else len(raw.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise MessageTooLargeError(f"expected at most {max_bytes} bytes, got {size}")
    message = parse_json(raw)
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _MESSAGES:
        got = shown(kind) if "type" in message else "none"
        raise InvalidMessageError(f"type: expected one of {', '.join(_MESSAGES)}, got {got}")
    try:
        return _command(message, _MESSAGES[kind])
    except ClientError as error:
        context = message.get("context")
        if isinstance(context, str) and len(context) <= MAX_ID_CHARS:
            error.context = context
        raise


def _command(message: dict[str, Any], shape: type[Struct]) -> Command:
    try:
        command: Any = msgspec.convert(message, shape)
    except msgspec.ValidationError as error:
        raise explain(error, message, shape) from None
    return _configure(command) if shape is _ConfigureMessage else command


def _configure(message: Any) -> Configure:
    fields = ContextSettings.__struct_fields__
    given = {name: value for name in fields if (value := getattr(message, name)) is not UNSET}
    patch = SettingsPatch(**given)
    if (mistake := patch.over(ContextSettings()).mistake()) is not None:
        raise InvalidValueError(mistake)
    return Configure(message.context, patch)
