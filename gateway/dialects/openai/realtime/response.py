"""One response: which events a client is sent from its creation to its end."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gateway.dialects.openai.realtime.conversation import Entry
from gateway.types import Done, Word

Named = tuple[str, dict[str, Any]]  # an event's type and fields


@dataclass(slots=True)
class Response:
    """`text`: what it says; `words`: of what has left so far, in order.

    `opened`: the session has its context; `stopping`: and was told to stop it. `played_ms`: what
    the client says it played, until it has its answer. `heard`: what the session made of the
    cancel, (ms, text).
    """

    id: str
    entry: Entry
    text: str
    in_conversation: bool
    output: dict[str, Any]
    metadata: dict[str, str] | None
    previous_item_id: str | None = None
    status: str = "in_progress"
    opened: bool = False
    stopping: bool = False
    played_ms: float | None = None
    heard: tuple[float, str] = (0.0, "")
    spoken: list[str] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)

    def begin(self) -> Iterator[Named]:
        """What is sent at once."""
        yield "response.created", {"response": self._shape()}
        yield "response.output_item.added", self._of_output(item=self.entry.shape())
        if self.in_conversation:
            yield "conversation.item.added", self._item()
        yield "response.content_part.added", self._of_part(part={"type": "audio", "transcript": ""})

    def sound(self, payload: bytes) -> Named:
        """A packet."""
        delta = base64.b64encode(payload).decode()
        return "response.output_audio.delta", self._of_part(delta=delta)

    def segment(self, text: str) -> Named:
        """The text whose sound begins."""
        self.spoken.append(text)
        return "response.output_audio_transcript.delta", self._of_part(delta=text)

    def end(
        self, status: str, transcript: str, details: dict[str, Any], done: Done | None = None
    ) -> Iterator[Named]:
        """Everything behind the last sound. `transcript`: what of it was heard, or is yet to be."""
        self.status = status
        self.entry.status = "completed" if status == "completed" else "incomplete"
        self.entry.text = transcript
        part = {"type": "audio", "transcript": transcript}
        yield "response.output_audio.done", self._of_part()
        yield "response.output_audio_transcript.done", self._of_part(transcript=transcript)
        yield "response.content_part.done", self._of_part(part=part)
        if self.in_conversation:
            yield "conversation.item.done", self._item()
        yield "response.output_item.done", self._of_output(item=self.entry.shape())
        shape = {**self._shape(), "status_details": details, "usage": _usage(done)}
        yield "response.done", {"response": shape}

    def heard_until(self, played_ms: float) -> str:
        """What of a cancelled text was heard, as the words' times tell. Half a word is a word."""
        for word in self.words:
            if (word.start_ms + word.end_ms) / 2 > played_ms:
                return self.text[: word.start]
        known = self.text[: self.words[-1].end] if self.words else ""
        heard_ms, heard_text = self.heard
        return max(known, heard_text, key=len) if played_ms >= heard_ms else known

    def _shape(self) -> dict[str, Any]:
        over = self.status != "in_progress"
        return {
            "object": "realtime.response",
            "id": self.id,
            "status": self.status,
            "status_details": None,
            "output": [self.entry.shape()] if over else [],
            "conversation_id": "conv_1" if self.in_conversation else None,
            "output_modalities": ["audio"],
            "max_output_tokens": "inf",
            "audio": {"output": self.output},
            "usage": None,
            "metadata": self.metadata,
        }

    def _item(self) -> dict[str, Any]:
        return {"previous_item_id": self.previous_item_id, "item": self.entry.shape()}

    def _of_output(self, **fields: Any) -> dict[str, Any]:
        return {"response_id": self.id, "output_index": 0, **fields}

    def _of_part(self, **fields: Any) -> dict[str, Any]:
        return self._of_output(item_id=self.entry.id, content_index=0, **fields)


def _usage(done: Done | None) -> dict[str, Any] | None:
    """Output tokens are the engine's frames."""
    if done is None:
        return None
    return {
        "total_tokens": done.prompt_tokens + done.frames,
        "input_tokens": done.prompt_tokens,
        "output_tokens": done.frames,
        "input_token_details": {
            "text_tokens": done.prompt_tokens,
            "audio_tokens": 0,
            "cached_tokens": done.cached_tokens,
        },
        "output_token_details": {"text_tokens": 0, "audio_tokens": done.frames},
    }
