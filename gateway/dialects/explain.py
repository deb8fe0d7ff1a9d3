"""What is wrong with a peer's JSON message, in this project's words: `path: expected X, got Y`.

Shapes are msgspec structs whose `Meta` gives the ranges. A value of the wrong type is an
InvalidMessageError, one of the right type but outside its range an InvalidValueError.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, inspect

from gateway.errors import ClientError, InvalidMessageError, InvalidTextError, InvalidValueError

_SENTENCE = re.compile(r"(?P<what>.*?)(?: - at (?:`key` in )?`\$\.?(?P<path>.*)`)?", re.DOTALL)


def shown(value: object) -> str:
    """A value of the peer's in an error message: short, and on one line."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    text = repr(value) if isinstance(value, str) else text
    return text if len(text) <= 60 else f"{text[:57]}..."


def parse_json(raw: str | bytes) -> dict[str, Any]:
    """Raises InvalidMessageError, InvalidTextError."""
    try:
        message = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError) as error:
        if _has_lone_surrogate(raw):
            raise InvalidTextError("expected Unicode characters, got a lone surrogate") from None
        raise InvalidMessageError(f"expected a JSON object, got other text: {error}") from None
    except RecursionError:
        raise InvalidMessageError("expected a flat JSON object, got a deeply nested one") from None
    if not isinstance(message, dict):
        raise InvalidMessageError(f"expected a JSON object, got {shown(message)}")
    return message


def _has_lone_surrogate(raw: str | bytes) -> bool:
    try:
        text = json.dumps(json.loads(raw), ensure_ascii=False)
    except (ValueError, RecursionError):
        return False
    return any("\ud800" <= char <= "\udfff" for char in text)


def explain(
    error: msgspec.ValidationError, message: dict[str, Any], shape: type[Struct]
) -> ClientError:
    """The peer's error for what msgspec says of `message` as a `shape`."""
    match = _SENTENCE.fullmatch(str(error))
    assert match is not None
    path, what = match["path"] or "", match["what"].replace("`", "")
    where = path.replace("[...]", ".*")
    kind, value = _find(path, message, shape)
    if found := re.fullmatch(r"Object contains unknown field (.*)", what, re.DOTALL):
        known, name = ", ".join(_field_names(kind)), shown(found[1])[1:-1]
        return InvalidMessageError(
            f"{_join(where, name)}: expected one of {known}, got an unknown field"
        )
    if found := re.fullmatch(r"Object missing required field (.*)", what):
        return InvalidMessageError(f"{_join(where, found[1])}: expected a value, got none")
    if (allowed := _range(kind, value)) is not None:
        return InvalidValueError(f"{where}: expected {allowed}, got {_measured(kind, value)}")
    what = what[:1].lower() + what[1:]
    return InvalidMessageError(f"{where}: {what}" if where else what)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


@cache
def _type_of(shape: type[Struct]) -> inspect.Type:
    return inspect.type_info(shape)


def _find(path: str, value: Any, shape: type[Struct]) -> tuple[inspect.Type, Any]:
    """The type that stands at a path, and the value; nothing is known below a table or list."""
    kind = _type_of(shape)
    for name in filter(None, path.split(".")):
        kind = _not_none(kind, value)
        if not isinstance(kind, inspect.StructType) or not isinstance(value, dict):
            return inspect.AnyType(), None
        fields = [field.type for field in kind.fields if field.encode_name == name]
        if not fields:
            return inspect.AnyType(), None
        kind, value = fields[0], value.get(name)
    return _not_none(kind, value), value


def _not_none(kind: inspect.Type, value: Any) -> inspect.Type:
    """Of a union, the member that a value of this type was meant for."""
    if not isinstance(kind, inspect.UnionType):
        return kind
    members = [member for member in kind.types if not isinstance(member, inspect.NoneType)]
    for member in members:
        if _fits(member, value):
            return member
    return members[0]


_JSON_TYPES: tuple[tuple[type[inspect.Type], tuple[type, ...]], ...] = (
    (inspect.BoolType, (bool,)),
    (inspect.IntType, (int,)),
    (inspect.FloatType, (int, float)),
    (inspect.StrType, (str,)),
    (inspect.EnumType, (str,)),
    (inspect.DictType, (dict,)),
    (inspect.StructType, (dict,)),
)


def _fits(kind: inspect.Type, value: Any) -> bool:
    """Whether a value is of the JSON type, its range aside."""
    if isinstance(kind, inspect.LiteralType):
        return type(value) in {type(choice) for choice in kind.values}
    for known, types in _JSON_TYPES:
        if isinstance(kind, known):
            return isinstance(value, types) and (bool in types or not isinstance(value, bool))
    return False


def _range(kind: inspect.Type, value: Any) -> str | None:
    """What is allowed, when the value has the right type; None when it has not."""
    if not _fits(kind, value):
        return None
    if isinstance(kind, (inspect.IntType, inspect.FloatType)):
        if kind.ge is not None and kind.le is not None:
            return f"{kind.ge} to {kind.le}"
        return f"{kind.ge} or more" if kind.ge is not None else None
    if isinstance(kind, inspect.LiteralType):
        return f"one of {', '.join(map(str, kind.values))}"
    if isinstance(kind, inspect.EnumType):
        return f"one of {', '.join(str(choice.value) for choice in kind.cls)}"
    if isinstance(kind, inspect.StrType):
        if kind.min_length and kind.max_length:
            return f"{kind.min_length} to {kind.max_length} characters"
        return f"at most {kind.max_length} characters" if kind.max_length else None
    return None


def _measured(kind: inspect.Type, value: Any) -> str:
    """What came: the value, or the length of a text that has a bounded one."""
    return str(len(value)) if isinstance(kind, inspect.StrType) else shown(value)


def _field_names(kind: inspect.Type) -> list[str]:
    assert isinstance(kind, inspect.StructType)
    names = [field.encode_name for field in kind.fields]
    return [kind.tag_field, *names] if kind.tag_field else names
