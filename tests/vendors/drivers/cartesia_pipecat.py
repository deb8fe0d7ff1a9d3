"""Pipecat's own Cartesia services in a pipeline: `python cartesia_pipecat.py HTTP KEY FOLDER`.

Prints what it saw as one JSON object; sound (24 kHz PCM) goes into files of FOLDER.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import aiohttp
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
    TTSTextFrame,
    TTSUpdateSettingsFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.cartesia.tts import (
    CartesiaHttpTTSService,
    CartesiaTTSService,
    GenerationConfig,
)
from pipecat.services.tts_service import TextAggregationMode
from pipecat.workers.runner import WorkerRunner

TEXT = "Please open the window in the kitchen. We had soup and bread for lunch."
LONG = "It was a long and quiet day by the sea. " * 12
RATE_HZ = 24_000
DEADLINE_S = 60.0


class Listener(FrameProcessor):
    """Writes down what comes out of the service, turn by turn."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = 0
        self.audio: dict[int, bytes] = {}
        self.words: dict[int, list[tuple[str, float]]] = {}
        self.stopped: set[int] = set()
        self.errors: list[str] = []

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            assert len(frame.audio) % 2 == 0
            self.audio[self.turn] = self.audio.get(self.turn, b"") + frame.audio
        elif isinstance(frame, TTSTextFrame):
            self.words.setdefault(self.turn, []).append((frame.text, (frame.pts or 0) / 1e9))
        elif isinstance(frame, TTSStoppedFrame):
            self.stopped.add(self.turn)
        elif isinstance(frame, ErrorFrame):
            self.errors.append(frame.error)
        await self.push_frame(frame, direction)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for knows no event
            await asyncio.sleep(0.01)


async def say(worker: PipelineWorker, text: str) -> None:
    """As an LLM answers: three characters at a time."""
    await worker.queue_frame(LLMFullResponseStartFrame())
    for i in range(0, len(text), 3):
        await worker.queue_frame(LLMTextFrame(text[i : i + 3]))
    await worker.queue_frame(LLMFullResponseEndFrame())


async def say_until(worker: PipelineWorker, text: str, enough: Callable[[], bool]) -> None:
    """As an LLM answers whom the user interrupts: it stops where it is."""
    await worker.queue_frame(LLMFullResponseStartFrame())
    for i in range(0, len(text), 3):
        await worker.queue_frame(LLMTextFrame(text[i : i + 3]))
        await asyncio.sleep(0.01)
        if enough():
            break
    await until(enough)
    await worker.queue_frame(InterruptionFrame())


async def converse(service: FrameProcessor, talk: Callable[..., object], turn: int = 0) -> Listener:
    """Run a pipeline while `talk` talks into it."""
    listener, early = Listener(), Listener()  # errors go up, sound comes down
    listener.turn = turn
    early.errors = listener.errors
    worker = PipelineWorker(
        Pipeline([early, service, listener]),
        params=PipelineParams(audio_out_sample_rate=RATE_HZ),
        cancel_on_idle_timeout=False,
    )
    started = asyncio.Event()

    @worker.event_handler("on_pipeline_started")
    async def on_started(worker: PipelineWorker, frame: Frame) -> None:
        started.set()

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)

    async def act() -> None:
        await asyncio.wait_for(started.wait(), DEADLINE_S)
        await talk(worker, listener)
        await worker.queue_frame(EndFrame())

    await asyncio.gather(runner.run(), act())
    return listener


async def turns(worker: PipelineWorker, listener: Listener) -> None:
    """A whole turn; one that is interrupted; the next; many in quick succession; a new speed."""
    listener.turn = 1
    await say(worker, TEXT)
    await until(lambda: 1 in listener.stopped)
    listener.turn = 2
    await say_until(worker, LONG, lambda: len(listener.audio.get(2, b"")) > RATE_HZ)
    await asyncio.sleep(0.5)
    listener.turn = 3
    await say(worker, TEXT)
    await until(lambda: 3 in listener.stopped)
    listener.turn = 4
    for _ in range(8):
        heard = len(listener.audio.get(4, b""))
        await say_until(worker, LONG, lambda: len(listener.audio.get(4, b"")) > heard)  # noqa: B023
    await asyncio.sleep(0.5)
    settings = CartesiaTTSService.Settings(generation_config=GenerationConfig(speed=1.2))
    await worker.queue_frame(TTSUpdateSettingsFrame(delta=settings))
    listener.turn = 5
    await say(worker, TEXT)
    await until(lambda: 5 in listener.stopped)


async def one_turn(worker: PipelineWorker, listener: Listener) -> None:
    await say(worker, TEXT)
    await until(lambda: listener.turn in listener.stopped)


async def main() -> None:
    base, key, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    url = base.replace("http", "ws", 1) + "/tts/websocket"
    voice = "6ccbfb76-1fc6-48f7-b71d-91ac6298247b"
    settings = CartesiaTTSService.Settings(voice=voice)
    given = {"api_key": key, "url": url, "sample_rate": RATE_HZ, "settings": settings}
    heard = [await converse(CartesiaTTSService(**given), turns)]
    by_token = CartesiaTTSService(**given, text_aggregation_mode=TextAggregationMode.TOKEN)
    heard.append(await converse(by_token, one_turn, turn=6))
    async with aiohttp.ClientSession() as session:
        over_http = CartesiaHttpTTSService(
            api_key=key,
            base_url=base,
            aiohttp_session=session,
            sample_rate=RATE_HZ,
            settings=CartesiaHttpTTSService.Settings(voice=voice),
        )
        heard.append(await converse(over_http, one_turn, turn=7))
    wrong = CartesiaTTSService(
        **{**given, "settings": CartesiaTTSService.Settings(voice=voice, language="ja")}
    )
    refused = await converse(wrong, an_error, turn=8)
    words, errors = {}, []
    for listener in heard:
        words |= listener.words
        errors += listener.errors
        for turn, sound in listener.audio.items():
            (folder / f"turn{turn}.pcm_s16le_24000").write_bytes(sound)
    print(json.dumps({"words": words, "errors": errors, "refused": refused.errors}))


async def an_error(worker: PipelineWorker, listener: Listener) -> None:
    await say(worker, TEXT)
    await until(lambda: bool(listener.errors))


if __name__ == "__main__":
    asyncio.run(main())
