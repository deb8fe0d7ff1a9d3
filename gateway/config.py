"""What an operator can set: `VOICE_GATEWAY_*` in the environment, or the flags of the command.

Every field has a default that works on one machine without an account or a download. A wrong value
stops the start with one line per mistake; a misspelt variable is named, never silently ignored.
"""

from __future__ import annotations

import difflib
import hmac
import ipaddress
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gateway.types import Limits

ENV_PREFIX = "VOICE_GATEWAY_"
CLIENT_VARIABLES = ("VOICE_GATEWAY_URL", "VOICE_GATEWAY_API_KEY")  # of `voice-gateway say`

_LIMITS = Limits()  # one place for the defaults
_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?")
_TransportBytes = Annotated[int, Field(ge=4096, le=64 * 1024 * 1024)]


# How `serve --help` groups the settings: each group's first one, in the order of the fields.
_GROUPS = {
    "host": "Address",
    "engine": "Engine and voices",
    "api_keys": "Who may connect",
    "max_sessions": "Limits",
    "idle_timeout_ms": "Patience and queues",
}


class ConfigError(ValueError):
    """The configuration cannot be used; the message has one line per mistake."""


class Config(BaseSettings):
    """One gateway process."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, extra="forbid", frozen=True, env_ignore_empty=True
    )

    host: str = Field("127.0.0.1", description="address to listen on; 0.0.0.0 is every one")
    port: int = Field(8080, ge=0, le=65_535, description="port to listen on; 0 takes a free one")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="what the gateway tells on standard error"
    )

    engine: Literal["worker", "fake"] = Field(
        "worker", description="`worker` speaks; `fake` makes a deterministic sound for tests"
    )
    checkpoint: Path | None = Field(
        None, description="folder of a checkpoint; without one, the built-in voice"
    )
    voices: Path | None = Field(
        None, description="folder of further voices: name.wav and name.txt, what it says"
    )
    max_streams: int | None = Field(
        None, ge=1, le=4096, description="segments spoken at once; without one, 16"
    )
    voice_names: Annotated[dict[str, str], NoDecode] = Field(
        {},
        description="other vendors' voices and who speaks for them: alloy=ada,21m00Tcm4TlvDq8ikWAM="
        "rosa",
    )
    fallback_voice: str | None = Field(
        None,
        description="who speaks for a vendor's voice that nobody knows; without one, the first",
    )
    guard: Literal["on", "off"] = Field(
        "on",
        description="where the checkpoint names alignment heads, draw again what it skips, repeats "
        "or gets stuck at",
    )
    foreign_text: Literal["transliterate", "refuse"] = Field(
        "transliterate",
        description="what a voice of one language does with other scripts: read their Latin "
        "spelling, or refuse",
    )

    api_keys: Annotated[frozenset[SecretStr], NoDecode] = Field(
        frozenset(),
        description="accepted keys, by commas; none: everyone may speak. Better set in the "
        "environment: others on this machine can read a command's flags",
    )
    allowed_origins: Annotated[frozenset[str], NoDecode] = Field(
        frozenset(),
        description="origins of web pages that may connect from other hosts, by commas "
        "(https://app.example); `*` is all",
    )
    allowed_hosts: Annotated[frozenset[str], NoDecode] = Field(
        frozenset(),
        description="names by which clients may reach this gateway, by commas, beside localhost "
        "and addresses; `*` is all",
    )

    max_sessions: int = Field(1000, ge=1, le=1_000_000, description="WebSockets at a time")
    max_message_bytes: int = Field(
        _LIMITS.max_message_bytes,
        ge=256,
        le=16 * 1024 * 1024,
        description="longest message of a client",
    )
    max_contexts: int = Field(
        _LIMITS.max_contexts, ge=1, le=1024, description="contexts a session may have open"
    )
    max_context_chars: int = Field(
        _LIMITS.max_context_chars, ge=1, description="longest text of one context"
    )
    max_buffered_chars: int = Field(
        _LIMITS.max_buffered_chars,
        ge=1,
        description="text of a session that may wait for the engine",
    )
    max_speech_chars: int = Field(
        10_000, ge=1, description="longest `input` of POST /v1/audio/speech"
    )

    idle_timeout_ms: int = Field(
        _LIMITS.idle_timeout_ms,
        ge=1000,
        description="how long a context may be silent before it is ended",
    )
    resume_window_ms: int = Field(
        _LIMITS.resume_window_ms,
        ge=0,
        le=600_000,
        description="how long a resumable session waits for a client that was cut off; 0: never",
    )
    slow_client_timeout_ms: int = Field(
        15_000, ge=100, description="how long a client may read nothing before it is dropped"
    )
    request_timeout_ms: int = Field(
        15_000, ge=100, description="how long a client may take to send an HTTP request"
    )
    ping_interval_ms: int = Field(20_000, ge=1000, description="how often a silent client is asked")
    shutdown_timeout_ms: int = Field(3000, ge=0, description="how long open requests may still run")
    queue_high_water_bytes: _TransportBytes = Field(
        128 * 1024, description="a connection's unsent bytes that pause its sound"
    )
    queue_max_bytes: _TransportBytes = Field(
        1024 * 1024, description="a connection's unsent bytes that end it (close code 4408)"
    )

    @field_validator("api_keys", "allowed_origins", "allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return frozenset(part for part in (p.strip() for p in value.split(",")) if part)
        return value

    @field_validator("voice_names", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        if wrong := next((name for name, sign, ours in pairs if not (sign and ours.strip())), None):
            raise ValueError(f"expected NAME=VOICE pairs by commas, got {wrong!r}")
        return {name.strip(): ours.strip() for name, _, ours in pairs}

    @field_validator("allowed_hosts")
    @classmethod
    def _are_names(cls, value: frozenset[str]) -> frozenset[str]:
        for name in value:
            if name != "*" and not _HOST_NAME.fullmatch(name):
                raise ValueError(f"expected names such as voice.example, got {name!r}")
        return frozenset(name.lower().rstrip(".") for name in value)

    @field_validator("checkpoint", "voices")
    @classmethod
    def _is_folder(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_dir():
            raise ValueError(f"expected an existing folder, got {str(value)!r}")
        return value

    @model_validator(mode="after")
    def _queue_marks(self) -> Config:
        if self.queue_max_bytes < 2 * self.queue_high_water_bytes:
            raise ValueError(
                "queue_max_bytes: expected at least twice queue_high_water_bytes "
                f"({self.queue_high_water_bytes}), got {self.queue_max_bytes}"
            )
        return self

    @property
    def limits(self) -> Limits:
        """The bounds of each session."""
        return Limits(
            max_message_bytes=self.max_message_bytes,
            max_contexts=self.max_contexts,
            max_context_chars=self.max_context_chars,
            max_buffered_chars=self.max_buffered_chars,
            idle_timeout_ms=self.idle_timeout_ms,
            resume_window_ms=self.resume_window_ms,
            # what is sent again goes through the queue at once
            resume_buffer_bytes=self.queue_max_bytes // 2,
        )

    @property
    def host_names(self) -> frozenset[str]:
        """The names that a request's `Host` may have; bare addresses always may stand there."""
        return self.allowed_hosts | {"localhost", self.host.lower().rstrip(".")}

    @property
    def is_public(self) -> bool:
        """Other machines can reach it."""
        if self.host == "localhost":
            return False
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return True

    def accepts_key(self, key: str | None) -> bool:
        """Whether `key` opens this gateway. Compares in constant time."""
        if not self.api_keys:
            return True
        if key is None:
            return False
        given = key.encode()
        matches = [hmac.compare_digest(given, k.get_secret_value().encode()) for k in self.api_keys]
        return any(matches)


