"""What may go wrong: the gateway says no, or it is gone."""

from __future__ import annotations


class SpeechError(Exception):
    """The gateway refused or failed this context. `code`: see the table in PROTOCOL.md."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class GatewayClosedError(ConnectionError):
    """The socket is gone. `code`: the WebSocket close code, None if there was none."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code
