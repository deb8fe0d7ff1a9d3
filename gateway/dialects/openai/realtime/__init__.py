"""OpenAI's Realtime API, `/v1/realtime`, for text in and sound out. Events as in openai-python 2.8.

There is no language model behind it: `response.create` speaks the messages that were added since
the last response, the assistant's where there are any, else the user's; or those of its own
`input`. `instructions` colour the voice where the checkpoint takes tags. The microphone's buffer
is refused, once, and then ignored. A cancelled response tells in its transcript what was heard;
`conversation.item.truncate` says how much was really played, is answered with the text up to
there as `transcript`, and may name more than there is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from gateway.dialects import Close, Frame, Opening
from gateway.dialects.explain import shown
from gateway.dialects.openai.realtime import messages
from gateway.dialects.openai.realtime.conversation import Conversation, Entry, spoken_text
from gateway.dialects.openai.realtime.response import Named, Response
from gateway.dialects.openai.realtime.settings import Sound
from gateway.errors import (
    CLIENT_CODES,
    ContextStateError,
    GatewayError,
    InvalidTextError,
    InvalidValueError,
)
from gateway.types import (
    Audio,
    Command,
    Configure,
    Configured,
    Done,
    End,
    Event,
    Failed,
    FileFormat,
    Hello,
    Interrupt,
    Interrupted,
    SegmentStarted,
    Text,
    Words,
)

_INTERNAL_CLOSE_CODE, _POLICY_CLOSE_CODE = 1011, 1008
_KEPT_RESPONSES = 64  # that are over, and may still be truncated

Answer = Sequence[Command | Frame]


class RealtimeDialect:
    """One connection. A response is a context of the same name."""

    file = FileFormat()

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._sound = Sound()
        self._conversation = Conversation()
        self._responses: dict[str, Response] = {}
        self._numbers = itertools.count(1)
        self._session = ""
        self._event_id: str | None = None  # of the client's message that is being answered
        self._left_open: list[str] = []  # contexts whose response failed before they ended
        self._told_of_sound = False

    # --- from the client ---

    def decode(self, raw: str | bytes) -> Answer:
        """See `Dialect`."""
        self._event_id = None
        message = messages.parse(raw)
        self._event_id = messages.event_id_of(message)
        kind, given = messages.read(message)
        rest = [Interrupt(context) for context in self._left_open]
        self._left_open.clear()
        return [*rest, *self._answer(kind, given)]

    def _answer(self, kind: str, given: Any) -> Answer:
        match kind:
            case "session.update":
                self._sound = self._sound.updated(given.session, self._opening)
                return (self._event("session.updated", session=self._shape()),)
            case "conversation.item.create":
                return self._create_item(given)
            case "conversation.item.retrieve":
                item = self._conversation.find(given.item_id).shape()
                return (self._event("conversation.item.retrieved", item=item),)
            case "conversation.item.delete":
                self._conversation.remove(given.item_id)
                return (self._event("conversation.item.deleted", item_id=given.item_id),)
            case "conversation.item.truncate":
                return self._truncate(given)
            case "response.create":
                return self._create_response(given.response or messages.ResponseParams())
            case "response.cancel":
                return (self._stop(self._active(given.response_id)),)
            case "output_audio_buffer.clear":
                stopped = [self._stop(name) for name in self._speaking()]
                return (*stopped, self._event("output_audio_buffer.cleared", response_id=""))
            case "input_audio_buffer.clear":
                return (self._event("input_audio_buffer.cleared"),)
        return self._refuse_sound(kind)

    def _create_item(self, given: messages.ItemCreate) -> Answer:
        item = given.item
        if len(item.text) > self._opening.limits.max_context_chars:
            raise InvalidTextError(
                f"item.content: expected at most {self._opening.limits.max_context_chars}"
                f" characters, got {len(item.text)}"
            )
        entry = Entry(item.id or self._name("item"), item.type, item.role, item.text)
        entry.waits = item.type == "message"
        previous = self._conversation.add(entry, given.previous_item_id)
        fields = {"previous_item_id": previous, "item": entry.shape()}
        return (
            self._event("conversation.item.added", **fields),
            self._event("conversation.item.done", **fields),
        )

    def _create_response(self, params: messages.ResponseParams) -> Answer:
        in_conversation = params.conversation != "none"
        if in_conversation and (active := self._speaking(in_conversation=True)):
            raise ContextStateError(
                f"expected no response that is still being spoken, got {active[0]}"
            )
        sound = self._sound.updated(params, self._opening)
        waiting = self._conversation.waiting() if params.input is None else []
        text = spoken_text(waiting) or spoken_text([self._item(i) for i in params.input or ()])
        if not text:
            raise InvalidValueError(
                "response.input: expected a message with text since the last response, got none"
            )
        name, entry = self._name("resp"), Entry(self._name("item"), "message", "assistant", "")
        entry.status, entry.response = "in_progress", name
        response = Response(name, entry, text, in_conversation, sound.output(), params.metadata)
        if in_conversation:
            response.previous_item_id = self._conversation.add(entry)
        for spoken in waiting:
            spoken.waits = False
        self._keep(response)
        begun = [self._named(named) for named in response.begin()]
        return [*begun, Configure(name, sound.patch(self._opening)), Text(name, text), End(name)]

    def _item(self, item: messages.Item) -> messages.Item | Entry:
        """Of a response's own input, which may refer to the conversation's."""
        if item.type != "item_reference":
            return item
        return self._conversation.find(item.id or "")

    def _stop(self, name: str) -> Command:
        self._responses[name].stopping = True
        return Interrupt(name)

    def _truncate(self, given: messages.ItemTruncate) -> Answer:
        """Of what was spoken to its end the session knows what was heard, as of what it stops now.

        It has settled that for good when a cancel came before; then the words' times tell.
        """
        entry = self._conversation.find(given.item_id)
        response = self._responses.get(entry.response or "")
        if response is None:
            raise InvalidValueError(
                f"item_id: expected one that was spoken lately, got {shown(given.item_id)}"
            )
        if response.status == "cancelled":
            entry.text = response.heard_until(given.audio_end_ms)
            return (self._named(_truncation(entry, given.audio_end_ms)),)
        response.played_ms = given.audio_end_ms
        if response.stopping:
            return ()  # one answer to both
        response.stopping = response.status == "in_progress"
        return (Interrupt(response.id, given.audio_end_ms),)

    def _refuse_sound(self, kind: str) -> Answer:
        if kind == "input_audio_buffer.append" and self._told_of_sound:
            return ()
        self._told_of_sound = True
        raise InvalidValueError(f"type: expected text, got {kind}: this gateway does not listen")

    def _active(self, response_id: str | None) -> str:
        """The response to cancel. Raises ContextStateError."""
        speaking = self._speaking(in_conversation=response_id is None)
        if response_id is None and speaking:
            return speaking[0]
        if response_id not in speaking:
            raise ContextStateError("response_id: expected one that is being spoken, got none")
        assert response_id is not None
        return response_id

    def _speaking(self, in_conversation: bool = False) -> list[str]:
        return [
            response.id
            for response in self._responses.values()
            if response.status == "in_progress"
            and (response.in_conversation or not in_conversation)
        ]

    def _keep(self, response: Response) -> None:
        self._responses[response.id] = response
        over = [r.id for r in self._responses.values() if r.status != "in_progress"]
        for name in over[: max(0, len(self._responses) - _KEPT_RESPONSES)]:
            del self._responses[name]

    # --- to the client ---

    def encode(self, event: Event) -> Sequence[Frame]:
        """See `Dialect`."""
        if isinstance(event, Hello):
            self._session = event.session
            return (self._event("session.created", session=self._shape()),)
        context = getattr(event, "context", None)
        response = self._responses.get(context) if context is not None else None
        if response is not None:
            return [self._named(named) for named in self._of_response(event, response)]
        return (self._error(event),) if isinstance(event, Failed) else ()

    def _of_response(self, event: Event, response: Response) -> Iterable[Named]:
        match event:
            case Configured():
                response.opened = True
            case Audio():
                yield response.sound(event.payload)
            case SegmentStarted():
                yield response.segment(event.text)
            case Words():
                response.words += event.words
            case Done():
                yield from response.end("completed", response.text, {"type": "completed"}, event)
            case Interrupted():
                yield from self._interrupted(event, response)
            case Failed():
                yield from self._failed(event, response)

    def _interrupted(self, event: Interrupted, response: Response) -> Iterable[Named]:
        heard_ms, heard_text = response.heard = event.heard_ms, event.heard_text
        played_ms, response.played_ms = response.played_ms, None
        if response.status == "in_progress":
            if played_ms is not None:
                heard_ms, heard_text = played_ms, response.heard_until(played_ms)
            details = {"type": "cancelled", "reason": "client_cancelled"}
            yield from response.end("cancelled", heard_text, details)
        if played_ms is not None:
            response.entry.text = heard_text
            yield _truncation(response.entry, heard_ms)

    def _failed(self, event: Failed, response: Response) -> Iterable[Named]:
        yield "error", {"error": self._error_fields(event)}
        if response.status != "in_progress":
            return
        if response.opened and not event.ended:
            self._left_open.append(response.id)
        error = {"type": self._error_fields(event)["type"], "code": event.code}
        spoken = "".join(response.spoken)
        yield from response.end("failed", spoken, {"type": "failed", "error": error})

    def closing(self, error: GatewayError) -> Close:
        """See `Dialect`."""
        ours = type(error) is GatewayError
        code = error.close_code or (_INTERNAL_CLOSE_CODE if ours else _POLICY_CLOSE_CODE)
        return Close(code, "internal error" if ours else error.code)

    def _error(self, event: Failed) -> str:
        return self._event("error", error=self._error_fields(event))

    def _error_fields(self, event: Failed) -> dict[str, Any]:
        param, colon, _ = event.message.partition(": ")
        return {
            "type": "invalid_request_error" if event.code in CLIENT_CODES else "server_error",
            "code": event.code,
            "message": event.message,
            "param": param if colon and " " not in param else None,
            "event_id": None if event.ended else self._event_id,
        }

    def _shape(self) -> dict[str, Any]:
        return {
            "type": "realtime",
            "object": "realtime.session",
            "id": self._session,
            "model": self._opening.query.get("model") or self._opening.facts.checkpoint,
            "output_modalities": ["audio"],
            "instructions": self._sound.instructions,
            "tools": [],
            "tool_choice": "none",
            "max_output_tokens": "inf",
            "audio": {"input": {"turn_detection": None}, "output": self._sound.output()},
        }

    def _name(self, kind: str) -> str:
        return f"{kind}_{next(self._numbers)}"

    def _named(self, named: Named) -> str:
        return self._event(named[0], **named[1])

    def _event(self, kind: str, /, **fields: Any) -> str:
        event = {"type": kind, "event_id": self._name("event"), **fields}
        return msgspec.json.encode(event).decode()


def _truncation(entry: Entry, heard_ms: float) -> Named:
    fields = {"item_id": entry.id, "content_index": 0, "audio_end_ms": round(heard_ms)}
    return "conversation.item.truncated", {**fields, "transcript": entry.text}
