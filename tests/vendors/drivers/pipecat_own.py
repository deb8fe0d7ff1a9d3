"""Pipecat's own pipeline with this project's service; prints what came out as one JSON object.

pipecat_own.py ROOT URL KEY FOLDER SPEECH NEXT: a scripted LLM says SPEECH; when some words of it
have been heard the user interrupts, and then the LLM says NEXT. FOLDER gets sound as WAV files.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import wave
from pathlib import Path
from typing import Any

root, url, key, folder, speech, following = sys.argv[1:]
sys.path.insert(0, root)

from loguru import logger  # noqa: E402
from pipecat.frames.frames import (  # noqa: E402
    BotStoppedSpeakingFrame,
    Frame,
    InterruptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMMessagesAppendFrame,
    LLMTextFrame,
    MetricsFrame,
    OutputAudioRawFrame,
    StartFrame,
    TTSSpeakFrame,
    TTSTextFrame,
    TTSUpdateSettingsFrame,
)
from pipecat.metrics.metrics import TTFBMetricsData, TTSUsageMetricsData  # noqa: E402
from pipecat.pipeline.pipeline import Pipeline  # noqa: E402
from pipecat.pipeline.worker import PipelineParams, PipelineWorker  # noqa: E402
from pipecat.processors.aggregators.llm_context import LLMContext  # noqa: E402
from pipecat.processors.aggregators.llm_response_universal import (  # noqa: E402
    LLMContextAggregatorPair,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor  # noqa: E402
from pipecat.transports.base_output import BaseOutputTransport  # noqa: E402
from pipecat.transports.base_transport import TransportParams  # noqa: E402
from pipecat.workers.runner import WorkerRunner  # noqa: E402

from clients.pipecat import VoiceGatewayTTSService, VoiceGatewayTTSSettings  # noqa: E402

RATE_HZ = 24_000
HEARD_WORDS = 4
LIMIT_S = 200.0


class ScriptedLLM(FrameProcessor):
    """Answers every context with the next line, in pieces of three characters."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.lines = lines

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        line = self.lines.pop(0)
        await self.push_frame(LLMFullResponseStartFrame())
        for start in range(0, len(line), 3):
            await asyncio.sleep(0.005)
            await self.push_frame(LLMTextFrame(line[start : start + 3]))
        await self.push_frame(LLMFullResponseEndFrame())


class Loudspeaker(BaseOutputTransport):
    """Plays in real time, into a list."""

    def __init__(self) -> None:
        super().__init__(
            TransportParams(
                audio_out_enabled=True, audio_out_sample_rate=RATE_HZ, audio_out_auto_silence=False
            )
        )
        self.pcm = bytearray()
        self._due_s = 0.0

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        self.pcm += frame.audio
        now_s = time.monotonic()
        self._due_s = max(self._due_s, now_s) + len(frame.audio) / 2 / RATE_HZ
        await asyncio.sleep(self._due_s - now_s)
        return True


