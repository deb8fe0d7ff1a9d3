"""Text frames to commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from gateway.dialects.native import shapes
from gateway.dialects.native.ranges import (
    MAX_ID_CHARS,
    check,
    check_id,
    check_position,
    check_pronunciations,
    check_rate,
    shown,
)
from gateway.errors import ClientError, InvalidMessageError, InvalidTextError, MessageTooLargeError
from gateway.types import (
    DEFAULT_RATE_HZ,
    AudioFormat,
    Codec,
    Command,
    Configure,
    Duck,
    End,
    Flush,
    Interrupt,
    Playback,
    Resume,
    SamplingSettings,
    SettingsPatch,
    Text,
)


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
    message = _parse(raw)
    if not isinstance(message, dict):
        raise InvalidMessageError(f"expected a JSON object, got {shown(message)}")
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _DECODERS:
        got = shown(kind) if "type" in message else "none"
        raise InvalidMessageError(f"type: expected one of {', '.join(_DECODERS)}, got {got}")
    try:
        return _DECODERS[kind](message)
    except ClientError as error:
        context = message.get("context")
        if isinstance(context, str) and len(context) <= MAX_ID_CHARS:
            error.context = context
        raise


def _parse(raw: str) -> object:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError) as error:
        if _has_lone_surrogate(raw):
            raise InvalidTextError("expected Unicode characters, got a lone surrogate") from None
        raise InvalidMessageError(f"expected a JSON object, got other text: {error}") from None
    except RecursionError:
        raise InvalidMessageError("expected a flat JSON object, got a deeply nested one") from None


def _has_lone_surrogate(raw: str) -> bool:
    try:
        text = json.dumps(json.loads(raw), ensure_ascii=False)
    except (ValueError, RecursionError):
        return False
    return any("\ud800" <= char <= "\udfff" for char in text)


ShapeT = TypeVar("ShapeT", bound=msgspec.Struct)
_SENTENCE = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)


def _convert(message: dict[str, Any], shape: type[ShapeT]) -> ShapeT:
    try:
        return msgspec.convert(message, shape)
    except msgspec.ValidationError as error:
        raise InvalidMessageError(_explain(shape, str(error))) from None


def _explain(shape: type[msgspec.Struct], error: str) -> str:
    """Turn msgspec's sentence into ours: `path: expected X, got Y`."""
    match = _SENTENCE.fullmatch(error)
    assert match is not None
    path = match["path"] or ""
    what = match["what"].replace("`", "")
    if found := re.fullmatch(r"Object contains unknown field (.*)", what, re.DOTALL):
        inner = shapes.INNER.get(path, shape)
        fields = ", ".join(f.encode_name for f in msgspec.structs.fields(inner))
        where = _join(path, shown(found[1])[1:-1])
        return f"{where}: expected one of {fields}, got an unknown field"
    if found := re.fullmatch(r"Object missing required field (.*)", what):
        return f"{_join(path, found[1])}: expected a value, got none"
    what = what[:1].lower() + what[1:]
    return f"{path.replace('[...]', '.*')}: {what}" if path else what


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _text(message: dict[str, Any]) -> Command:
    m = _convert(message, shapes.TextShape)
    check_id("context", m.context)
    return Text(m.context, m.text)


def _flush(message: dict[str, Any]) -> Command:
    m = _convert(message, shapes.FlushShape)
    check_id("context", m.context)
    check_id("flush_id", m.flush_id)
    return Flush(m.context, m.flush_id)


def _end(message: dict[str, Any]) -> Command:
    m = _convert(message, shapes.EndShape)
    check_id("context", m.context)
    return End(m.context)


def _interrupt(message: dict[str, Any]) -> Command:
    m = _convert(message, shapes.InterruptShape)
    check_id("context", m.context)
    check_position("played_ms", m.played_ms)
    return Interrupt(m.context, m.played_ms)


def _duck(message: dict[str, Any]) -> Command:
    m = _convert(message, shapes.DuckShape)
    check_id("context", m.context)
    check("gain", m.gain)
    return Duck(m.context, m.gain)


def _resume(message: dict[str, Any]) -> Command:
    m = _convert(message, shapes.ResumeShape)
    check_id("context", m.context)
    return Resume(m.context)


def _playback(message: dict[str, Any]) -> Command:
    m = _convert(message, shapes.PlaybackShape)
    check_id("context", m.context)
    check_position("played_ms", m.played_ms)
    return Playback(m.context, m.played_ms)


_PLAIN_SETTINGS = (
    "voice",
    "segment_mode",
    "max_buffer_delay_ms",
    "speakable",
    "normalize",
    "speed",
    "lead_ms",
    "words",
    "preempt",
    "carry_prosody",
)


def _configure(message: dict[str, Any]) -> Command:
    m = _convert(message, shapes.ConfigureShape)
    check_id("context", m.context)
    given: dict[str, Any] = {}
    for name in _PLAIN_SETTINGS:
        value = getattr(m, name)
        check(name, value)
        if value is not UNSET:
            given[name] = value
    if isinstance(m.format, shapes.FormatShape):
        given["format"] = _format(m.format)
    if isinstance(m.sampling, shapes.SamplingShape):
        for name in m.sampling.__struct_fields__:
            check(f"sampling.{name}", getattr(m.sampling, name))
        given["sampling"] = SamplingSettings(**msgspec.structs.asdict(m.sampling))
    if isinstance(m.pronunciations, dict):
        check_pronunciations(m.pronunciations)
        given["pronunciations"] = tuple(sorted(m.pronunciations.items()))
    return Configure(m.context, SettingsPatch(**given))


def _format(m: shapes.FormatShape) -> AudioFormat:
    for name in m.__struct_fields__:
        check(f"format.{name}", getattr(m, name))
    codec = Codec(m.codec)
    rate_hz = DEFAULT_RATE_HZ[codec] if m.sample_rate_hz is UNSET else m.sample_rate_hz
    assert isinstance(rate_hz, int)
    check_rate(codec, rate_hz)
    return AudioFormat(codec, rate_hz, m.frame_ms, m.bitrate_bps, m.complexity, m.fec, m.dtx)


_DECODERS: dict[str, Callable[[dict[str, Any]], Command]] = {
    "configure": _configure,
    "text": _text,
    "flush": _flush,
    "end": _end,
    "interrupt": _interrupt,
    "duck": _duck,
    "resume": _resume,
    "playback": _playback,
}
