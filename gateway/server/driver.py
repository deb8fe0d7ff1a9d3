"""Runs one `Session`: gives it the time, performs its effects, feeds it what the engine says.

Everything here happens on the event loop, one call at a time, so the session needs no lock. The
order of `Send` effects is the order on the wire, because there is one sink and it never waits.
A resumable session outlives its sink: it is driven on without one, until it gets another.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from typing import Protocol

from engine.api import SpeechEngine
from gateway.clock import clock_ms
from gateway.engine_link.loop_slots import LoopSlots
from gateway.engine_link.port import EnginePort
from gateway.errors import ClientError, GatewayError, TakenOverError
from gateway.server.metrics import Metrics
from gateway.session.session import Session
from gateway.types import (
    Abort,
    Command,
    Effect,
    EngineReport,
    Event,
    Failed,
    Send,
    Submit,
    WarmVoice,
)

log = logging.getLogger(__name__)


class Sink(Protocol):
    """Where a session's events go: a dialect and one write path."""

    def send(self, event: Event) -> None:
        """Queue an event; never waits."""
        ...

    def close(self, error: GatewayError) -> None:
        """Hang up for this reason, after what is queued."""
        ...


class SessionDriver:
    """Implements `EngineListener`. `close` must be awaited however the session ended.

    `on_over` is called when a session without a connection has ended by itself.
    """

    def __init__(
        self,
        make_session: Callable[[float], Session],
        engine: SpeechEngine,
        metrics: Metrics,
        sink: Sink,
        on_over: Callable[[SessionDriver], object] = lambda driver: None,
        slots: LoopSlots | None = None,
    ) -> None:
        self._session = make_session(clock_ms())
        self._port = EnginePort(engine, self, slots)
        self._metrics = metrics
        self._sink: Sink | None = sink
        self._on_over = on_over
        self._timer: asyncio.TimerHandle | None = None
        self._due_ms: float | None = None
        self._performing = False
        self._told: tuple[Event, ...] = ()  # what a client that is back hears first
        self._waiting = False  # without a connection, for its client to come back
        self._over = False

    @property
    def session(self) -> Session:
        """The core, for tests and logs."""
        return self._session

    @property
    def open_requests(self) -> int:
        """Requests the engine still has from this session."""
        return self._port.open_requests

    def begin(self) -> None:
        """Send the greeting; to a client that is back, also what it lacks."""
        told, self._told = self._told, ()
        self._performing = True  # a full outbox pauses the session: not before all was told
        try:
            for event in told:
                self._sink_send(event)
        finally:
            self._performing = False
        self._step(lambda now_ms: None)

    def take_over(self, sink: Sink, received: int) -> None:
        """Another connection serves the session from now on; `begin` tells it what it lacks.

        `received`: how many messages its client has. Raises ResumeExpiredError, and has changed
        nothing: a connection that asks for too much or too little takes nothing from a live one.
        """
        self._told = self._session.resume(received, clock_ms())
        old, self._sink = self._sink, sink
        self._waiting = False
        if old is not None:
            old.close(TakenOverError("another connection has resumed the session"))

    def serves(self, sink: Sink) -> bool:
        """Whether a connection is still the session's."""
        return self._sink is sink

    def leave(self) -> None:
        """The client took its leave: it will not come back."""
        self._step(lambda now_ms: self._session.end())

    def detach(self, sink: Sink) -> bool:
        """A connection has ended. Whether the session lives on, with another one or none."""
        if self._sink is not sink:
            return True
        self._sink = None
        self._step(self._session.disconnected)
        self._waiting = not (self._over or self._session.closed)
        return self._waiting

    def receive(self, *commands: Command) -> None:
        """Obey the commands of one message of the client, several or none."""
        self._step(lambda now_ms: self._session.receive(commands, now_ms))

    def refuse(self, error: ClientError) -> None:
        """Answer a message that was no command."""
        self._step(lambda now_ms: self._session.refuse(error))
        if error.close_code is not None and self._sink is not None:
            self._sink.close(error)

    def set_writable(self, writable: bool) -> None:
        """The connection takes more, or does not."""
        self._step(lambda now_ms: self._session.set_writable(writable, now_ms))

    async def close(self) -> None:
        """The client is gone: abort its work in the engine, and wait until that is done."""
        if not self._over:
            self.leave()
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        await self._port.close()

    # What the engine says.

    def dry_at_ms(self, request_id: str) -> float:
        """See `EngineListener`."""
        return self._session.dry_at_ms(request_id, clock_ms())

    def report(self, event: EngineReport) -> None:
        """See `EngineListener`."""
        self._step(lambda now_ms: self._session.report(event, now_ms))

    # One step of the core.

    def _step(self, change: Callable[[float], None]) -> None:
        if self._over:
            return
        try:
            change(clock_ms())
            self._perform()
        except Exception:  # a defect of ours ends this session, never the process
            log.exception("%s failed", self._session)
            self._break()

    def _perform(self) -> None:
        # Performing an effect may be a step itself (a full outbox pauses the session). What that
        # one leads to comes after what is being performed, or events would overtake each other.
        if self._performing:
            return
        self._performing = True
        try:
            while effects := self._session.effects():
                for effect in effects:
                    self._perform_one(effect)
        finally:
            self._performing = False
        self._arm()
        if self._session.closed:
            self._report_over()

    def _perform_one(self, effect: Effect) -> None:
        match effect:
            case Send(events=events):
                self._send(*events)
            case Submit():
                self._port.submit(effect)
            case Abort():
                self._port.abort(effect)
            case WarmVoice():
                self._port.warm(effect)

    def _send(self, *events: Event) -> None:
        for event in events:
            self._metrics.observe(event)
            self._sink_send(event)

    def _sink_send(self, event: Event) -> None:
        if self._sink is not None:
            self._sink.send(event)

    def _arm(self) -> None:
        due_ms = self._session.next_deadline_ms()
        if due_ms is not None and math.isinf(due_ms):
            due_ms = None
        if due_ms == self._due_ms and self._timer is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._due_ms = due_ms
        if due_ms is not None:
            # Timers have a resolution of 1 ms; one that fires early would only be set again.
            wait_ms = max(math.ceil(due_ms - clock_ms()), 0)
            self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._step(self._session.tick)

    def _break(self) -> None:
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        self._send(Failed(None, "internal", "internal error"))
        if self._sink is not None:
            self._sink.close(GatewayError("internal error"))
        self._report_over()

    def _report_over(self) -> None:
        if self._waiting:
            self._waiting = False
            self._on_over(self)
