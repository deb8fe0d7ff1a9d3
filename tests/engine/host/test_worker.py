"""The worker around a scripted SGLang: what is freed, what is pinned, what an empty text costs."""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from engine import api
from engine.errors import PromptError
from engine.host import worker as worker_module
from engine.host.worker import SpeechWorker
from engine.plugin.language import CodeStep
from engine.text.prompt import Prompt
from engine.worker_config import DEFAULT_CHECKPOINT, EngineConfig
from tests.golden_data import TINY

STREAMS = 2
Script = Callable[["Language", Prompt, int], AsyncGenerator[CodeStep]]


class Language:
    """Stands in for `LanguageEngine`: finds in its cache what it has prefilled, keeps all ranks."""

    def __init__(self, checkpoint: Any, config: EngineConfig) -> None:
        self.width = checkpoint.config.num_codebooks
        self.script: Script = speaks
        self.cached: set[str] = set()
        self.asked: list[tuple[str, str, int]] = []  # request, salt, rank
        self.prompts: list[Prompt] = []
        self.aborted: list[str] = []
        self.closed = False

    async def generate(
        self, request_id: str, prompt: Prompt, settings: Any, frames: int, salt: str, rank: int
    ) -> AsyncGenerator[CodeStep]:
        self.asked.append((request_id, salt, rank))
        self.prompts.append(prompt)
        found = len(prompt.input_ids) - 1 if salt in self.cached else 0
        async with aclosing(self.script(self, prompt, found)) as steps:
            async for step in steps:
                if step.prompt_tokens:
                    self.cached.add(salt)
                yield step

    def abort(self, request_id: str) -> None:
        self.aborted.append(request_id)

    def kv_tokens(self) -> tuple[int, int]:
        return 100, 0

    def close(self) -> None:
        self.closed = True

    def step(
        self, prompt: Prompt, found: int, finish: str | None, tokens: tuple[int, ...] = ()
    ) -> CodeStep:
        codes = [bytes(2 * self.width)]
        return CodeStep(codes, tokens, len(prompt.input_ids), found, finish, 0)


async def speaks(language: Language, prompt: Prompt, found: int) -> AsyncGenerator[CodeStep]:
    yield language.step(prompt, found, None)
    yield language.step(prompt, found, "stop")


async def fails_first(language: Language, prompt: Prompt, found: int) -> AsyncGenerator[CodeStep]:
    raise PromptError("more than the KV cache holds")
    yield


async def is_aborted_first(
    language: Language, prompt: Prompt, found: int
) -> AsyncGenerator[CodeStep]:
    yield CodeStep([], (), 0, 0, "abort", 0)


async def fails_when_closed(
    language: Language, prompt: Prompt, found: int
) -> AsyncGenerator[CodeStep]:
    try:
        while True:
            yield language.step(prompt, found, None)
    finally:
        raise OSError("the scheduler's socket is closed")


Made = Callable[..., SpeechWorker]


@pytest_asyncio.fixture
async def make(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Made]:
    monkeypatch.setattr(worker_module, "LanguageEngine", Language)
    workers: list[SpeechWorker] = []

    def made(checkpoint: Path = TINY) -> SpeechWorker:
        config = EngineConfig(checkpoint, device="cpu", max_streams=STREAMS)
        workers.append(SpeechWorker(config))
        return workers[-1]

    yield made
    for worker in workers:
        await worker.close()


def language_of(worker: SpeechWorker) -> Language:
    language = worker._language
    assert isinstance(language, Language)
    return language


async def speak(worker: SpeechWorker, name: str, voice: str, text: str = "Hi.") -> list[Any]:
    return [event async for event in worker.speak(api.SpeechRequest(name, text, voice))]


def recording(seed: int) -> bytes:
    noise = np.random.default_rng(seed).integers(-3000, 3000, 44_100).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setparams((1, 2, 44_100, len(noise), "NONE", ""))
        out.writeframes(noise.tobytes())
    return file.getvalue()


