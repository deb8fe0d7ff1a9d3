"""From a session's effects to a `SpeechEngine` and back: one task per request.

The session never waits: it says `Submit` or `Abort`, and hears of the outcome by method calls.
Closing a port aborts whatever it still has in the engine, which frees the engine when a client
vanishes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Protocol

import engine.api as api
from gateway.clock import clock_ms
from gateway.engine_link.gathering import Gatherer
from gateway.engine_link.loop_slots import LoopSlots
from gateway.types import (
    Abort,
    Aborted,
    EngineFacts,
    EngineReport,
    Finished,
    Frames,
    RequestFailed,
    SamplingSettings,
    Submit,
    TextTokens,
    WarmVoice,
)

log = logging.getLogger(__name__)


class EngineListener(Protocol):
    """Who hears what became of requests; a `Session` with the time filled in."""

    def dry_at_ms(self, request_id: str) -> float:
        """When whoever listens will have heard all that came so far."""
        ...

    def report(self, event: EngineReport) -> None:
        """What became of a request, in order."""
        ...


def facts_of(info: api.EngineInfo) -> EngineFacts:
    """The engine's description in the session's terms."""
    return EngineFacts(
        checkpoint=info.checkpoint,
        sample_rate_hz=info.sample_rate_hz,
        frame_samples=info.frame_samples,
        num_codebooks=info.num_codebooks,
        max_streams=info.max_streams,
        max_frames=info.max_frames,
        voices=info.voices,
        wants_words=info.wants_words,
        speaks_tags=info.speaks_tags,
        languages=info.languages,
    )


def explain(error: Exception) -> tuple[str, str]:
    """Wire code and message of an engine's error; detail of ours is logged, not sent."""
    if isinstance(error, api.UnknownVoiceError):
        return "unknown_voice", str(error)
    if isinstance(error, api.InvalidRequestError):
        return "invalid_value", str(error)
    if isinstance(error, api.EngineOverloadedError):
        return "overloaded", "every stream of the engine is taken; retry later"
    if isinstance(error, api.EngineUnavailableError):
        log.warning("engine unavailable: %s", error)
        return "engine_failed", "the engine is not available; retry later"
    log.error("engine failed", exc_info=error)
    return "engine_failed", "the engine failed"


def report_of(request_id: str, item: api.SpeechEvent) -> EngineReport:
    """An event of the engine in the session's terms."""
    match item:
        case api.Frames():
            return Frames(request_id, item.first_frame, item.pcm, item.codes, item.text_tokens)
        case api.TextTokens():
            return TextTokens(request_id, item.spans)
        case api.Finished():
            return Finished(
                request_id,
                item.reason.value,
                item.frames,
                item.prompt_tokens,
                item.cached_tokens,
                item.skipped_words,
                item.retries,
            )


class EnginePort:
    """One session's requests. Method calls return at once. `slots`: shared with other sessions."""

    def __init__(
        self, engine: api.SpeechEngine, listener: EngineListener, slots: LoopSlots | None = None
    ) -> None:
        self._engine = engine
        self._slots = slots or LoopSlots()
        self._listener = listener
        self._speaking: dict[str, asyncio.Task[None]] = {}
        self._gathered: dict[str, Gatherer] = {}
        self._others: set[asyncio.Task[None]] = set()
        self._aborting: set[str] = set()
        self._closed = False

    @property
    def open_requests(self) -> int:
        """Requests the engine still has from this session."""
        return len(self._speaking)

    def submit(self, effect: Submit) -> None:
        """Start a request."""
        request = api.SpeechRequest(
            request_id=effect.request_id,
            text=effect.text,
            voice=effect.voice,
            dialogue=effect.dialogue,
            history=tuple(api.Turn(turn.text, turn.codes) for turn in effect.history),
            sampling=_sampling(effect.sampling),
            priority=effect.priority,
            lead_ms=effect.lead_ms,
        )
        task = asyncio.create_task(self._speak(request))
        self._speaking[effect.request_id] = task
        task.add_done_callback(lambda _: self._speaking.pop(effect.request_id, None))

    def abort(self, effect: Abort) -> None:
        """Stop a request; the listener hears the answer."""
        self._aborting.add(effect.request_id)
        if (gathered := self._gathered.get(effect.request_id)) is not None:
            gathered.flush()  # made, and wasted: they count
        self._spawn(self._abort(effect.request_id))

    def warm(self, effect: WarmVoice) -> None:
        """Cache a voice's prefix; a failure shows when the voice is used."""
        self._spawn(self._warm(effect.voice))

    async def close(self) -> None:
        """Abort everything that is open and wait until it has ended. Idempotent."""
        self._closed = True
        for request_id, task in list(self._speaking.items()):
            if request_id not in self._aborting and not task.cancelling():  # else it was aborted
                self.abort(Abort(request_id))
        await asyncio.gather(*self._others, return_exceptions=True)
        speaking = list(self._speaking.values())
        for task in speaking:
            task.cancel()
        await asyncio.gather(*speaking, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    async def _speak(self, request: api.SpeechRequest) -> None:
        request_id, stream = request.request_id, self._engine.speak(request)
        gathered = Gatherer(lambda frames: self._report(request_id, frames))
        self._gathered[request_id] = gathered

        def lead_ms() -> float:
            return self._listener.dry_at_ms(request_id) - clock_ms()

        try:
            async for item in stream:
                if isinstance(item, api.Frames):
                    if (frames := gathered.add(item, lead_ms)) is not None:
                        await self._report_in_turn(request_id, frames)
                    continue
                if (frames := gathered.take()) is not None:
                    await self._report_in_turn(request_id, frames)
                await self._report_in_turn(request_id, item)
        except Exception as error:  # whatever an engine does, the session must hear of it
            gathered.flush()
            if not self._closed:
                self._listener.report(RequestFailed(request_id, *explain(error)))
        finally:
            gathered.take()
            del self._gathered[request_id]
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    async def _report_in_turn(self, request_id: str, item: api.SpeechEvent) -> None:
        if not self._slots.take():
            await self._slots.wait(self._listener.dry_at_ms(request_id))
        self._report(request_id, item)

    def _report(self, request_id: str, item: api.SpeechEvent) -> None:
        if not self._closed:
            self._listener.report(report_of(request_id, item))

    async def _abort(self, request_id: str) -> None:
        try:
            result = await self._engine.abort(request_id)
        except Exception as error:  # an engine that cannot answer has not confirmed
            explain(error)
            result = api.AbortResult(confirmed=False, frames_after=0)
        self._aborting.discard(request_id)
        task = self._speaking.get(request_id)
        if task is not None:
            task.cancel()
        if not self._closed:
            self._listener.report(Aborted(request_id, result.confirmed, result.frames_after))

    async def _warm(self, voice: str) -> None:
        try:
            await self._engine.warm(voice)
        except Exception as error:  # warming is a favour, never a failure of the session
            log.info("voice %r was not warmed: %s", voice, error)


def _sampling(settings: SamplingSettings) -> api.Sampling:
    return api.Sampling(
        temperature=settings.temperature,
        top_p=settings.top_p,
        top_k=settings.top_k,
        seed=settings.seed,
    )
