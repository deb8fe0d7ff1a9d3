"""An engine that is started again when it is lost: what sessions are given to speak with.

While it is down, new requests wait for it. A request that the lost engine had is asked for again,
if nothing of its sound has come yet; else it fails, because the model would say it differently.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass

from engine.api import (
    AbortResult,
    EngineInfo,
    EngineOverloadedError,
    EngineStats,
    EngineUnavailableError,
    Frames,
    SpeechEngine,
    SpeechEvent,
    SpeechRequest,
    TextTokens,
    VoiceSample,
)

log = logging.getLogger(__name__)

_PATIENCE_S = 60.0  # how long a request waits for the engine to come back
_ABORT_TIMEOUT_S = 5.0  # a worker answers within two seconds, or not at all
_NOTICE_S = 0.05  # from a request's failure until `_watch` knows of the loss, too
# An engine may be lost because of a request. That one must not end it for ever.
_MOST_ATTEMPTS = 3


@dataclass(slots=True)
class Backoff:
    """How long to wait before each start: doubled each time, until an engine has lived for long."""

    first_s: float = 0.5
    most_s: float = 30.0
    steady_s: float = 120.0
    _next_s: float = 0.0

    def after(self, lived_s: float) -> float:
        """The engine has lived for so long, 0 if it did not start."""
        if lived_s >= self.steady_s or self._next_s == 0.0:
            self._next_s = self.first_s
        wait_s = self._next_s
        self._next_s = min(2.0 * wait_s, self.most_s)
        return wait_s


class SupervisedEngine:
    """A `SpeechEngine` over another. `on_lost` and `on_back` are called at once."""

    def __init__(
        self,
        engine: SpeechEngine,
        on_lost: Callable[[str], None] = lambda reason: None,
        on_back: Callable[[EngineInfo], None] = lambda info: None,
        backoff: Backoff | None = None,
    ) -> None:
        self._engine = engine
        self._on_lost, self._on_back = on_lost, on_back
        self._backoff = backoff or Backoff()
        self._up = asyncio.Event()
        self._losses = 0
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> EngineInfo:
        """The first start; its failure is raised, and not tried again."""
        info = await self._engine.start()
        self._up.set()
        self._watching = asyncio.create_task(self._watch())
        return info

    async def close(self) -> None:
        """End the engine for good. Idempotent."""
        self._up.clear()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await self._engine.close()

    async def lost(self) -> str:
        """Never: it comes back."""
        never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return await never

    async def speak(self, request: SpeechRequest) -> AsyncIterator[SpeechEvent]:
        """Speak one segment; see `engine.api`. Raises EngineOverloadedError after long waiting."""
        heard: set[type[SpeechEvent]] = set()
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            await self._wait_until_up()
            losses = self._losses
            stream = self._engine.speak(request)
            try:
                async for event in stream:
                    if isinstance(event, TextTokens) and TextTokens in heard:
                        continue  # the same ones, of the attempt before
                    heard.add(type(event))
                    yield event
                return
            except EngineUnavailableError:
                if Frames in heard or attempt == _MOST_ATTEMPTS:
                    raise
                await asyncio.sleep(_NOTICE_S)
                if self._losses == losses:  # the engine is there, and does not want this request
                    raise
            finally:
                if isinstance(stream, AsyncGenerator):
                    await stream.aclose()

    async def abort(self, request_id: str) -> AbortResult:
        """Stop a request; a lost engine has none. Raises EngineUnavailableError on no answer."""
        if not self._up.is_set():
            return AbortResult(confirmed=True, frames_after=0)
        try:
            async with asyncio.timeout(_ABORT_TIMEOUT_S):
                return await self._engine.abort(request_id)
        except TimeoutError:
            raise EngineUnavailableError(
                f"expected an answer to an abort within {_ABORT_TIMEOUT_S:.0f} s, got none"
            ) from None

    async def warm(self, voice: str) -> None:
        """Cache a voice's prefix."""
        await self._engine.warm(voice)

    async def add_voice(self, sample: VoiceSample) -> None:
        """Register a voice, with the engine that runs now."""
        await self._engine.add_voice(sample)

    async def remove_voice(self, name: str) -> None:
        """Forget a voice."""
        await self._engine.remove_voice(name)

    async def stats(self) -> EngineStats:
        """Counters of the engine that runs now."""
        return await self._engine.stats()

    async def _wait_until_up(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._up.wait()
        except TimeoutError:
            raise EngineOverloadedError(
                f"expected the engine to be back within {_PATIENCE_S:.0f} s"
            ) from None

    async def _watch(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            began_s = clock()
            reason = await self._engine.lost()
            self._up.clear()
            self._losses += 1
            log.error("the engine is lost: %s", reason)
            self._on_lost(reason)
            info = await self._restart(clock() - began_s)
            log.warning("the engine speaks again")
            self._on_back(info)
            self._up.set()

    async def _restart(self, lived_s: float) -> EngineInfo:
        while True:
            await self._engine.close()
            await asyncio.sleep(self._backoff.after(lived_s))
            try:
                return await self._engine.start()
            except Exception as error:  # whatever it is, the next start may fare better
                log.error("the engine did not start: %s", error)
                lived_s = 0.0
