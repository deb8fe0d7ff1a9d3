"""A conversation through a Pipecat service of any vendor: turns, a barge-in, a change of settings.

For drivers; it lies beside them because they run in environments of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pipecat.frames.frames import (
    EndFrame,
    ErrorFrame,
    Frame,
    InterruptionFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TTSAudioRawFrame,
    TTSStoppedFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.workers.runner import WorkerRunner

RATE_HZ = 24_000
DEADLINE_S = 90.0


class Listener(FrameProcessor):
    """Writes down what comes out of the service, turn by turn. It plays nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = 0
        self.audio: dict[int, bytes] = {}
        self.stopped: set[int] = set()
        self.errors: list[str] = []

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            assert len(frame.audio) % 2 == 0
            self.audio[self.turn] = self.audio.get(self.turn, b"") + frame.audio
        elif isinstance(frame, TTSStoppedFrame):
            self.stopped.add(self.turn)
        elif isinstance(frame, ErrorFrame):
            self.errors.append(frame.error)
        await self.push_frame(frame, direction)


class Talk:
    """What a driver does with a running pipeline."""

    def __init__(self, worker: PipelineWorker, listener: Listener) -> None:
        self.worker = worker
        self.listener = listener

    async def begin(self, text: str) -> int:
        """Say a text as an LLM does, three characters at a time. Returns the turn's number."""
        self.listener.turn += 1
        await self.worker.queue_frame(LLMFullResponseStartFrame())
        for i in range(0, len(text), 3):
            await self.worker.queue_frame(LLMTextFrame(text[i : i + 3]))
        await self.worker.queue_frame(LLMFullResponseEndFrame())
        return self.listener.turn

    async def say(self, text: str) -> None:
        """A whole turn."""
        turn = await self.begin(text)
        await self.until(lambda: turn in self.listener.stopped)

    async def interrupt(self, text: str, after_bytes: int) -> None:
        """A turn that the user breaks off."""
        turn = await self.begin(text)
        await self.until(lambda: len(self.listener.audio.get(turn, b"")) >= after_bytes)
        await self.worker.queue_frame(InterruptionFrame())
        await asyncio.sleep(0.5)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition():  # noqa: ASYNC110 - what is waited for knows no event
                await asyncio.sleep(0.01)


async def converse(service: FrameProcessor, act: Callable[[Talk], Awaitable[None]]) -> Listener:
    """Run a pipeline while `act` talks into it."""
    listener = Listener()
    worker = PipelineWorker(
        Pipeline([service, listener]),
        params=PipelineParams(audio_out_sample_rate=RATE_HZ),
        cancel_on_idle_timeout=False,
    )
    started = asyncio.Event()

    @worker.event_handler("on_pipeline_started")
    async def on_started(worker: PipelineWorker, frame: Frame) -> None:
        started.set()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)

    async def run() -> None:
        await asyncio.wait_for(started.wait(), DEADLINE_S)
        try:
            await act(Talk(worker, listener))
        finally:
            await worker.queue_frame(EndFrame())

    await asyncio.gather(runner.run(), run())
    return listener
