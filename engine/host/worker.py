"""One worker: SGLang, the codec and the voices behind the SpeechEngine interface.

What a local process serves (`engine.link.server`) and what a replica of a cluster runs. A
request's way: admission -> prompt -> SGLang -> codec slot -> frames. Whatever ends it, its codec
slot and its place in SGLang's batch are freed exactly once, in `_steps`' finally.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from engine import api
from engine.checkpoint.folder import Checkpoint
from engine.codec.decoder import StreamingDecoder
from engine.codec.sizes import CodecConfig
from engine.errors import PromptError, TextError, UnspeakableError
from engine.host.admission import Admission
from engine.host.cache_salt import voice_salt
from engine.host.codec_loop import CodecLoop
from engine.host.guard import Attempt, Guard
from engine.host.holding import Holding
from engine.host.pace import Pace
from engine.host.ranks import Ranks
from engine.host.sampling_defaults import frame_cap, row_settings
from engine.host.segment import Asked, Segment
from engine.host.voice_encoder import VoiceEncoder
from engine.host.voices import VoiceStore
from engine.host.watch import Reading, Script
from engine.plugin.language import CodeStep, LanguageEngine
from engine.plugin.startup import uses_cuda
from engine.text.prompt import Prompt, PromptBuilder, Reference, Turn, codes_from_bytes
from engine.text.registry import load_tokenizer
from engine.worker_config import EngineConfig

_ABORT_TIMEOUT_S = 2.0

_WARM_TEXT = "Yes."  # any checkpoint must be able to read it: a phone front end knows no bare "."
_WARM_FRAMES = 4  # spoken by each stream of the warm-up: enough to time a step
_WARM_VOICE = "(warm-up)"  # no client's voice can have this name


@dataclass(slots=True)
class _Stream:
    """A running request. `ended` is set when SGLang has confirmed its end."""

    frames: int = 0
    aborted: bool = False
    segment: Segment | None = None  # once SGLang is asked
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
        tokenizer = load_tokenizer(self._checkpoint, config.foreign_text)
        self._speaks_tags, self._languages = tokenizer.speaks_tags, tokenizer.languages
        self._prompts = PromptBuilder(tokenizer, self._checkpoint)
        progress("loading the codec")
        device = "cuda" if uses_cuda(config) else "cpu"
        self._codec = CodecLoop(
            StreamingDecoder.from_checkpoint(config.checkpoint, config.max_streams, device)
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
        pace = Pace(self.info.frame_ms)
        self._admission = Admission(config.max_streams, config.max_waiting, pace)
        self._ranks = Ranks()
        self._frames_total = self._prompt_tokens = self._cached_tokens = self._retractions = 0
        self._skipped_words = self._retries = 0

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
            wants_words=self._checkpoint.config.voice_gateway.wants_words,
            speaks_tags=self._speaks_tags,
            languages=self._languages,
        )

    async def start(self) -> api.EngineInfo:
        """Start the codec's thread and speak: alone, with a cloned voice, and in a full batch.

        So no user pays for first calls, the pace knows what a step takes, and a part that is not
        in its place fails here, not in a user's ear.
        """
        self._codec.start()
        await self._warm(api.DEFAULT_VOICE, _WARM_FRAMES)
        codes = np.zeros((_WARM_FRAMES, self._checkpoint.config.num_codebooks), np.uint16)
        self._voices.put(_WARM_VOICE, Reference(_WARM_TEXT, codes))
        try:
            await self._warm(_WARM_VOICE, _WARM_FRAMES)
        finally:
            await self.remove_voice(_WARM_VOICE)
        streams = range(self._config.max_streams)
        await asyncio.gather(*(self._warm(api.DEFAULT_VOICE, _WARM_FRAMES) for _ in streams))
        self._admission.holds_back = self._config.paced
        return self.info

    async def broken(self) -> BaseException:
        """Wait until this process can speak no more; returns why. Then only a new one can."""
        return await self._codec.broken()

    async def close(self) -> None:
        """End the thread and SGLang's processes."""
        await self._codec.stop()
        self._language.close()

    async def speak(self, request: api.SpeechRequest) -> AsyncIterator[api.SpeechEvent]:
        """Speak one segment; see `engine.api`."""
        if request.request_id in self._streams:
            raise api.InvalidRequestError(f"request id {request.request_id!r} is in use")
        stream = self._streams[request.request_id] = _Stream()
        try:
            if not await self._admission.enter(request.request_id, request.priority):
                yield api.Finished(api.FinishReason.ABORTED, 0, 0, 0)
                return
            try:
                if stream.aborted:
                    yield api.Finished(api.FinishReason.ABORTED, 0, 0, 0)
                    return
                async with aclosing(self._speak(request, stream)) as events:
                    async for event in events:
                        yield event
            finally:
                self._admission.leave(request.request_id)
        finally:
            stream.ended.set()
            del self._streams[request.request_id]

    async def _speak(
        self, request: api.SpeechRequest, stream: _Stream
    ) -> AsyncGenerator[api.SpeechEvent, None]:
        references = self._voices.references(request.voice)
        settings = row_settings(
            request.sampling, self._checkpoint.config.voice_gateway.sampling, self._config.style
        )
        try:
            prompt = self._prompt(request, references)
        except UnspeakableError:  # a lone tag or mark: said, in no time
            yield api.Finished(api.FinishReason.STOP, 0, 0, 0)
            return
        rank = self._ranks.ask(request.voice) if references else self._ranks.ordinary
        stream.segment = segment = Segment(
            self._language,
            request.request_id,
            partial(self._asked, request, references, prompt),
            settings,
            frame_cap(request.sampling, request.text, self._max_frames()),
            voice_salt(references),
            rank,
            stream.aborted,
        )
        guard = self._guard(request, prompt, segment)
        if self._has_heads:
            yield api.TextTokens(prompt.token_spans)
        steps = segment.ask(Attempt()) if guard is None else guard.steps()
        prefilled = False
        steps_of = self._steps(request.request_id, stream, segment, steps, guard is not None)
        async with aclosing(steps_of) as decoded:
            async for step, frames in decoded:
                if references and not prefilled and step.prompt_tokens:
                    prefilled = True
                    found = step.cached_tokens >= prompt.code_spans[0][1]
                    self._ranks.prefilled(request.voice, rank, found)
                if frames is not None:
                    yield frames
        skipped, retries = (guard.skipped_words, guard.retries) if guard is not None else (0, 0)
        self._count(step, stream.frames, skipped, retries)
        yield api.Finished(
            _FINISH[step.finish or "abort"],
            stream.frames,
            step.prompt_tokens,
            step.cached_tokens,
            skipped,
            retries,
        )

    @property
    def _has_heads(self) -> bool:
        return bool(self._checkpoint.config.voice_gateway.alignment_heads)

    def _guard(self, request: api.SpeechRequest, prompt: Prompt, segment: Segment) -> Guard | None:
        """Who watches over the segment, where the checkpoint shows which token it speaks."""
        if not (self._has_heads and self._config.guarded):
            return None
        frame_ms = self.info.frame_ms
        return Guard(
            segment.ask,
            segment.stop,
            partial(self._admission.progress, request.request_id),
            Reading(Script.of(request.text, prompt.token_spans), frame_ms),
            Holding(
                frame_ms,
                request.lead_ms,
                time.monotonic(),
                seeded=request.sampling.seed is not None,
                continues=bool(request.history),
            ),
        )

    async def _steps(
        self,
        request_id: str,
        stream: _Stream,
        segment: Segment,
        steps: AsyncGenerator[CodeStep],
        guarded: bool,
    ) -> AsyncGenerator[tuple[CodeStep, api.Frames | None], None]:
        """Each step of SGLang's with its frames, decoded."""
        width = self._checkpoint.config.num_codebooks
        slot = await self._codec.open()
        finish = None
        try:
            async for step in steps:
                finish = step.finish
                if not step.codes:
                    yield step, None
                    continue
                raw = b"".join(step.codes)
                first, stream.frames = stream.frames, stream.frames + len(step.codes)
                pcm = await self._codec.decode(slot, codes_from_bytes(raw, width))
                if not guarded:
                    self._admission.progress(request_id, len(step.codes))
                sound = pcm.astype("<f4", copy=False).tobytes()
                yield step, api.Frames(first, sound, raw, step.text_tokens)
        except PromptError as error:  # SGLang's own refusal: more than its KV cache can hold
            raise api.InvalidRequestError(str(error)) from error
        finally:
            try:
                if finish is None:  # the caller left, or something failed: nobody reads the rest
                    segment.stop()
                    await steps.aclose()
            finally:
                self._codec.release(slot)

    def _prompt(self, request: api.SpeechRequest, references: Sequence[Reference]) -> Prompt:
        width = self._checkpoint.config.num_codebooks
        try:
            history = [
                Turn(turn.text, codes_from_bytes(turn.codes, width)) for turn in request.history
            ]
            return self._prompts.build(request.text, references, history)
        except UnspeakableError:
            raise
        except (PromptError, TextError) as error:
            raise api.InvalidRequestError(str(error)) from error

    def _asked(
        self,
        request: api.SpeechRequest,
        references: Sequence[Reference],
        prompt: Prompt,
        attempt: Attempt,
    ) -> Asked:
        """What an attempt at a request with this `prompt` asks of SGLang."""
        if not attempt.kept:
            return Asked(prompt)
        raw, start = b"".join(attempt.kept), attempt.rest
        said = request.text[:start]
        if said.strip():
            turn = replace(request, text=request.text[start:], history=(api.Turn(said, raw),))
            return Asked.rest(self._prompt(turn, references), start, prompt.token_spans)
        width = self._checkpoint.config.num_codebooks
        return Asked(self._prompts.continued(prompt, codes_from_bytes(raw, width)))

    def _count(self, last: CodeStep, frames: int, skipped_words: int, retries: int) -> None:
        self._frames_total += frames
        self._skipped_words += skipped_words
        self._retries += retries
        self._prompt_tokens += last.prompt_tokens
        self._cached_tokens += last.cached_tokens
        self._retractions += last.retractions

    async def abort(self, request_id: str) -> api.AbortResult:
        """Stop a request and wait, for a bounded time, until SGLang has dropped it."""
        stream = self._streams.get(request_id)
        if stream is None:
            return api.AbortResult(confirmed=True, frames_after=0)
        before, stream.aborted = stream.frames, True
        self._admission.cancel(request_id)
        if stream.segment is not None:
            stream.segment.abort()
        try:
            await asyncio.wait_for(stream.ended.wait(), _ABORT_TIMEOUT_S)
        except TimeoutError:
            return api.AbortResult(confirmed=False, frames_after=stream.frames - before)
        return api.AbortResult(confirmed=True, frames_after=stream.frames - before)

    async def warm(self, voice: str) -> None:
        """Prefill the voice's prefix by one frame of speech. Raises UnknownVoiceError.

        Nothing is to be done for a voice without references, or whose prefix is pinned in the
        cache: then the frame would only delay the text that is about to come.
        """
        if self._voices.references(voice) and not self._ranks.is_pinned(voice):
            await self._warm(voice, 1)

    async def _warm(self, voice: str, frames: int) -> None:
        sampling = api.Sampling(min_frames=frames, max_frames=frames)
        name = f"warm-{secrets.token_hex(8)}"
        async for _ in self.speak(api.SpeechRequest(name, _WARM_TEXT, voice, sampling=sampling)):
            pass

    async def add_voice(self, sample: api.VoiceSample) -> None:
        """Encode a recording (in a thread) and register it."""
        await asyncio.to_thread(self._voices.add, sample.name, sample.audio, sample.transcript)
        self._ranks.retract(sample.name)

    async def remove_voice(self, name: str) -> None:
        """Forget a voice."""
        self._voices.remove(name)
        self._ranks.retract(name)

    async def stats(self) -> api.EngineStats:
        """Counters, as of now."""
        kv_tokens, kv_tokens_used = self._language.kv_tokens()
        return api.EngineStats(
            running=self._admission.running,
            waiting=self._admission.waiting,
            free_slots=self._admission.free,
            frames_total=self._frames_total,
            prompt_tokens_total=self._prompt_tokens,
            cached_tokens_total=self._cached_tokens,
            kv_tokens=kv_tokens,
            kv_tokens_used=kv_tokens_used,
            free_codec_slots=self._config.max_streams - self._codec.open_slots,
            retractions_total=self._retractions,
            retries_total=self._retries,
            skipped_words_total=self._skipped_words,
        )

    def _max_frames(self) -> int:
        # the answer may take what the longest prompt leaves of the context, less the end token
        context = self._checkpoint.config.text_config.max_seq_len
        return context - self._prompts.max_prompt_tokens - 1


_FINISH = {
    "stop": api.FinishReason.STOP,
    "length": api.FinishReason.LENGTH,
    "abort": api.FinishReason.ABORTED,
}
