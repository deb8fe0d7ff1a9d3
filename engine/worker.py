"""One worker: SGLang, the codec and the voices behind the SpeechEngine interface.

What a local process serves (`engine.serve`) and what a replica of a cluster runs. A request's way:
admission -> prompt -> SGLang -> codec slot -> frames. Whatever ends it, its codec slot and its
place in SGLang's batch are given back exactly once, in `_speak`'s finally.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from engine import api
from engine.admission import Admission
from engine.cache_salt import voice_salt
from engine.checkpoint import Checkpoint
from engine.codec.config import CodecConfig
from engine.codec.decoder import StreamingDecoder
from engine.codec_loop import CodecLoop
from engine.config import EngineConfig
from engine.errors import PromptError, TextError
from engine.language import LanguageEngine
from engine.models.request_table import RowSettings
from engine.models.sampling import MAX_TOP_K
from engine.prompt import PromptBuilder, Turn, codes_from_bytes
from engine.tokenizer import load_tokenizer
from engine.voice_encoder import VoiceEncoder
from engine.voices import VoiceStore

# The reference's API defaults, where neither request nor checkpoint says otherwise
_TEMPERATURE, _TOP_P, _TOP_K = 0.8, 0.8, 30

# A cap that no honest segment reaches: speech needs about 1.4 frames per letter, 5 per CJK sign
# (3 bytes); the constant covers pauses and very short texts.
_CAP_FRAMES, _CAP_FRAMES_PER_BYTE = 40, 4

_ABORT_TIMEOUT_S = 2.0


@dataclass(slots=True)
class _Stream:
    """A running request. `ended` is set when SGLang has confirmed its end."""

    frames: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class SpeechWorker:
    """An `engine.api.SpeechEngine` in this very process. Build it in the main thread."""

    def __init__(
        self, config: EngineConfig, progress: Callable[[str], None] = lambda _: None
    ) -> None:
        """Load everything, telling `progress`. Raises CheckpointError, EngineStartError."""
        self._config = config
        self._checkpoint = Checkpoint.open(config.checkpoint)
        self._codec_config = CodecConfig.from_checkpoint(config.checkpoint)
        self._prompts = PromptBuilder(load_tokenizer(self._checkpoint), self._checkpoint)
        progress("loading the codec")
        self._codec = CodecLoop(
            StreamingDecoder.from_checkpoint(config.checkpoint, max_slots=config.max_streams)
        )
        self._voices = VoiceStore(
            VoiceEncoder(config.checkpoint), self._checkpoint.config.num_codebooks
        )
        for folder in (config.checkpoint / "voices", config.voices):
            if folder is not None and folder.is_dir():
                self._voices.load_folder(folder)
        progress("starting SGLang")
        self._language = LanguageEngine(self._checkpoint, config)
        self._streams: dict[str, _Stream] = {}
        self._admission = Admission(config.max_streams, config.max_waiting)
        self._frames_total = self._prompt_tokens = self._cached_tokens = 0

    @property
    def info(self) -> api.EngineInfo:
        """What this worker is."""
        return api.EngineInfo(
            checkpoint=self._config.checkpoint.name,
            sample_rate_hz=self._codec_config.sample_rate_hz,
            frame_samples=self._codec_config.frame_samples,
            num_codebooks=self._checkpoint.config.num_codebooks,
            max_streams=self._config.max_streams,
            max_frames=self._max_frames(),
            voices=self._voices.names,
        )

    async def start(self) -> api.EngineInfo:
        """Start the codec's thread and speak one word, so that no user pays for first calls."""
        self._codec.start()
        await self.warm(api.DEFAULT_VOICE)
        return self.info

    async def close(self) -> None:
        """End the thread and SGLang's processes."""
        await self._codec.stop()
        self._language.close()

    async def speak(self, request: api.SpeechRequest) -> AsyncIterator[api.Frames | api.Finished]:
        """Speak one segment; see `engine.api`."""
        if request.request_id in self._streams:
            raise api.InvalidRequestError(f"request id {request.request_id!r} is in use")
        stream = self._streams[request.request_id] = _Stream()
        try:
            if not await self._admission.enter(request.request_id, request.priority):
                yield api.Finished(api.FinishReason.ABORTED, 0, 0, 0)
                return
            try:
                async with aclosing(self._speak(request, stream)) as events:
                    async for event in events:
                        yield event
            finally:
                self._admission.leave()
        finally:
            stream.ended.set()
            del self._streams[request.request_id]

    async def _speak(
        self, request: api.SpeechRequest, stream: _Stream
    ) -> AsyncGenerator[api.Frames | api.Finished, None]:
        references = self._voices.references(request.voice)
        width = self._checkpoint.config.num_codebooks
        try:
            history = [
                Turn(turn.text, codes_from_bytes(turn.codes, width)) for turn in request.history
            ]
            prompt = self._prompts.build(request.text, references, history)
        except (PromptError, TextError) as error:
            raise api.InvalidRequestError(str(error)) from error
        steps = self._language.generate(
            request.request_id,
            prompt,
            self._settings(request.sampling),
            self._cap(request),
            voice_salt(references),
            request.priority,
        )
        slot = self._codec.open()
        finish = None
        try:
            async for step in steps:
                finish = step.finish
                if step.codes:
                    raw = b"".join(step.codes)
                    first, stream.frames = stream.frames, stream.frames + len(step.codes)
                    pcm = await self._codec.decode(slot, codes_from_bytes(raw, width))
                    yield api.Frames(first, pcm.astype("<f4", copy=False).tobytes(), raw)
            self._frames_total += stream.frames
            self._prompt_tokens += step.prompt_tokens
            self._cached_tokens += step.cached_tokens
            yield api.Finished(
                _FINISH[finish or "abort"], stream.frames, step.prompt_tokens, step.cached_tokens
            )
        finally:
            if finish is None:  # the caller left, or something failed: nobody reads the rest
                self._language.abort(request.request_id)
            await self._codec.release(slot)

    async def abort(self, request_id: str) -> api.AbortResult:
        """Stop a request and wait, for a bounded time, until SGLang has dropped it."""
        stream = self._streams.get(request_id)
        if stream is None:
            return api.AbortResult(confirmed=True, frames_after=0)
        before = stream.frames
        self._admission.cancel(request_id)
        self._language.abort(request_id)
        try:
            await asyncio.wait_for(stream.ended.wait(), _ABORT_TIMEOUT_S)
        except TimeoutError:
            return api.AbortResult(confirmed=False, frames_after=stream.frames - before)
        return api.AbortResult(confirmed=True, frames_after=stream.frames - before)

    async def warm(self, voice: str) -> None:
        """Prefill the voice's prefix by one frame of speech. Raises UnknownVoiceError."""
        request = api.SpeechRequest(
            f"warm-{secrets.token_hex(8)}", ".", voice, sampling=api.Sampling(top_k=1, max_frames=1)
        )
        async for _ in self.speak(request):
            pass

    async def add_voice(self, sample: api.VoiceSample) -> None:
        """Encode a recording (in a thread) and register it."""
        await asyncio.to_thread(self._voices.add, sample.name, sample.audio, sample.transcript)

    async def remove_voice(self, name: str) -> None:
        """Forget a voice."""
        self._voices.remove(name)

    async def stats(self) -> api.EngineStats:
        """Counters, as of now."""
        return api.EngineStats(
            running=self._admission.running,
            waiting=self._admission.waiting,
            free_slots=self._admission.free,
            frames_total=self._frames_total,
            prompt_tokens_total=self._prompt_tokens,
            cached_tokens_total=self._cached_tokens,
        )

    def _max_frames(self) -> int:
        # the answer may take what the longest prompt leaves of the context, less the end token
        context = self._checkpoint.config.text_config.max_seq_len
        return context - self._prompts.max_prompt_tokens - 1

    def _cap(self, request: api.SpeechRequest) -> int:
        asked = request.sampling.max_frames
        if asked is None:
            asked = _CAP_FRAMES + _CAP_FRAMES_PER_BYTE * len(request.text.encode())
        elif asked < 1:
            raise api.InvalidRequestError(f"max_frames: expected at least 1, got {asked}")
        return min(asked, self._max_frames())

    def _settings(self, asked: api.Sampling) -> RowSettings:
        """The request's sampling, the checkpoint's, ours: the first that says anything."""
        default = self._checkpoint.config.voice_gateway.sampling
        temperature = _first(asked.temperature, default.temperature, _TEMPERATURE)
        residual = _first(asked.residual_temperature, default.residual_temperature, temperature)
        top_p = _first(asked.top_p, default.top_p, _TOP_P)
        top_k = _first(asked.top_k, default.top_k, _TOP_K)
        if not (0 <= temperature <= 10 and 0 <= residual <= 10):
            raise api.InvalidRequestError(f"temperature: expected 0 to 10, got {temperature}")
        if not 0 < top_p <= 1:
            raise api.InvalidRequestError(f"top_p: expected above 0 and at most 1, got {top_p}")
        if not 1 <= top_k <= MAX_TOP_K:
            raise api.InvalidRequestError(f"top_k: expected 1 to {MAX_TOP_K}, got {top_k}")
        seed = secrets.randbits(63) if asked.seed is None else asked.seed
        return RowSettings(temperature, residual, top_p, int(top_k), seed, min_frames=1)


_FINISH = {
    "stop": api.FinishReason.STOP,
    "length": api.FinishReason.LENGTH,
    "abort": api.FinishReason.ABORTED,
}


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)
