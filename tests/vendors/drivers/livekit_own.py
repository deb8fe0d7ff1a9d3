"""LiveKit's own AgentSession with this project's TTS; prints what came out as one JSON object.

livekit_own.py ROOT URL KEY FOLDER SPEECH NEXT: a scripted LLM says SPEECH; in the middle of it the
user interrupts, and then the LLM says NEXT. FOLDER gets sound as WAV files.
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

from livekit import rtc  # noqa: E402
from livekit.agents import Agent, AgentSession, APIStatusError, llm  # noqa: E402
from livekit.agents.types import (  # noqa: E402
    DEFAULT_API_CONNECT_OPTIONS,
    USERDATA_TIMED_TRANSCRIPT,
)
from livekit.agents.voice import io  # noqa: E402
from livekit.agents.voice.transcription.synchronizer import (  # noqa: E402
    TranscriptSynchronizer,
)

from clients.livekit import TTS, keep_heard_text  # noqa: E402

SINK_RATE_HZ = 16_000  # not the voice's: what was heard must survive resampling
HEARD_MS = 1200.0
LIMIT_S = 200.0


class ScriptedLLM(llm.LLM):
    """Answers every chat with the next line, in pieces of three characters."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.lines = lines

    def chat(
        self,
        *,
        chat_ctx: Any,
        tools: Any = None,
        conn_options: Any = DEFAULT_API_CONNECT_OPTIONS,
        **_: Any,
    ) -> Any:
        return ScriptedStream(self, chat_ctx=chat_ctx, tools=tools or [], conn_options=conn_options)


class ScriptedStream(llm.LLMStream):
    async def _run(self) -> None:
        line = self._llm.lines.pop(0)  # type: ignore[attr-defined]
        for start in range(0, len(line), 3):
            await asyncio.sleep(0.005)
            delta = llm.ChoiceDelta(role="assistant", content=line[start : start + 3])
            self._event_ch.send_nowait(llm.ChatChunk(id="scripted", delta=delta))


class Loudspeaker(io.AudioOutput):
    """Plays in real time, into a list; what was cleared was not played."""

    def __init__(self) -> None:
        super().__init__(
            label="Loudspeaker",
            capabilities=io.AudioOutputCapabilities(pause=False),
            sample_rate=SINK_RATE_HZ,
        )
        self.pcm = bytearray()
        self._started_s: float | None = None
        self._pushed_s = 0.0
        self._played_from = 0
        self._ending: asyncio.Task[None] | None = None

    @property
    def position_s(self) -> float:
        if self._started_s is None:
            return 0.0
        return min(time.monotonic() - self._started_s, self._pushed_s)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        assert frame.sample_rate == SINK_RATE_HZ
        await super().capture_frame(frame)
        if self._started_s is None:
            self._started_s = time.monotonic()
            self._played_from = len(self.pcm)
            self.on_playback_started(created_at=time.time())
        self._pushed_s += frame.duration
        self.pcm += bytes(frame.data)

    def flush(self) -> None:
        super().flush()
        if self._started_s is not None and self._ending is None:
            self._ending = asyncio.create_task(self._end())

    def clear_buffer(self) -> None:
        if self._started_s is None:
            return
        if self._ending is not None:
            self._ending.cancel()
        self._finish(interrupted=True)

    async def _end(self) -> None:
        assert self._started_s is not None
        await asyncio.sleep(max(self._pushed_s - (time.monotonic() - self._started_s), 0.0))
        self._finish(interrupted=False)

    def _finish(self, *, interrupted: bool) -> None:
        position_s = self.position_s
        del self.pcm[self._played_from + 2 * round(position_s * SINK_RATE_HZ) :]
        self._started_s, self._pushed_s, self._ending = None, 0.0, None
        self.on_playback_finished(playback_position=position_s, interrupted=interrupted)


class Screen(io.TextOutput):
    """Shows the transcript."""

    def __init__(self) -> None:
        super().__init__(label="Screen", next_in_chain=None)
        self.texts: list[str] = []

    async def capture_text(self, text: str) -> None:
        self.texts.append(text)

    def flush(self) -> None:
        pass


def write_wav(name: str, pcm: bytes, rate_hz: int) -> str:
    path = Path(folder) / name
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm)
    return str(path)


async def until(condition: Any) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - a loudspeaker's position is no event
            await asyncio.sleep(0.01)


async def main() -> None:
    found: dict[str, Any] = {}
    metrics: list[Any] = []
    errors: list[str] = []
    tts = TTS(url, api_key=key, sampling={"temperature": 0.0})
    tts.on("metrics_collected", metrics.append)
    tts.on("error", lambda event: errors.append(str(event.error)))
    tts.prewarm()
    session: AgentSession[Any] = AgentSession(
        llm=ScriptedLLM([speech, following]), tts=tts, use_tts_aligned_transcript=True
    )
    speaker, screen = Loudspeaker(), Screen()
    # What a room's output consists of, too.
    synchronizer = TranscriptSynchronizer(next_in_chain_audio=speaker, next_in_chain_text=screen)
    session.output.audio = synchronizer.audio_output
    session.output.transcription = synchronizer.text_output
    agent = Agent(instructions="Be brief.")
    await session.start(agent, record=False)
    output = keep_heard_text(session)

    def spoken() -> list[dict[str, Any]]:
        items = [item for item in session.history.items if item.type == "message"]
        return [
            {"text": item.text_content, "interrupted": item.interrupted}
            for item in items
            if item.role == "assistant"
        ]

    session.generate_reply(user_input="First question.")
    await until(lambda: 1000.0 * speaker.position_s >= HEARD_MS)
    await session.interrupt()
    await until(spoken)
    assert output.answer is not None
    found["heard"] = output.answer.heard_text
    found["unspoken"] = output.answer.unspoken_text
    found["heard_ms"] = output.answer.heard_ms
    found["in_context"] = spoken()
    found["first"] = write_wav("first.wav", bytes(speaker.pcm), SINK_RATE_HZ)
    speaker.pcm.clear()
    screen.texts.clear()
    await session.generate_reply(user_input="Second question.")
    found["second"] = write_wav("second.wav", bytes(speaker.pcm), SINK_RATE_HZ)
    found["second_shown"] = "".join(screen.texts)
    found["second_in_context"] = spoken()
    # `say` goes another way through LiveKit; interrupted when all its sound has been made.
    handle = session.say("One moment, please.")
    await until(lambda: speaker.position_s > 0.3)
    await session.interrupt()
    await handle
    found["said"] = spoken()
    found["said_heard"] = output.answer.heard_text
    # The plain call, and one without a word in it.
    whole = await tts.synthesize(following).collect()
    found["whole"] = write_wav("whole.wav", bytes(whole.data), whole.sample_rate)
    found["silence_ms"] = 1000.0 * (await tts.synthesize("...").collect()).duration
    found["words"] = [
        (text, text.start_time, text.end_time)
        async for event in tts.synthesize(following)
        for text in event.frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, ())
        if text
    ]
    found["errors"] = list(errors)
    async with TTS(url, api_key=key, voice="nobody") as nobody:
        try:
            await nobody.synthesize(following).collect()
        except APIStatusError as error:
            found["refused"] = error.status_code
    found["metrics"] = [
        {
            "ttfb": m.ttfb,
            "duration": m.audio_duration,
            "characters": m.characters_count,
            "cancelled": m.cancelled,
        }
        for m in metrics
    ]
    await session.aclose()
    await synchronizer.aclose()
    await tts.aclose()
    print(json.dumps(found))


asyncio.run(main())