async def free(worker: SpeechWorker) -> tuple[int, int]:
    stats = await worker.stats()
    return stats.free_slots, stats.free_codec_slots


async def test_the_warm_up_speaks_alone_with_a_voice_and_in_a_full_batch(make: Made) -> None:
    worker = make()
    info = await worker.start()
    salts = [salt for _, salt, _ in language_of(worker).asked]
    assert len(salts) == 2 + STREAMS
    assert len(set(salts)) == 2  # one of them had references
    assert info.voices == ("default",)
    with pytest.raises(api.UnknownVoiceError):
        await speak(worker, "r", worker_module._WARM_VOICE)


async def test_a_voice_that_cannot_be_spoken_with_fails_the_start(make: Made) -> None:
    worker = make()

    async def no_voices(language: Language, prompt: Prompt, found: int) -> AsyncGenerator[CodeStep]:
        if prompt.code_spans:
            raise RuntimeError("prefill codes: expected rows from the scheduler's hook, got none")
        yield language.step(prompt, found, "stop")

    language_of(worker).script = no_voices
    with pytest.raises(RuntimeError, match="prefill codes"):
        await worker.start()
    assert worker.info.voices == ("default",)


@pytest.mark.parametrize("script", [fails_first, is_aborted_first])
async def test_a_voice_whose_first_request_failed_is_not_taken_for_pinned(
    make: Made, script: Script
) -> None:
    worker = make()
    await worker.start()
    await worker.add_voice(api.VoiceSample("ann", recording(0), "Hello."))
    language = language_of(worker)
    language.script, before = script, len(language.asked)
    try:
        await speak(worker, "first", "ann")
    except api.InvalidRequestError:
        assert script is fails_first
    language.script = speaks
    await worker.warm("ann")  # there is something to be done
    ranks = [rank for _, _, rank in language.asked[before:]]
    assert len(ranks) == 2 and ranks[0] == ranks[1] > worker._ranks.ordinary
    await worker.warm("ann")  # now there is not
    await speak(worker, "later", "ann")
    ranks = [rank for _, _, rank in language.asked[before:]]
    assert len(ranks) == 3 and ranks[2] == worker._ranks.ordinary


@pytest.mark.parametrize("replaced", [True, False])
async def test_a_replaced_or_removed_voice_ranks_below_what_is_said_later(
    make: Made, replaced: bool
) -> None:
    worker = make()
    await worker.start()
    language = language_of(worker)
    for name, seed in (("ann", 0), ("bob", 1)):
        await worker.add_voice(api.VoiceSample(name, recording(seed), "Hello."))
        await speak(worker, name, name)
    old = next(rank for name, _, rank in language.asked if name == "ann")
    if replaced:
        await worker.add_voice(api.VoiceSample("ann", recording(2), "Hello."))
    else:
        await worker.remove_voice("ann")
    for name in ("plain", "bob-again"):
        await speak(worker, name, "bob" if "bob" in name else api.DEFAULT_VOICE)
    ranks = {name: rank for name, _, rank in language.asked}
    assert old < ranks["plain"] < ranks["bob-again"]  # who is still here is pinned anew


async def test_steps_that_cannot_be_closed_leave_no_slot_behind(make: Made) -> None:
    worker = make()
    await worker.start()
    language_of(worker).script = fails_when_closed
    for i in range(STREAMS + 1):  # the codec has no more slots than that
        events = worker.speak(api.SpeechRequest(f"r{i}", "Hi."))
        assert isinstance(await anext(events), api.Frames)
        with pytest.raises(OSError, match="socket is closed"):
            await events.aclose()  # type: ignore[attr-defined]
        assert await free(worker) == (STREAMS, STREAMS)


async def test_a_caller_that_is_cancelled_at_any_turn_leaves_no_slot_behind(make: Made) -> None:
    worker = make()
    await worker.start()
    for turns in range(1, 12):
        task = asyncio.create_task(speak(worker, f"r{turns}", api.DEFAULT_VOICE))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # the codec's thread may still be at the frame that nobody wants
        slots = [await asyncio.wait_for(worker._codec.open(), 5) for _ in range(STREAMS)]
        for slot in slots:
            worker._codec.release(slot)
        assert await free(worker) == (STREAMS, STREAMS)


