"""A text-to-speech service of Pipecat over voice-gateway's own protocol.

Theory of operation. An audio context of Pipecat is a context of the gateway: text goes into it as
sentences come (or tokens), and one task hands what comes back to Pipecat, sound and words. Words
carry the time of their middle, from which on the gateway counts them as heard; so Pipecat writes
them into the conversation when they have been. An interruption silences Pipecat's transport and
cancels the gateway's context at the same moment; the answer, which is exact, then puts the newest
message right (see messages.py).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pipecat.frames.frames import (
    ErrorFrame,
    Frame,
    InterruptionFrame,
    LLMMessagesTransformFrame,
    TTSAudioRawFrame,
    TTSStoppedFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessorSetup
from pipecat.services.settings import NOT_GIVEN, NotGiven, TTSSettings
from pipecat.services.tts_service import TextAggregationMode, WebsocketTTSService
from pipecat.utils.types import is_given

from clients.heard.messages import with_heard
from clients.heard.playback import Playback
from clients.python import Client, GatewayClosedError, SpeechError, connect
from clients.python.wire import AudioPacket, Interrupted

KEEPALIVE_S = 60.0  # the gateway ends a context that nobody cares for, after minutes
QUIET_S = 60.0  # a context in which nothing happens for so long counts as over
_GONE = (GatewayClosedError, SpeechError, OSError, TimeoutError)
# These act on what is being spoken, the others on the next utterance.
_AT_ONCE = ("voice", "speed", "sampling")


@dataclass
class VoiceGatewayTTSSettings(TTSSettings):
    """What may change while the pipeline runs. The fields are those of `configure`.

    `model` and `language` mean nothing here: the checkpoint and the text decide. `extra` may hold
    further fields (`pronunciations`, `speak_directions`, ...).
    """

    speed: float | None | NotGiven = field(default_factory=lambda: NOT_GIVEN)
    sampling: dict[str, Any] | None | NotGiven = field(default_factory=lambda: NOT_GIVEN)


class VoiceGatewayTTSService(WebsocketTTSService):
    """Speaks through a gateway at `url`; see the module's text.

    Event handler `on_heard(service, context_id, interrupted)`: the gateway's answer to an
    interruption, with the heard text, the unspoken text and times.
    """

    Settings = VoiceGatewayTTSSettings
    _settings: VoiceGatewayTTSSettings

    def __init__(
        self,
        *,
        url: str = "ws://127.0.0.1:8080",
        api_key: str | None = None,
        sample_rate: int | None = None,
        lead_ms: int | None = None,
        text_aggregation_mode: TextAggregationMode | None = None,
        settings: VoiceGatewayTTSSettings | None = None,
        **kwargs: Any,
    ) -> None:
        """`sample_rate`: 8000 to 48000 Hz, the pipeline's by default. `lead_ms`: how far sound is
        sent ahead of being heard, the gateway's by default. `settings`: see there."""
        defaults = VoiceGatewayTTSSettings(
            model=None, voice=None, language=None, speed=None, sampling=None
        )
        if settings is not None:
            defaults.apply_update(settings)
        kwargs.setdefault("stop_frame_timeout_s", QUIET_S)
        super().__init__(
            text_aggregation_mode=text_aggregation_mode,
            push_text_frames=False,
            push_start_frame=True,
            append_trailing_space=True,
            sample_rate=sample_rate,
            settings=defaults,
            **kwargs,
        )
        self._url = url
        self._api_key = api_key
        self._lead_ms = lead_ms
        self._client: Client | None = None
        self._connection = contextlib.AsyncExitStack()
        self._connecting = asyncio.Lock()
        self._receive_task: Any = None
        self._utterances: dict[str, Playback] = {}
        self._stopped: list[tuple[Playback, Any]] = []  # and the tasks that ask what was heard
        self._register_event_handler("on_heard")

    def can_generate_metrics(self) -> bool:
        """Time to the first byte and to the first sound, and characters."""
        return True

    # --- the connection ---

    async def setup(self, setup: FrameProcessorSetup) -> None:
        """Connect, so that the first sentence need not wait for it."""
        await super().setup(setup)
        await self._connect()

    async def _connect(self) -> None:
        await super()._connect()
        await self._connect_websocket()
        if self._client is not None and not self._receive_task:
            self._receive_task = self.create_task(self._receive_task_handler(self._report_error))
            self._create_keepalive_task(KEEPALIVE_S)

    async def _disconnect(self) -> None:
        await super()._disconnect()
        await self._cancel_keepalive_task()
        if self._receive_task:
            await self.cancel_task(self._receive_task)
            self._receive_task = None
        await self._disconnect_websocket()

    async def _connect_websocket(self) -> None:
        async with self._connecting:
            if self._client is None or self._client.lost:
                await self._open_session()

    async def _open_session(self) -> None:
        await self._connection.aclose()
        try:
            # A short loss is mended by the client itself, without a gap in what is heard.
            self._client = await self._connection.enter_async_context(
                connect(self._url, api_key=self._api_key, resume=True)
            )
            await self._call_event_handler("on_connected")
        except (*_GONE, ValueError) as error:
            self._client = None
            await self.push_error(error_msg=f"no connection to {self._url}: {error}")
            await self._call_event_handler("on_connection_error", f"{error}")

    async def _reconnect_websocket(self, attempt_number: int) -> bool:
        """After a session was lost for good; its contexts end by themselves.

        The base would close what `run_tts` may have begun in a new session meanwhile.
        """
        await self._connect_websocket()
        if not await self._verify_connection():
            raise ConnectionError(f"{self}: no connection at attempt {attempt_number}")
        return True

    async def _disconnect_websocket(self) -> None:
        if self._client is None:
            return
        self._client = None
        await self.stop_all_metrics()
        await self._connection.aclose()
        await self._call_event_handler("on_disconnected")

    async def _verify_connection(self) -> bool:
        return self._client is not None and not self._client.lost

    async def _receive_messages(self) -> None:
        """Returns when the session is lost for good; its sound is read by a task per context."""
        if self._client is not None:
            await self._client.wait_lost()

    def _is_keepalive_ready(self) -> bool:
        return self._client is not None and not self._client.lost

    async def _send_keepalive(self) -> None:
        """An LLM may think, or wait for a tool, for longer than a context is kept."""
        for utterance in list(self._utterances.values()):
            if utterance.context.opened and not utterance.context.over and not utterance.ended:
                await utterance.context.configure()

    # --- text ---

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame | None, None]:
        """Hand over a sentence, or a token. What it sounds like comes by itself."""
        try:
            utterance = await self._utterance(context_id)
            await self.start_tts_usage_metrics(text)
            utterance.transcript.sent(text)
            await utterance.context.send(text)
            yield None
        except _GONE as error:
            yield ErrorFrame(f"{self} cannot speak: {error}", exception=error)
            if context_id not in self._utterances:  # otherwise its own task ends it
                await self._end_audio(context_id)

    async def flush_audio(self, context_id: str | None = None) -> None:
        """No more text comes for a context, the active one by default."""
        utterance = self._utterances.get(context_id or self.get_active_audio_context_id() or "")
        if utterance is not None and not utterance.ended:
            utterance.ended = True
            with contextlib.suppress(*_GONE):  # whoever listens is told
                await utterance.context.end()

    async def _utterance(self, context_id: str) -> Playback:
        utterance = self._utterances.get(context_id)
        # One that is over before its text is was lost or refused: the rest is said by another.
        if utterance is not None and (utterance.ended or not utterance.context.over):
            return utterance
        if self._client is None or self._client.lost:
            await self._connect()
        if self._client is None:
            raise GatewayClosedError("there is no connection to the gateway")
        meant = self._tts_contexts.get(context_id)
        utterance = Playback(
            self._client.context(**self._context_settings()),
            self.get_clock().get_time,
            self.sample_rate,
            meant is None or meant.append_to_context,
        )
        self._forget_old()
        self._utterances[context_id] = utterance
        self.create_task(self._listen(context_id, utterance))
        return utterance

    def _context_settings(self) -> dict[str, Any]:
        stored = {name: getattr(self._settings, name) for name in _AT_ONCE}
        given = {name: value for name, value in stored.items() if value and is_given(value)}
        if self._lead_ms is not None:
            given["lead_ms"] = self._lead_ms
        if not self._is_streaming_tokens:
            given["max_buffer_delay_ms"] = 0  # sentences come whole
        sound = {"codec": "pcm_s16le", "sample_rate_hz": self.sample_rate}
        return {**given, "format": sound, "words": True, **self._settings.extra}

    async def _update_settings(self, delta: TTSSettings) -> dict[str, Any]:
        changed: dict[str, Any] = await super()._update_settings(delta)
        now = {name: getattr(self._settings, name) for name in _AT_ONCE if name in changed}
        given = {name: value for name, value in now.items() if value}
        for utterance in list(self._utterances.values()):
            if given and not utterance.ended and not utterance.context.over:
                with contextlib.suppress(*_GONE):
                    await utterance.context.configure(**given)
        return changed

    # --- sound and words ---

    async def _listen(self, context_id: str, utterance: Playback) -> None:
        """Hand over what comes of one context, until it is over."""
        try:
            async for item in utterance.context.events():
                if isinstance(item, AudioPacket):
                    utterance.take_sound(item)
                    sound = TTSAudioRawFrame(
                        item.payload, self.sample_rate, 1, context_id=context_id
                    )
                    await self.append_to_audio_context(context_id, sound)
                    continue
                for piece in utterance.transcript.take(item):
                    utterance.pieces.append(piece)
                    at_s = (piece.middle_ms + utterance.late_ms) / 1000.0
                    await self.add_word_timestamps([(piece.text.strip(), at_s)], context_id)
        except (GatewayClosedError, SpeechError) as error:
            await self.push_error(error_msg=f"{self} stopped speaking: {error}", exception=error)
        if not utterance.context.silenced and self._utterances.get(context_id) is utterance:
            await self._end_audio(context_id)

    async def _end_audio(self, context_id: str) -> None:
        if self.audio_context_available(context_id):
            await self.append_to_audio_context(context_id, TTSStoppedFrame(context_id=context_id))
            await self.remove_audio_context(context_id)

    async def start_word_timestamps(self) -> None:
        """The first sound of a context is on its way to the transport."""
        playing = self._utterances.get(self.get_active_audio_context_id() or "")
        if playing is not None and playing.audible_from_ns is None:
            # Not before the words of the context before it, as Pipecat times its words.
            playing.audible_from_ns = max(
                self._word_timestamp_tracker.last_pts, self.get_clock().get_time()
            )
        await super().start_word_timestamps()

    def _forget_old(self) -> None:
        for context_id, utterance in list(self._utterances.items()):
            if not utterance.audible and not self.audio_context_available(context_id):
                del self._utterances[context_id]

    # --- interruptions ---

    async def on_audio_context_interrupted(self, context_id: str) -> None:
        """Cancel it at the gateway, at once; the answer is awaited elsewhere."""
        await self.stop_all_metrics()
        self._stop(context_id)
        await super().on_audio_context_interrupted(context_id)

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """As in the base; behind an interruption comes the text that was heard."""
        await super().process_frame(frame, direction)
        if isinstance(frame, InterruptionFrame):
            # Also what was sent in full, and is being heard still.
            for context_id in list(self._utterances):
                if not self.audio_context_available(context_id):
                    self._stop(context_id)
            stopped, self._stopped = self._stopped, []
            if stopped:
                self.create_task(self._write_heard(stopped))

    def _stop(self, context_id: str) -> None:
        utterance = self._utterances.pop(context_id, None)
        if utterance is None or not utterance.audible:
            return
        played_ms = utterance.played_ms()
        written = utterance.written_words()
        utterance.context.drop_pending_audio()
        asking = self.create_task(self._ask(context_id, utterance, played_ms))
        self._stopped.append((utterance, (asking, written)))

    async def _ask(
        self, context_id: str, utterance: Playback, played_ms: float
    ) -> Interrupted | None:
        try:
            answer = await utterance.context.interrupt(played_ms)
        except GatewayClosedError:
            return None
        if answer is not None:
            await self._call_event_handler("on_heard", context_id, answer)
        return answer

    async def _write_heard(self, stopped: list[tuple[Playback, Any]]) -> None:
        """Put the newest message right, in the order of speaking."""
        for utterance, (asking, (least, most)) in stopped:
            answer = await asking
            if answer is None or not utterance.in_conversation:
                continue
            transform = partial(
                with_heard,
                sent=utterance.transcript.text,
                heard=answer.heard_text,
                most_words=most,
                # What a transform wrote for the voice is not what the LLM said.
                may_append=not (least or self._text_transforms or self._text_filters),
            )
            frame = LLMMessagesTransformFrame(transform=transform, run_llm=False)
            frame.interruptible = False
            await self.push_frame(frame)
