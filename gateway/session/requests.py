"""The engine requests of one session: whose they are, and which were asked to stop.

Every request leaves exactly once: finished, failed, or aborted (confirmed, or out of time). What
the engine says about any other request is late, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.errors import GatewayError, wire_message
from gateway.types import Abort, Aborted, Effect, Finished, Frames, TextTokens
from gateway.utterance.context import State
from gateway.utterance.utterance import Utterance


class Requests:
    """Allocated by `add`, freed by what the engine reports, or by `drop` and what follows it."""

    def __init__(self, emit: Callable[[Effect], None]) -> None:
        self._emit = emit
        self._live: dict[str, Utterance] = {}
        self._aborting: dict[str, Utterance] = {}

    def add(self, request_id: str, utterance: Utterance) -> None:
        """The engine was asked for a line of this utterance."""
        self._live[request_id] = utterance

    def drop(self, request_id: str) -> None:
        """Ask the engine to stop; `aborted` or `expire` answers the utterance."""
        self._aborting[request_id] = self._live.pop(request_id)
        self._emit(Abort(request_id))

    def owner(self, request_id: str) -> Utterance | None:
        """Whose request it is, if it still counts."""
        return self._live.get(request_id)

    def text_tokens(self, event: TextTokens) -> None:
        """What the text tokens of a request's frames mean."""
        utterance = self._live.get(event.request_id)
        if utterance is not None and utterance.lines.making is not None:
            utterance.lines.making.token_spans = event.spans

    def frames(self, event: Frames) -> bool:
        """Sound. Returns whether there may be something to do now that there was not before."""
        utterance = self._live.get(event.request_id)
        if utterance is None:
            if (utterance := self._aborting.get(event.request_id)) is not None:
                utterance.note_late(event.pcm)
            return False
        starved = utterance.egress.starved
        try:
            utterance.frames(event)
        except GatewayError as error:
            self.fail(event.request_id, error.code, str(error), stop=True)
            return True
        return starved

    def finished(self, event: Finished) -> None:
        """The end of a request: stop, length, or aborted, which nobody here asked for."""
        utterance = self._live.get(event.request_id)
        if utterance is None:
            return
        made = utterance.frames_of_line
        if event.reason == "aborted" or event.frames != made:
            message = (
                f"expected a stop after {made} frames, got {event.reason} after {event.frames}"
            )
            self.fail(event.request_id, "engine_failed", message)
            return
        del self._live[event.request_id]
        utterance.line_complete(event)

    def fail(self, request_id: str, code: str, message: str, stop: bool = False) -> None:
        """The request has failed. `stop`: the engine does not know that yet."""
        if (aborted := self._aborting.pop(request_id, None)) is not None:
            aborted.silence(confirmed=True, frames_after=0)
        elif (utterance := self._live.pop(request_id, None)) is not None:
            utterance.fail(code, wire_message(code, message))
            if stop:
                self._emit(Abort(request_id))

    def refused(self, request_id: str, now_ms: float) -> bool:
        """The engine has no room now. Whether the line will be asked for again later."""
        utterance = self._live.get(request_id)
        if utterance is None or not utterance.try_again(now_ms):
            return False
        del self._live[request_id]
        return True

    def aborted(self, event: Aborted) -> None:
        """The engine's answer to `Abort`."""
        if (utterance := self._aborting.pop(event.request_id, None)) is not None:
            utterance.silence(event.confirmed, event.frames_after)

    def expire(self, now_ms: float) -> None:
        """Answer the interrupts for which the engine has taken too long."""
        for request_id, utterance in tuple(self._aborting.items()):
            if utterance.abort_deadline_ms <= now_ms:
                del self._aborting[request_id]
                utterance.silence(confirmed=False, frames_after=0)

    def deadlines_ms(self) -> list[float]:
        """When `expire` is wanted."""
        return [utterance.abort_deadline_ms for utterance in self._aborting.values()]

    def abort_all(self) -> None:
        """The client is gone: stop everything, and expect no answers."""
        for request_id in self._live:
            self._emit(Abort(request_id))
        self._live.clear()
        self._aborting.clear()

    def check_integrity(self, utterances: list[Utterance]) -> None:
        """For tests: the requests are exactly those that the utterances wait for."""
        making = [u.lines.making for u in utterances if u.lines.making is not None]
        assert {line.request_id for line in making} == set(self._live)
        assert not set(self._live) & set(self._aborting)
        interrupting = {u.id for u in utterances if u.context.state is State.INTERRUPTING}
        assert interrupting == {u.id for u in self._aborting.values()}
