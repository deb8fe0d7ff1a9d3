"""Flags of a command, made from the settings: each is spelt once, in `gateway/config.py`."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from gateway.config import Config, group_of

CommandT = TypeVar("CommandT", bound=Callable[..., None])

_PLACEHOLDERS: dict[Any, str] = {
    int: "N",
    float: "N",
    Path: "DIR",
    frozenset: "A,B",
    dict: "A=B,C=D",
    str: "TEXT",
}


def flag(name: str) -> str:
    """`max_sessions` as it is typed."""
    return f"--{name.replace('_', '-')}"


def takes_settings(names: Iterable[str]) -> Callable[[CommandT], CommandT]:
    """Give a command a flag for each of these settings, in place of its `**settings`.

    The command is called with strings, or None for what was not given: `load_config` reads them,
    with the same words about mistakes as for the environment.
    """

    def decorate(command: CommandT) -> CommandT:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        annotations = {name: Annotated[str | None, _option(name)] for name in names}
        flags = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in annotations.items()
        ]
        command.__signature__ = signature.replace(parameters=[*own, *flags])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in (*own, *flags)}
        return command

    return decorate


def _option(name: str) -> Any:
    field = Config.model_fields[name]
    return typer.Option(
        flag(name),
        help=_help(field),
        metavar=_placeholder(field.annotation),
        rich_help_panel=group_of(name),
        show_default=False,  # of the setting, not of the flag
    )


def _help(field: FieldInfo) -> str:
    text = field.description or ""
    facts = [fact for fact in (_default(field), _range(field)) if fact]
    return f"{text[:1].upper()}{text[1:]}." + (f" [{'; '.join(facts)}]" if facts else "")


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is None or value in (frozenset(), {}):
        return ""
    return str(value.value if isinstance(value, Enum) else value)


def _range(field: FieldInfo) -> str:
    bounds = {
        kind: getattr(item, kind)
        for item in field.metadata
        for kind in ("ge", "le")
        if hasattr(item, kind)
    }
    if len(bounds) == 2:
        return f"{bounds['ge']} to {bounds['le']}"
    return f"{bounds['ge']} or more" if "ge" in bounds else ""


def _placeholder(annotation: Any) -> str:
    if get_origin(annotation) in (Union, types.UnionType):
        (annotation,) = (kind for kind in get_args(annotation) if kind is not types.NoneType)
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    return _PLACEHOLDERS[get_origin(annotation) or annotation]
