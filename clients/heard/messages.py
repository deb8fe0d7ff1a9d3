"""What an interrupted listener heard, as the newest words of the conversation.

Pipecat writes words into the conversation when their time has come. The gateway knows more exactly
which were heard, also those that it had not timed yet, and its answer comes a moment later: then
the newest message is put right.
"""

from __future__ import annotations

from typing import Any


def with_heard(
    messages: list[Any], sent: str, heard: str, most_words: int, *, may_append: bool
) -> list[Any]:
    """The conversation in which the assistant has said `heard`, a beginning of `sent`.

    `most_words`: how many words of `sent` may stand at the end of the assistant's newest message
    already. `may_append`: nothing of it may stand there yet, and then it becomes a message.
    """
    at = len(messages) - 1
    while at >= 0 and _role(messages[at]) == "user":  # who interrupts may have said something
        at -= 1
    written = _text(messages[at]) if at >= 0 else None
    kept = None if written is None else _without(written, sent, most_words)
    if kept is not None:
        said = _joined(kept, heard)
        changed = [{**messages[at], "content": said}] if said else []
        return [*messages[:at], *changed, *messages[at + 1 :]]
    if may_append and heard.strip():
        return [*messages, {"role": "assistant", "content": heard.strip()}]
    return messages


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _text(message: Any) -> str | None:
    """What a message of the assistant says."""
    content = message.get("content") if _role(message) == "assistant" else None
    return content if isinstance(content, str) else None


def _without(written: str, sent: str, most: int) -> str | None:
    """`written` without the words at its end that begin `sent`; None if there are none."""
    have, said = written.split(), sent.split()
    for count in range(min(most, len(have), len(said)), 0, -1):
        if have[-count:] == said[:count]:
            kept = written
            for word in reversed(have[-count:]):
                kept = kept.rstrip()[: -len(word)]
            return kept
    return None


def _joined(kept: str, heard: str) -> str:
    return " ".join(part for part in (kept.rstrip(), heard.strip()) if part)
