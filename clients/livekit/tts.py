"""A TTS of LiveKit Agents over voice-gateway's own protocol.

Every stream is a context of one shared session. Words go along with the sound that they lie in, so
that LiveKit's transcripts are aligned. When LiveKit drops a stream, its context is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any

from livekit.agents import APIConnectionError, APIError, APIStatusError, tts, utils
from livekit.agents.types import DEFAULT_API_CONNECT_OPTIONS, APIConnectOptions, TimedString

from clients.heard.words import Transcript
from clients.python import Client, Context, GatewayClosedError, SpeechError, connect
from clients.python.wire import AudioPacket, Interrupted

RATE_HZ = 24_000
SILENCE_MS = 20  # for a text without words: LiveKit takes no sound for a failure
ASK_TIMEOUT_S = 0.2
_CODES = {"unauthorized": 401, "forbidden": 403, "unknown_voice": 404, "overloaded": 503}


@dataclass(slots=True)
class Speech:
    """A context that somebody plays. Who knows how far it was played asks what was heard."""

    context: Context
    asker: bool = False  # there is somebody who knows
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def heard(self, played_ms: float) -> Interrupted | None:
        """Stop it. Raises GatewayClosedError."""
        self.asked.set()
        return await self.context.interrupt(played_ms)

    async def cancel(self) -> None:
        """Stop it, and leave a moment to who knows how far it was played."""
        if self.asker:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.asked.wait(), ASK_TIMEOUT_S)
        await self.context.interrupt()


class Mark(TimedString):
    """An empty piece of transcript, which tells what the sound behind it belongs to."""

    speech: Speech

    @classmethod
    def of(cls, speech: Speech) -> Mark:
        """The mark of one speech."""
        mark = cls("")
        mark.speech = speech
        return mark


class TTS(tts.TTS[Any]):
    """Speaks through the gateway at `url`.

    `settings`: further fields of `configure` in PROTOCOL.md (`speed`, `sampling`, `lead_ms`, ...).
    """

    def __init__(
        self,
        url: str = "ws://127.0.0.1:8080",
        *,
        api_key: str | None = None,
        voice: str | None = None,
        sample_rate: int = RATE_HZ,
        **settings: Any,
    ) -> None:
        super().__init__(
            capabilities=tts.TTSCapabilities(streaming=True, aligned_transcript=True),
            sample_rate=sample_rate,
            num_channels=1,
        )
        self._url = url
        self._api_key = api_key
        self._settings = settings if voice is None else {"voice": voice, **settings}
        self._client: Client | None = None
        self._connection = contextlib.AsyncExitStack()
        self._connecting = asyncio.Lock()
        self._streams: set[SynthesizeStream] = set()
        self._warming: asyncio.Task[None] | None = None

    @property
    def model(self) -> str:
        """The checkpoint, once it is known."""
        return self._client.hello.engine.checkpoint if self._client else "unknown"

    @property
    def provider(self) -> str:
        """Who speaks."""
        return "voice-gateway"

    def update_options(self, **settings: Any) -> None:
        """Settings of later streams; `voice`, `speed` and `sampling` also of those that run."""
        self._settings = {**self._settings, **settings}
        at_once = {k: v for k, v in settings.items() if k in ("voice", "speed", "sampling")}
        for stream in list(self._streams):
            stream.configure_soon(at_once)

    def synthesize(
        self, text: str, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> tts.ChunkedStream:
        """Say one text."""
        return self._synthesize_with_stream(text, conn_options=conn_options)

    def stream(
        self, *, conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS
    ) -> SynthesizeStream:
        """Say text as it comes."""
        stream = SynthesizeStream(self, conn_options)
        self._streams.add(stream)
        return stream

    def prewarm(self) -> None:
        """Connect before the first stream; a failure shows there."""
        self._warming = asyncio.create_task(self._warm())

    async def aclose(self) -> None:
        """End all streams and hang up."""
        if self._warming is not None:
            await utils.aio.cancel_and_wait(self._warming)
        for stream in list(self._streams):
            await stream.aclose()
        self._client = None
        await self._connection.aclose()

    async def open_context(self, timeout_s: float) -> tuple[Client, Context]:
        """A new utterance of a session that stands. Raises what `connect` raises."""
        async with self._connecting:
            if self._client is None or self._client.lost:
                await self._connection.aclose()
                self._client = await self._connection.enter_async_context(
                    connect(self._url, api_key=self._api_key, open_timeout_s=timeout_s, resume=True)
                )
        sound = {"codec": "pcm_s16le", "sample_rate_hz": self.sample_rate}
        context = self._client.context(**{**self._settings, "format": sound, "words": True})
        return self._client, context

    def forget(self, stream: SynthesizeStream) -> None:
        """A stream is over."""
        self._streams.discard(stream)

    async def _warm(self) -> None:
        with contextlib.suppress(OSError, SpeechError, TimeoutError):
            await self.open_context(DEFAULT_API_CONNECT_OPTIONS.timeout)


class SynthesizeStream(tts.SynthesizeStream):
    """One utterance: text is pushed, sound and words come out."""

    def __init__(self, owner: TTS, conn_options: APIConnectOptions) -> None:
        super().__init__(tts=owner, conn_options=conn_options)
        self._owner = owner
        self._context: Context | None = None
        self._configuring: set[asyncio.Task[None]] = set()

    def configure_soon(self, settings: dict[str, Any]) -> None:
        """Change what is being spoken."""
        if settings and self._context is not None and not self._context.over:
            task = asyncio.create_task(self._configure(self._context, settings))
            self._configuring.add(task)
            task.add_done_callback(self._configuring.discard)

    async def aclose(self) -> None:
        """Stop at once."""
        await super().aclose()
        self._owner.forget(self)

    async def _configure(self, context: Context, settings: dict[str, Any]) -> None:
        with contextlib.suppress(GatewayClosedError):  # the stream itself says so
            await context.configure(**settings)

    async def _run(self, output_emitter: tts.AudioEmitter) -> None:
        output_emitter.initialize(
            request_id=utils.shortuuid(),
            sample_rate=self._owner.sample_rate,
            num_channels=1,
            mime_type="audio/pcm",
            stream=True,
        )
        try:
            client, context = await self._owner.open_context(self._conn_options.timeout)
        except SpeechError as error:
            raise _api_error(error) from error
        except (OSError, TimeoutError) as error:
            raise APIConnectionError(f"no voice-gateway: {error}") from error
        await self._speak(client, context, output_emitter)

    async def _speak(self, client: Client, context: Context, emitter: tts.AudioEmitter) -> None:
        transcript, speech = Transcript(), Speech(context)
        self._context = context
        emitter.start_segment(segment_id=context.id)
        emitter.push_timed_transcript(Mark.of(speech))
        feeding = asyncio.create_task(self._feed(context, transcript))
        try:
            await self._listen(context, transcript, emitter)
            await feeding
        except SpeechError as error:
            raise _api_error(error) from error
        except GatewayClosedError as error:
            raise APIConnectionError(f"voice-gateway is gone: {error}") from error
        finally:
            feeding.cancel()
            if context.opened and not context.over and not context.silenced:
                context.drop_pending_audio()
                client.spawn(speech.cancel())  # whoever interrupts must not wait
            self._owner.forget(self)

    async def _feed(self, context: Context, transcript: Transcript) -> None:
        async for data in self._input_ch:
            if isinstance(data, str):
                self._mark_started()
                transcript.sent(data)
                await context.send(data)
            elif context.opened:
                await context.flush()
        await context.end()

    async def _listen(
        self, context: Context, transcript: Transcript, emitter: tts.AudioEmitter
    ) -> None:
        sounded = False
        async for item in context.events():
            if isinstance(item, AudioPacket):
                sounded = True
                emitter.push(item.payload)
            for piece in transcript.take(item):
                start_s, end_s = piece.start_ms / 1000.0, piece.end_ms / 1000.0
                emitter.push_timed_transcript(TimedString(piece.text, start_s, end_s))
        if not sounded and not context.silenced and transcript.text:
            samples = self._owner.sample_rate * SILENCE_MS // 1000
            emitter.push(bytes(2 * samples))
        emitter.end_segment()


def _api_error(error: SpeechError) -> APIError:
    """LiveKit's error for ours; it tries again what may go better the next time."""
    if error.code == "engine_failed":
        return APIError(str(error), retryable=True)
    return APIStatusError(
        str(error), status_code=_CODES.get(error.code, 400), retryable=error.code == "overloaded"
    )
