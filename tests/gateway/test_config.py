"""Configuration: defaults that are safe, and mistakes that are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.config import Config, ConfigError, load_config
from gateway.types import Limits


def test_defaults_listen_on_this_machine_only() -> None:
    config = load_config()
    assert (config.host, config.port) == ("127.0.0.1", 8080)
    assert not config.is_public
    assert config.limits == Limits()
    assert config.accepts_key(None)


def test_environment_then_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICE_GATEWAY_PORT", "9000")
    monkeypatch.setenv("VOICE_GATEWAY_MAX_CONTEXTS", "3")
    monkeypatch.setenv("VOICE_GATEWAY_API_KEYS", " k1, k2 ,")
    config = load_config(port=None, engine="fake")
    assert (config.port, config.engine) == (9000, "fake")
    assert config.limits.max_contexts == 3
    assert config.accepts_key("k1") and config.accepts_key("k2")
    assert not config.accepts_key("k") and not config.accepts_key(None)
    assert load_config(port=1).port == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "99999"),
        ("PORT", "http"),
        ("ENGINE", "real"),
        ("CHECKPOINT", "/no/such/folder"),
        ("MAX_SESSIONS", "0"),
        ("LOG_LEVEL", "loud"),
        ("MAX_MESSAGE_BYTES", "1"),
    ],
)
def test_bad_values_name_the_variable_what_is_expected_and_what_came(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"VOICE_GATEWAY_{name}", value)
    with pytest.raises(ConfigError) as wrong:
        load_config()
    (line,) = str(wrong.value).splitlines()
    assert line.startswith(f"VOICE_GATEWAY_{name}: expected ")
    assert f"got {value!r}" in line


def test_every_mistake_has_its_line_and_flags_are_named_as_flags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VOICE_GATEWAY_HOTS", "::1")
    with pytest.raises(ConfigError) as wrong:
        load_config(port=-1, queue_max_bytes=5000)
    lines = str(wrong.value).splitlines()
    assert (
        lines[0] == "VOICE_GATEWAY_HOTS: there is no such setting; did you mean VOICE_GATEWAY_HOST?"
    )
    assert lines[1].startswith("--port: expected ")


def test_the_clients_variables_are_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICE_GATEWAY_URL", "ws://127.0.0.1:1")
    monkeypatch.setenv("VOICE_GATEWAY_API_KEY", "k")
    load_config()


def test_marks_of_the_queue_must_leave_room() -> None:
    with pytest.raises(ConfigError, match="twice queue_high_water_bytes"):
        load_config(queue_high_water_bytes=8192, queue_max_bytes=8193)


def test_a_secret_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICE_GATEWAY_API_KEYS", "hush")
    assert "hush" not in repr(load_config())


def test_a_checkpoint_is_a_folder(tmp_path: Path) -> None:
    assert load_config(checkpoint=tmp_path).checkpoint == tmp_path


@pytest.mark.parametrize(
    ("host", "public"),
    [("localhost", False), ("127.0.0.2", False), ("::1", False), ("0.0.0.0", True), ("a.b", True)],
)
def test_public_addresses(host: str, public: bool) -> None:
    settings: dict[str, Any] = {"host": host}
    assert Config(**settings).is_public is public
