"""The conversation of a Realtime session: its items, and which of them are yet to be spoken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.dialects.explain import shown
from gateway.dialects.openai.realtime.messages import Item
from gateway.errors import InvalidValueError

MAX_ITEMS = 500  # older ones are forgotten
MAX_CHARS = 200_000  # in all of them together


@dataclass(slots=True)
class Entry:
    """An item. `response`: the one that spoke it; `waits`: it has text that nobody spoke yet."""

    id: str
    type: str
    role: str | None
    text: str
    status: str = "completed"
    response: str | None = None
    waits: bool = False

    def shape(self) -> dict[str, Any]:
        """As the vendor shows it."""
        shape: dict[str, Any] = {"id": self.id, "object": "realtime.item", "type": self.type}
        if self.type != "message":
            return shape
        if self.response is not None:
            content = [{"type": "output_audio", "transcript": self.text}]
            if self.status == "in_progress":
                content = []
        else:
            kind = "output_text" if self.role == "assistant" else "input_text"
            content = [{"type": kind, "text": self.text}]
        return {**shape, "status": self.status, "role": self.role, "content": content}


def spoken_text(items: Sequence[Item | Entry]) -> str:
    """What a response says: the assistant's messages among the items, else the user's."""
    for role in ("assistant", "user"):
        texts = [item.text for item in items if item.type == "message" and item.role == role]
        if any(text.strip() for text in texts):
            return _joined(texts)
    return ""


def _joined(texts: list[str]) -> str:
    """One text, with a blank between messages that brought none."""
    whole = ""
    for text in texts:
        blank = whole and text and not whole[-1].isspace() and not text[0].isspace()
        whole += f" {text}" if blank else text
    return whole


class Conversation:
    """Items in their order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def find(self, item_id: str) -> Entry:
        """Raises InvalidValueError."""
        for entry in self.entries:
            if entry.id == item_id:
                return entry
        raise InvalidValueError(f"item_id: expected one of this conversation, got {shown(item_id)}")

    def add(self, entry: Entry, previous_id: str | None = None) -> str | None:
        """Put it behind another one, or last; returns what it stands behind.

        Raises InvalidValueError for an id that is taken, or not there.
        """
        if any(other.id == entry.id for other in self.entries):
            raise InvalidValueError(f"item.id: expected a new one, got {shown(entry.id)}")
        at = len(self.entries)
        if previous_id == "root":
            at = 0
        elif previous_id is not None:
            at = self.entries.index(self.find(previous_id)) + 1
        self.entries.insert(at, entry)
        previous = self.entries[at - 1].id if at else None
        self._forget(entry)
        return previous

    def remove(self, item_id: str) -> None:
        """Raises InvalidValueError."""
        self.entries.remove(self.find(item_id))

    def waiting(self) -> list[Entry]:
        """What a response would speak."""
        return [entry for entry in self.entries if entry.waits]

    def _forget(self, newest: Entry) -> None:
        chars = sum(len(entry.text) for entry in self.entries)
        while len(self.entries) > MAX_ITEMS or chars > MAX_CHARS and len(self.entries) > 1:
            oldest = self.entries[0] if self.entries[0] is not newest else self.entries[1]
            self.entries.remove(oldest)
            chars -= len(oldest.text)
