"""Every setting is a flag, with words of its own, and means what its variable means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from gateway.__main__ import app
from gateway.cli import runtime
from gateway.cli.display import CommandError
from gateway.cli.flags import flag
from gateway.config import Config, group_of, load_config, settings_of

NAMES = list(Config.model_fields)
# A value of each setting that is not its default, as it is typed.
TYPED: dict[str, tuple[str, Any]] = {
    "host": ("0.0.0.0", "0.0.0.0"),
    "engine": ("fake", "fake"),
    "log_level": ("debug", "debug"),
    "foreign_text": ("refuse", "refuse"),
    "guard": ("off", "off"),
    "allowed_origins": ("https://a.example,https://b.example", None),
    "allowed_hosts": ("a.example, B.example", frozenset({"a.example", "b.example"})),
    "api_keys": ("one,two", None),
    "voice_names": ("alloy=ada, Nova=rosa", {"alloy": "ada", "Nova": "rosa"}),
    "fallback_voice": ("ada", "ada"),
}


def typed(name: str, folder: Path) -> tuple[str, Any]:
    if name in ("checkpoint", "voices"):
        return str(folder), folder
    if name not in TYPED:
        number = 9 if name in ("max_streams", "max_contexts") else 9000
        number += (name == "queue_max_bytes") * 2**20
        return str(number), number
    return TYPED[name]


def configured(
    monkeypatch: pytest.MonkeyPatch, *arguments: str, **environment: str
) -> Config | CommandError:
    """What `serve` would serve with."""
    found: list[Config] = []

    def stop(**flags: Any) -> Config:
        found.append(load(**flags))
        raise CommandError("far enough")

    load = runtime.configured
    monkeypatch.setattr(runtime, "configured", stop)
    error = CliRunner().invoke(app, ["serve", *arguments], env=environment).exception
    monkeypatch.setattr(runtime, "configured", load)
    assert isinstance(error, CommandError), error
    return found[0] if found else error


@pytest.mark.parametrize("name", NAMES)
def test_a_flag_says_what_its_variable_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    text, value = typed(name, tmp_path)
    by_flag = configured(monkeypatch, flag(name), text)
    by_variable = configured(monkeypatch, **{f"VOICE_GATEWAY_{name.upper()}": text})
    assert isinstance(by_flag, Config)
    assert by_flag == by_variable != load_config()
    if value is not None:
        assert getattr(by_flag, name) == value


def test_a_wrong_flag_is_named_as_it_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    error = configured(monkeypatch, "--port", "many", "--idle-timeout-ms", "1")
    assert isinstance(error, CommandError) and error.status == 2
    lines = str(error).splitlines()
    assert lines[0].startswith("--port: expected a valid integer")
    assert lines[1].startswith("--idle-timeout-ms: expected greater than or equal to 1000")


@pytest.mark.parametrize("name", NAMES)
def test_the_help_teaches_each(name: str) -> None:
    field = Config.model_fields[name]
    assert field.description, "a setting without words"
    (option,) = [p for p in get_command(app).commands["serve"].params if p.name == name]  # type: ignore[attr-defined]
    assert option.opts == [flag(name)]
    assert group_of(name) and option.rich_help_panel == group_of(name)
    assert field.description.lower()[:20] in option.help.lower()
    if isinstance(field.default, (int, str)):
        assert str(field.default) in option.help


def test_the_help_is_grouped_and_say_takes_what_its_engine_needs() -> None:
    serve = CliRunner().invoke(app, ["serve", "--help"], terminal_width=160).output
    headings = re.findall(r"╭─ (.*?) ─+╮", serve)
    assert headings[1:] == list(dict.fromkeys(group_of(name) for name in NAMES))
    for name in NAMES:
        assert flag(name) in serve
    say = CliRunner().invoke(app, ["say", "--help"], terminal_width=160).output
    for name in settings_of("Engine and voices"):
        assert flag(name) in say
    assert "--port" not in say
    assert "What to say; - reads standard input" in say