def group_of(name: str) -> str:
    """The heading under which a setting stands in the help."""
    group = ""
    for field in Config.model_fields:
        group = _GROUPS.get(field, group)
        if field == name:
            return group
    raise KeyError(name)


def settings_of(*groups: str) -> list[str]:
    """The settings of some groups."""
    return [name for name in Config.model_fields if group_of(name) in groups]


def load_config(**overrides: Any) -> Config:
    """Read the environment, then `overrides` (flags; None means not given).

    Raises ConfigError naming every bad value and every unknown `VOICE_GATEWAY_*` variable.
    """
    problems = unknown_variables(os.environ)
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        config = Config(**given)
    except ValidationError as error:
        problems += [_explain(dict(item), given) for item in error.errors()]
    if problems:
        raise ConfigError("\n".join(problems))
    return config


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """One line for each variable with our prefix that names no setting."""
    known = {f"{ENV_PREFIX}{name}".upper() for name in Config.model_fields}
    known.update(CLIENT_VARIABLES)
    lines = []
    for name in sorted(environ):
        if not name.upper().startswith(ENV_PREFIX) or name.upper() in known:
            continue
        close = difflib.get_close_matches(name.upper(), known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        lines.append(f"{name}: there is no such setting{hint}")
    return lines


def _explain(item: dict[str, Any], flags: Mapping[str, Any]) -> str:
    location = item["loc"][0] if item["loc"] else None
    message = item["msg"].removeprefix("Value error, ")
    if location is None:
        return str(message)
    name = (
        f"--{location.replace('_', '-')}"
        if location in flags
        else f"{ENV_PREFIX}{location}".upper()
    )
    given = "" if "got " in message else f", got {str(item.get('input'))!r}"
    if location == "api_keys":
        given = ""
    message = message.replace("Input should be ", "expected ", 1)
    return f"{name}: {message}{given}"