async def test_a_broken_codec_breaks_the_worker(
    make: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = make()
    await worker.start()

    def broken(*args: Any) -> Any:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(worker._codec._decoder, "decode", broken)
    monkeypatch.setattr(worker._codec._decoder, "check", broken)
    with pytest.raises(RuntimeError, match="device-side assert"):
        await speak(worker, "a", api.DEFAULT_VOICE)
    assert "device-side assert" in repr(await asyncio.wait_for(worker.broken(), 5))
    with pytest.raises(api.EngineUnavailableError, match="device-side assert"):
        await speak(worker, "b", api.DEFAULT_VOICE)
    assert await free(worker) == (STREAMS, STREAMS)


UNSPEAKABLE = ["[laugh]", "[pause]", "[whisper]", "...", "\N{PARTY POPPER}", "!?", " [laugh] "]


async def test_nothing_to_say_is_done_in_no_time(make: Made) -> None:
    worker = make(DEFAULT_CHECKPOINT)
    await worker.start()
    before = len(language_of(worker).asked)
    for text in UNSPEAKABLE:
        for voice in worker.info.voices[:2]:
            done = api.Finished(api.FinishReason.STOP, 0, 0, 0)
            assert await speak(worker, f"r-{voice}", voice, text) == [done], text
    assert len(language_of(worker).asked) == before
    assert await free(worker) == (STREAMS, STREAMS)


async def test_a_tag_that_the_checkpoint_speaks_is_spoken(make: Made) -> None:
    worker = make(TINY)
    await worker.start()
    events = await speak(worker, "r", api.DEFAULT_VOICE, "[laugh]")
    assert [type(event) for event in events] == [api.Frames, api.Frames, api.Finished]


async def test_an_empty_text_stays_an_error(make: Made) -> None:
    worker = make(DEFAULT_CHECKPOINT)
    await worker.start()
    with pytest.raises(api.InvalidRequestError, match="expected text to speak"):
        await speak(worker, "r", api.DEFAULT_VOICE, "  ")


async def test_a_reference_without_words_is_an_error_not_silence(make: Made) -> None:
    worker = make(DEFAULT_CHECKPOINT)
    await worker.start()
    await worker.add_voice(api.VoiceSample("ann", recording(0), "[laugh]"))
    with pytest.raises(api.InvalidRequestError, match="expected English words"):
        await speak(worker, "r", "ann")


SKIPS_FROM = 12  # tokens
LONG_TEXT = "The gateway accepts a stream of text and answers with speech."


async def skips_once(language: Language, prompt: Prompt, found: int) -> AsyncGenerator[CodeStep]:
    """Leaves out the middle of the text, unless it is asked to go on."""
    tokens = range(len(prompt.token_spans))
    said = [*tokens[:SKIPS_FROM], *tokens[SKIPS_FROM + 20 :]]
    for token in tokens[prompt.answered :] if prompt.answered else said:
        if language.aborted[-1:] == [language.asked[-1][0]]:
            yield CodeStep([], (), len(prompt.input_ids), found, "abort", 0)
            return
        yield language.step(prompt, found, None, (token,))
    yield CodeStep([], (), len(prompt.input_ids), found, "stop", 0)


async def test_a_skip_is_drawn_again_and_no_slot_is_left_behind(make: Made) -> None:
    worker = make(DEFAULT_CHECKPOINT)
    await worker.start()
    language = language_of(worker)
    language.script, before = skips_once, len(language.asked)
    history = (api.Turn("Yes.", bytes(2 * language.width * 4)),)
    request = api.SpeechRequest("r", LONG_TEXT, history=history, lead_ms=1e6)
    told, *frames, done = [event async for event in worker.speak(request)]
    assert isinstance(told, api.TextTokens)
    assert [token for f in frames for token in f.text_tokens] == [*range(len(told.spans))]
    assert isinstance(done, api.Finished)
    assert done.reason is api.FinishReason.STOP and done.frames == len(told.spans)
    assert done.prompt_tokens == len(language.prompts[before].input_ids)
    assert (done.skipped_words, done.retries) == (0, 1)
    assert [name for name, _, _ in language.asked[before:]] == ["r", "r~1"]
    assert language.aborted == ["r"]
    assert language.prompts[-1].answered == SKIPS_FROM
    assert await free(worker) == (STREAMS, STREAMS)
    stats = await worker.stats()
    assert (stats.retries_total, stats.skipped_words_total) == (1, 0)


async def test_a_skip_that_stays_makes_a_turn_of_the_rest(make: Made) -> None:
    worker = make(DEFAULT_CHECKPOINT)
    await worker.start()
    language = language_of(worker)
    whole: list[int] = []

    async def reads_short(language: Language, prompt: Prompt, found: int) -> Any:
        tokens = list(range(len(prompt.token_spans)))
        whole[:] = whole or tokens
        if tokens == whole:
            tokens = [*tokens[:SKIPS_FROM], *tokens[SKIPS_FROM + 20 :]][prompt.answered :]
        for token in tokens:
            if language.aborted[-1:] == [language.asked[-1][0]]:
                yield CodeStep([], (), len(prompt.input_ids), found, "abort", 0)
                return
            yield language.step(prompt, found, None, (token,))
        yield CodeStep([], (), len(prompt.input_ids), found, "stop", 0)

    language.script, before = reads_short, len(language.asked)
    request = api.SpeechRequest("r", LONG_TEXT, lead_ms=1e6)
    told, *frames, done = [event async for event in worker.speak(request)]
    assert isinstance(told, api.TextTokens) and isinstance(done, api.Finished)
    assert (done.skipped_words, done.retries) == (0, 2)
    spoken = [token for f in frames for token in f.text_tokens]
    assert spoken == sorted(spoken) and len({*whole} - {*spoken}) <= 2  # marks between the two
    assert spoken[-10:] == whole[-10:]
    assert [name for name, _, _ in language.asked[before:]] == ["r", "r~1", "r~2"]
    first, _, last = language.prompts[before:]
    assert not first.code_spans and len(last.code_spans) == 1  # what was said is a turn
    assert len(last.token_spans) < len(first.token_spans)
    assert await free(worker) == (STREAMS, STREAMS)


async def test_a_skip_in_a_voice_without_heads_passes(make: Made) -> None:
    worker = make(TINY)
    await worker.start()
    events = await speak(worker, "r", api.DEFAULT_VOICE, LONG_TEXT)
    assert [type(event) for event in events] == [api.Frames, api.Frames, api.Finished]
    assert (events[-1].skipped_words, events[-1].retries) == (0, 0)


async def test_an_abort_reaches_the_request_that_draws_again(make: Made) -> None:
    worker = make(DEFAULT_CHECKPOINT)
    await worker.start()
    language = language_of(worker)

    async def hangs(language: Language, prompt: Prompt, found: int) -> AsyncGenerator[CodeStep]:
        if not prompt.answered:
            async for step in skips_once(language, prompt, found):
                yield step
            return
        aborting = asyncio.create_task(worker.abort("r"))
        await asyncio.sleep(0)
        assert language.aborted[-1] == "r~1"
        yield CodeStep([], (), len(prompt.input_ids), found, "abort", 0)
        _tasks.append(aborting)

    _tasks: list[asyncio.Task[api.AbortResult]] = []
    language.script = hangs
    request = api.SpeechRequest("r", LONG_TEXT, lead_ms=1e6)
    events = [event async for event in worker.speak(request)]
    assert events[-1].reason is api.FinishReason.ABORTED  # type: ignore[union-attr]
    assert (await _tasks[0]).confirmed
    assert await free(worker) == (STREAMS, STREAMS)