class Witness(FrameProcessor):
    """Behind the loudspeaker: what comes out of the pipeline, and when."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[tuple[str, float]] = []
        self.metrics: list[str] = []
        self.errors: list[str] = []
        self.stopped = 0
        self.moved = asyncio.Event()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        match frame:
            case TTSTextFrame():
                self.words.append((frame.text, (frame.pts or 0) / 1e9))
            case MetricsFrame():
                for data in frame.data:
                    if isinstance(data, (TTFBMetricsData, TTSUsageMetricsData)) and data.value:
                        self.metrics.append(type(data).__name__)
            case BotStoppedSpeakingFrame():
                self.stopped += direction == FrameDirection.DOWNSTREAM
        self.moved.set()
        await self.push_frame(frame, direction)

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not condition():
                self.moved.clear()
                await self.moved.wait()


def write_wav(name: str, pcm: bytes) -> str:
    path = Path(folder) / name
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(pcm)
    return str(path)


async def main() -> None:
    heard: list[Any] = []
    sessions: list[str | None] = []
    tts = VoiceGatewayTTSService(
        url=url,
        api_key=key,
        settings=VoiceGatewayTTSSettings(
            sampling={"temperature": 0.0}, extra={"carry_prosody": False}
        ),
    )

    @tts.event_handler("on_error")
    async def on_error(_service: Any, error: Any) -> None:
        witness.errors.append(error.error)
        witness.moved.set()

    @tts.event_handler("on_heard")
    async def on_heard(_service: Any, _context_id: str, answer: Any) -> None:
        heard.append(answer)
        witness.moved.set()

    @tts.event_handler("on_connected")
    async def on_connected(service: Any) -> None:
        sessions.append(service._client.hello.session if service._client else None)

    context = LLMContext([{"role": "system", "content": "Be brief."}])
    pair = LLMContextAggregatorPair(context)
    speaker, witness = Loudspeaker(), Witness()
    llm = ScriptedLLM([speech, following, following])
    worker = PipelineWorker(
        Pipeline([pair.user(), llm, tts, speaker, witness, pair.assistant()]),
        params=PipelineParams(
            audio_out_sample_rate=RATE_HZ, enable_metrics=True, enable_usage_metrics=True
        ),
    )
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())

    def says(text: str) -> LLMMessagesAppendFrame:
        return LLMMessagesAppendFrame([{"role": "user", "content": text}], run_llm=True)

    def spoken() -> list[str]:
        return [m["content"] for m in context.messages if m["role"] == "assistant"]

    async def played_out(turns: int) -> None:
        """The message is complete in the middle of its last word: wait for the rest of it."""
        await witness.until(lambda: len(spoken()) == turns)
        stopped = witness.stopped
        await witness.until(lambda: witness.stopped > stopped)

    await worker.queue_frame(says("First question."))
    await witness.until(lambda: len(witness.words) >= HEARD_WORDS)
    await worker.queue_frame(InterruptionFrame())
    await witness.until(lambda: heard)
    await asyncio.sleep(0.3)
    found: dict[str, Any] = {
        "heard": heard[0].heard_text,
        "unspoken": heard[0].unspoken_text,
        "in_context": list(spoken()),
        "words": list(witness.words),
        "first": write_wav("first.wav", bytes(speaker.pcm)),
    }
    speaker.pcm.clear()
    silent_after = len(speaker.pcm)
    await asyncio.sleep(0.5)
    found["sound_after_interruption"] = len(speaker.pcm) - silent_after
    witness.words.clear()
    await worker.queue_frame(says("Second question."))
    await played_out(2)
    found["second"] = write_wav("second.wav", bytes(speaker.pcm))
    found["second_words"] = list(witness.words)
    # Settings act on what comes.
    speaker.pcm.clear()
    faster = VoiceGatewayTTSSettings(speed=1.5)
    await worker.queue_frame(TTSUpdateSettingsFrame(delta=faster, service=tts))
    await worker.queue_frame(says("Third question."))
    await played_out(3)
    found["third"] = write_wav("third.wav", bytes(speaker.pcm))
    # The transport still plays what was sent in full: that interruption counts as well.
    await worker.queue_frame(TTSSpeakFrame("One moment, please.", append_to_context=True))
    words = len(witness.words)
    await witness.until(lambda: len(witness.words) > words)
    await worker.queue_frame(InterruptionFrame())
    await witness.until(lambda: len(heard) > 1)
    await asyncio.sleep(0.3)
    found["late_heard"] = heard[-1].heard_text
    found["messages"] = list(context.messages)
    found["metrics"] = witness.metrics
    found["errors"] = list(witness.errors)
    # A voice that nobody has is an error of what is said with it, and of nothing else.
    for voice in ("nobody", "default"):
        delta = VoiceGatewayTTSSettings(voice=voice)
        await worker.queue_frame(TTSUpdateSettingsFrame(delta=delta, service=tts))
        await worker.queue_frame(TTSSpeakFrame("Once more.", append_to_context=True))
        if voice == "nobody":
            await witness.until(lambda: len(witness.errors) > len(found["errors"]))
    await witness.until(lambda: witness.words[-1][0] == "more.")
    found["refused"] = witness.errors[len(found["errors"]) :]
    # A session that is lost for good is followed by another.
    assert tts._client is not None
    await tts._client.aclose()
    await worker.queue_frame(TTSSpeakFrame("And again.", append_to_context=True))
    await witness.until(lambda: witness.words[-1][0] == "again.")
    found["sessions"] = sessions
    await worker.cancel()
    await running
    print(json.dumps(found))


logger.remove()
logger.add(sys.stderr, level="WARNING")
asyncio.run(main())
