"""What an interrupted listener heard, as the agent's message in the chat context.

LiveKit asks its audio output how far a speech was played, and what text that was; the text is an
estimate unless the output knows better. This output stands before the session's own one, hears
which context of the gateway the sound belongs to, and asks the gateway, which knows. The sound is
silenced before that.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from livekit import rtc
from livekit.agents import AgentSession
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT
from livekit.agents.voice import io

from clients.livekit.tts import Mark, Speech
from clients.python import GatewayClosedError
from clients.python.wire import Interrupted

ANSWER_TIMEOUT_S = 1.0  # four times what the gateway waits for its engine


def keep_heard_text(session: AgentSession) -> HeardOutput:
    """Put a `HeardOutput` before the session's audio output, once that is set.

    That is so after `session.start(room=...)`. Raises ValueError without an audio output.
    """
    output = session.output.audio
    if output is None:
        raise ValueError("expected a session with an audio output, got none: start it first")
    heard = HeardOutput(output)
    session.output.audio = heard
    return heard


class HeardOutput(io.AudioOutput):
    """Passes sound on; tells what was heard of it when it is interrupted."""

    def __init__(self, output: io.AudioOutput) -> None:
        super().__init__(
            label="VoiceGatewayHeard",
            capabilities=io.AudioOutputCapabilities(pause=True),
            next_in_chain=output,
        )
        self.answer: Interrupted | None = None  # to the newest interruption
        assert self.next_in_chain is not None
        self._output = self.next_in_chain  # LiveKit may have put something before `output`
        self._speech: Speech | None = None
        self._resampler: rtc.AudioResampler | None = None

    async def capture_frame(self, frame: rtc.AudioFrame) -> None:
        """Pass a frame on, at the rate of what is behind."""
        # No rate is asked for above, because frames that LiveKit resamples lose their marks.
        for mark in frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, ()):
            if isinstance(mark, Mark):
                mark.speech.asker = True
                self._speech = mark.speech
        await super().capture_frame(frame)
        for passed in self._resampled(frame):
            await self._output.capture_frame(passed)

    def flush(self) -> None:
        """The end of a speech."""
        super().flush()
        self._resampler = None
        self._output.flush()

    def clear_buffer(self) -> None:
        """Silence."""
        self._output.clear_buffer()

    async def wait_for_playout(self) -> io.PlaybackFinishedEvent:
        """What was played, and if it was interrupted, the text that was heard."""
        event = await super().wait_for_playout()
        if not event.interrupted or self._speech is None:
            return event
        answer = await _ask(self._speech, 1000.0 * event.playback_position)
        if answer is None:
            return event
        self.answer = answer
        return replace(event, synchronized_transcript=answer.heard_text)

    def _resampled(self, frame: rtc.AudioFrame) -> list[rtc.AudioFrame]:
        rate_hz = self._output.sample_rate
        if rate_hz is None or rate_hz == frame.sample_rate:
            return [frame]
        if self._resampler is None:
            self._resampler = rtc.AudioResampler(
                frame.sample_rate, rate_hz, num_channels=frame.num_channels
            )
        passed: list[rtc.AudioFrame] = self._resampler.push(frame)
        return passed


async def _ask(speech: Speech, played_ms: float) -> Interrupted | None:
    """The gateway's answer; None when it cannot be had."""
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            return await speech.heard(played_ms)
    except (GatewayClosedError, TimeoutError):
        return None
