"""What a peer may send as text, and how much of it."""

from __future__ import annotations

from gateway.errors import InvalidTextError, LimitExceededError
from gateway.types import Limits


def check_text(text: str, received_chars: int, buffered_chars: int, limits: Limits) -> None:
    """Raise InvalidTextError or LimitExceededError; the text is then as if never sent.

    `received_chars`: what the context has; `buffered_chars`: what waits in the whole session.
    """
    if not text.isascii():
        for position, char in enumerate(text):
            if "\ud800" <= char <= "\udfff":
                raise InvalidTextError(
                    f"text: expected Unicode characters, got the lone surrogate"
                    f" U+{ord(char):04X} at {position}"
                )
    if (position := text.find("\0")) >= 0:
        raise InvalidTextError(f"text: expected no NUL characters, got one at {position}")
    if received_chars + len(text) > limits.max_context_chars:
        raise InvalidTextError(
            f"text: expected at most {limits.max_context_chars} characters in a context,"
            f" got {received_chars + len(text)}"
        )
    if buffered_chars + len(text) > limits.max_buffered_chars:
        raise LimitExceededError(
            f"text: expected at most {limits.max_buffered_chars} characters waiting to be spoken,"
            f" got {buffered_chars + len(text)}; send this piece again later"
        )
