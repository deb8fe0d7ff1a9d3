"""The sessions of one process that a client may come back to, by their tokens."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.errors import InvalidValueError, ResumeExpiredError
from gateway.server.driver import SessionDriver

_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}")

RESUMABLE_QUERY, RESUME_QUERY, RECEIVED_QUERY = "resumable", "resume", "received"


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a client asks for: a session it can come back to, or (`token`) the one it had.

    `received`: how many messages of that session it has, greetings not counted.
    """

    api_key: str | None
    token: str | None = None
    received: int | None = None


def resumption_of(query: Mapping[str, str], api_key: str | None) -> Resumption | None:
    """Read the query of a WebSocket's address. Raises InvalidValueError."""
    token, received = query.get(RESUME_QUERY), query.get(RECEIVED_QUERY)
    if token is not None:
        if received is None or not _WHOLE_NUMBER.fullmatch(received):
            raise InvalidValueError(f"received: expected a whole number, got {received!r}")
        return Resumption(api_key, token, int(received))
    wanted = query.get(RESUMABLE_QUERY, "false")
    if wanted not in ("true", "false"):
        raise InvalidValueError(f"resumable: expected true or false, got {wanted!r}")
    return Resumption(api_key) if wanted == "true" else None


class ResumableSessions:
    """Allocated by `add`, freed by `forget`. Keys and tokens are kept as digests only."""

    def __init__(self) -> None:
        self._sessions: dict[bytes, tuple[bytes, SessionDriver]] = {}
        self._tokens: dict[SessionDriver, bytes] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, token: str, api_key: str | None, driver: SessionDriver) -> None:
        """A session that can be asked for again."""
        self._tokens[driver] = _digest(token)
        self._sessions[self._tokens[driver]] = (_digest(api_key or ""), driver)

    def find(self, resumption: Resumption) -> SessionDriver:
        """The session of a token, for the API key that opened it. Raises ResumeExpiredError."""
        key, driver = self._sessions.get(_digest(resumption.token or ""), (b"", None))
        if driver is None or not hmac.compare_digest(key, _digest(resumption.api_key or "")):
            raise ResumeExpiredError("resume: expected the token of a session that is not over")
        return driver

    def forget(self, driver: SessionDriver) -> None:
        """The session is over."""
        if (token := self._tokens.pop(driver, None)) is not None:
            del self._sessions[token]


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
