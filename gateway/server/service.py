"""One gateway process: its engine, whether that is ready, and the sessions that use it."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import functools
import logging
import secrets
from collections.abc import AsyncIterator

from engine.api import EngineInfo, EngineStats, SpeechEngine
from gateway.audio import make_chain
from gateway.config import Config
from gateway.engine_link.loop_slots import LoopSlots
from gateway.engine_link.port import facts_of
from gateway.engine_link.supervised import SupervisedEngine
from gateway.errors import GatewayError, OverloadedError, UnauthorizedError
from gateway.server.driver import SessionDriver, Sink
from gateway.server.metrics import Metrics
from gateway.server.resumable import ResumableSessions, Resumption
from gateway.session.session import Session
from gateway.text.segment import segmenter_for
from gateway.types import AudioChain, AudioFormat, Limits, Read

log = logging.getLogger(__name__)

_STATS_TIMEOUT_S = 2.0


class Stage(enum.Enum):
    """The engine's life, as `/readyz` tells it."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    FAILED = "failed"
    STOPPED = "stopped"


class Service:
    """Owns the engine. Sessions are opened and counted here, whatever their protocol."""

    def __init__(self, config: Config, engine: SpeechEngine, read: Read | None = None) -> None:
        """`read`: what the setting `normalize` is done with."""
        self.config = config
        self.metrics = Metrics()
        self.stage = Stage.STARTING
        self.failure: Exception | None = None
        self._engine = SupervisedEngine(engine, self._engine_lost, self._engine_back)
        self._slots = LoopSlots()
        self._segmenters = functools.partial(segmenter_for, read=read)
        self._info: EngineInfo | None = None
        self._starting: asyncio.Task[None] | None = None
        self._sessions: dict[SessionDriver, str] = {}  # to its protocol
        self._resumable = ResumableSessions()
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def info(self) -> EngineInfo:
        """What the engine is. Raises OverloadedError until it is ready."""
        if self.stage is not Stage.READY or self._info is None:
            raise OverloadedError(f"the engine is {self.stage.value}; retry later")
        return self._info

    @property
    def known_info(self) -> EngineInfo | None:
        """What the engine is, once that is known."""
        return self._info

    @property
    def sessions(self) -> int:
        """Open sessions, and those that wait for their clients."""
        return len(self._sessions)

    def start(self) -> None:
        """Begin to start the engine, in the background."""
        self._starting = asyncio.create_task(self._start())

    async def started(self) -> EngineInfo:
        """Wait until the engine can speak. Raises what its start raised."""
        if self._starting is not None:
            await asyncio.shield(self._starting)
        if self.failure is not None:
            raise self.failure
        return self.info

    async def close(self) -> None:
        """End the sessions' work, then the engine. Idempotent."""
        if self.stage is Stage.STOPPED:
            return
        self.stage = Stage.STOPPED
        self.metrics.ready.set(0)
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        await asyncio.gather(*(driver.close() for driver in self._sessions))
        await asyncio.gather(*self._closing, return_exceptions=True)
        await self._engine.close()

    async def stats(self) -> EngineStats | None:
        """The engine's counters, or None when it cannot answer: then it is not ready."""
        if self.stage is not Stage.READY:
            return None
        try:
            async with asyncio.timeout(_STATS_TIMEOUT_S):
                return await self._engine.stats()
        except Exception as error:  # whatever is wrong with the engine, it cannot speak now
            log.warning("the engine does not answer: %s", error)
            return None

    def authorize(self, key: str | None) -> None:
        """Raises UnauthorizedError."""
        if self.config.accepts_key(key):
            return
        self.metrics.refused_total.labels(UnauthorizedError.code).inc()
        got = "none" if key is None else "another one"
        raise UnauthorizedError(f"expected a valid API key, got {got}")

    def check_room(self) -> None:
        """Whether another session could be opened now. Raises OverloadedError."""
        _ = self.info
        if len(self._sessions) >= self.config.max_sessions:
            raise OverloadedError(
                f"expected at most {self.config.max_sessions} sessions, got one more; retry later"
            )

    @contextlib.asynccontextmanager
    async def session(
        self,
        protocol: str,
        sink: Sink,
        limits: Limits | None = None,
        resumption: Resumption | None = None,
        independent_contexts: bool = False,
    ) -> AsyncIterator[SessionDriver]:
        """A session for as long as the block lasts; then all its work in the engine is aborted.

        With a `resumption` it is the session that the client had before, or a new one; and it
        outlives the block for a while, unless the client takes its leave. Of
        `independent_contexts` none waits for another. Raises OverloadedError and
        ResumeExpiredError before anything is allocated.
        """
        try:
            driver = self._find(resumption, sink)
            if driver is None:
                limits = limits or self.config.limits
                driver = self._open(protocol, sink, limits, resumption, independent_contexts)
        except GatewayError as error:
            self.metrics.refused_total.labels(error.code).inc()
            raise
        try:
            yield driver
        finally:
            if not driver.detach(sink):
                # also when we are cancelled, the engine must be freed
                await asyncio.shield(self._end(driver))

    def _end(self, driver: SessionDriver) -> asyncio.Task[None]:
        protocol = self._sessions.pop(driver)
        self._resumable.forget(driver)
        self.metrics.sessions.labels(protocol).dec()
        closing = asyncio.create_task(driver.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        return closing

    def _find(self, resumption: Resumption | None, sink: Sink) -> SessionDriver | None:
        """The session that a client wants back. Raises ResumeExpiredError."""
        if resumption is None or resumption.token is None:
            return None
        driver = self._resumable.find(resumption)
        driver.take_over(sink, resumption.received or 0)
        return driver

    def _open(
        self,
        protocol: str,
        sink: Sink,
        limits: Limits,
        resumption: Resumption | None,
        independent_contexts: bool,
    ) -> SessionDriver:
        self.check_room()
        info = self.info

        def chain(audio_format: AudioFormat, speed: float) -> AudioChain:
            return make_chain(audio_format, info.sample_rate_hz, speed)

        session_id = f"s-{secrets.token_urlsafe(12)}"
        token = None if resumption is None else secrets.token_urlsafe(32)
        driver = SessionDriver(
            lambda now_ms: Session(
                session_id,
                facts_of(info),
                limits,
                chain,
                now_ms,
                self._segmenters,
                resume_token=token,
                independent_contexts=independent_contexts,
            ),
            self._engine,
            self.metrics,
            sink,
            self._end,
            self._slots,
        )
        if resumption is not None and token is not None:
            self._resumable.add(token, resumption.api_key, driver)
        self._sessions[driver] = protocol
        self.metrics.sessions.labels(protocol).inc()
        self.metrics.sessions_total.labels(protocol).inc()
        return driver

    async def _start(self) -> None:
        try:
            self._info = await self._engine.start()
            _warm_up(self._info)
        except Exception as error:  # told to whoever waits in `started`, and by /readyz
            self.failure = error
            self.stage = Stage.FAILED
            log.error("the engine did not start: %s", error)
        else:
            self.stage = Stage.READY
            self.metrics.ready.set(1)

    def _engine_lost(self, reason: str) -> None:
        if self.stage is Stage.STOPPED:
            return
        self.stage = Stage.RESTARTING
        self.metrics.ready.set(0)
        self.metrics.engine_losses_total.inc()

    def _engine_back(self, info: EngineInfo) -> None:
        if self.stage is Stage.STOPPED:
            return
        self._info = info
        self.stage = Stage.READY
        self.metrics.ready.set(1)
        self.metrics.engine_restarts_total.inc()


def _warm_up(info: EngineInfo) -> None:
    """Make a little sound, so that no session's first packet waits for libraries to load."""
    chain = make_chain(AudioFormat(), info.sample_rate_hz)
    chain.begin_segment()
    chain.push(bytes(4 * info.frame_samples))
    chain.end_segment()
    chain.finish()
    while chain.pull() is not None:
        pass
