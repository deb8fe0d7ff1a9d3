"""The fake engine keeps the promises of `engine.api`."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from engine.api import (
    EngineOverloadedError,
    EngineUnavailableError,
    Finished,
    FinishReason,
    Frames,
    InvalidRequestError,
    Sampling,
    SpeechEngine,
    SpeechRequest,
    Turn,
    UnknownVoiceError,
    VoiceSample,
)
from engine.fake import Failure, FakeEngine, FakeEngineConfig, tone

CONFIG = FakeEngineConfig(sample_rate_hz=16_000, frame_samples=320, num_codebooks=3, max_streams=2)


def request(text: str = "Hello.", request_id: str = "r", **changes: object) -> SpeechRequest:
    return SpeechRequest(request_id, text, **changes)  # type: ignore[arg-type]


async def started(config: FakeEngineConfig = CONFIG) -> FakeEngine:
    engine: FakeEngine = FakeEngine(config)
    await engine.start()
    return engine


async def collect(engine: SpeechEngine, req: SpeechRequest) -> tuple[list[Frames], Finished]:
    items = [item async for item in engine.speak(req)]
    assert isinstance(items[-1], Finished)
    frames = items[:-1]
    assert all(isinstance(item, Frames) for item in frames)
    return frames, items[-1]  # type: ignore[return-value]


def run(coroutine):  # type: ignore[no-untyped-def]
    return asyncio.run(coroutine)


@pytest.mark.parametrize("per_chunk", [1, 3])
def test_frames_are_whole_and_without_gaps(per_chunk: int) -> None:
    async def main() -> None:
        engine = await started(FakeEngineConfig(frame_samples=320, frames_per_chunk=per_chunk))
        frames, finished = await collect(engine, request())
        at = 0
        for item in frames:
            assert item.first_frame == at
            count = len(item.codes) // (2 * engine.config.num_codebooks)
            assert len(item.pcm) == count * 320 * 4
            at += count
        assert finished == Finished(FinishReason.STOP, at, len(b"Hello."), 0)
        assert at == engine.frame_count("Hello.")

    run(main())


def test_the_same_request_gives_the_same_sound_alone_and_beside_others() -> None:
    async def main() -> None:
        engine = await started()
        alone, _ = await collect(engine, request())
        both = await asyncio.gather(
            collect(engine, request(request_id="a")),
            collect(engine, request("Other text.", request_id="b")),
        )
        assert both[0][0] == alone
        assert both[1][0] != alone

    run(main())


def test_each_character_has_its_tone_and_frames_join_without_a_jump() -> None:
    a, b = tone("a", 2048, 44_100), tone("b", 2048, 44_100)
    assert not np.allclose(a, b)
    twice = np.concatenate([a, a])
    steps = np.abs(np.diff(twice))
    assert steps[2047] <= steps.max() + 1e-6 and abs(a[0]) < 1e-6


def test_voices_differ_in_sound_and_codes() -> None:
    async def main() -> None:
        engine = await started()
        await engine.add_voice(VoiceSample("other", b"RIFF", "Hi."))
        assert engine.info.voices == ("default", "other")
        one, _ = await collect(engine, request())
        two, _ = await collect(engine, request(voice="other"))
        assert one[0].pcm != two[0].pcm and one[0].codes != two[0].codes
        await engine.remove_voice("other")
        with pytest.raises(UnknownVoiceError):
            await collect(engine, request(voice="other"))

    run(main())


def test_text_tokens_name_the_characters_in_order() -> None:
    async def main() -> None:
        engine = await started(FakeEngineConfig(frame_samples=320, with_text_tokens=True))
        frames, _ = await collect(engine, request("abc"))
        assert [t for f in frames for t in f.text_tokens] == [0, 0, 1, 2]

    run(main())


def test_max_frames_ends_a_request_by_length() -> None:
    async def main() -> None:
        engine = await started()
        frames, finished = await collect(engine, request(sampling=Sampling(max_frames=2)))
        assert (len(frames), finished.frames, finished.reason) == (2, 2, FinishReason.LENGTH)

    run(main())


def test_an_abort_frees_the_slot_and_ends_the_iterator() -> None:
    async def main() -> None:
        engine = await started()
        stream = engine.speak(request())
        await anext(stream)
        assert (await engine.stats()).running == 1
        assert (await engine.abort("r")).confirmed
        assert (await engine.stats()).running == 0
        rest = [item async for item in stream]
        assert [type(item) for item in rest] == [Finished]
        assert rest[0].reason is FinishReason.ABORTED  # type: ignore[union-attr]
        assert (await engine.abort("r")).confirmed  # idempotent
        assert (await engine.abort("never seen")).frames_after == 0

    run(main())


def test_an_abort_counts_the_frames_made_after_it() -> None:
    async def main() -> None:
        engine = await started(FakeEngineConfig(frame_samples=320, abort_delay_s=0.001))
        stream = engine.speak(request("A long sentence to speak."))
        await anext(stream)
        abort = asyncio.create_task(engine.abort("r"))
        made = 0
        async for item in stream:
            made += isinstance(item, Frames)
            await asyncio.sleep(0.0004)
        result = await abort
        assert result.confirmed and 0 < result.frames_after <= made

    run(main())


def test_closing_the_iterator_early_frees_the_slot() -> None:
    async def main() -> None:
        engine = await started()
        stream = engine.speak(request())
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        stats = await engine.stats()
        assert (stats.running, stats.free_slots) == (0, 2)
        await collect(engine, request())  # the id is free again

    run(main())


def test_a_third_stream_waits_and_a_fourth_is_refused() -> None:
    async def main() -> None:
        engine = await started(FakeEngineConfig(max_streams=2, max_waiting=1, frame_samples=320))
        streams = [engine.speak(request(request_id=str(i))) for i in range(2)]
        for stream in streams:
            await anext(stream)
        waiting = asyncio.create_task(collect(engine, request(request_id="2")))
        await asyncio.sleep(0)
        assert (await engine.stats()).waiting == 1
        with pytest.raises(EngineOverloadedError) as caught:
            await collect(engine, request(request_id="3"))
        assert caught.value.retryable
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]
        frames, _ = await waiting
        assert frames

    run(main())


def test_failures_on_demand() -> None:
    async def main() -> None:
        engine = await started()
        engine.failures.append(Failure("boom", EngineUnavailableError("gone"), after_frames=2))
        made = []
        with pytest.raises(EngineUnavailableError, match="gone"):
            async for item in engine.speak(request("a boom")):
                made.append(item)
        assert len(made) == 2
        assert (await engine.stats()).running == 0
        await collect(engine, request("all is well"))

    run(main())


def test_what_is_wrong_with_a_request_is_said() -> None:
    async def main() -> None:
        engine = FakeEngine(CONFIG)
        with pytest.raises(EngineUnavailableError):
            await collect(engine, request())
        await engine.start()
        for bad in (
            request("  "),
            request(voice="nobody"),
            request(history=(Turn("Hi.", b"12345"),)),
        ):
            with pytest.raises(InvalidRequestError, match="expected"):
                await collect(engine, bad)
        with pytest.raises(UnknownVoiceError):
            await engine.warm("nobody")
        await engine.warm("default")
        assert engine.warmed == ["default"]

    run(main())


def test_history_is_billed_as_cached() -> None:
    async def main() -> None:
        engine = await started()
        history = (Turn("Hi.", b"\0" * 6 * 5),)
        _, finished = await collect(engine, request(history=history))
        assert (finished.prompt_tokens, finished.cached_tokens) == (len("Hello.") + 5, 5)
        stats = await engine.stats()
        assert stats.prompt_tokens_total == finished.prompt_tokens

    run(main())


def test_closing_the_engine_fails_what_is_running() -> None:
    async def main() -> None:
        engine = await started()
        stream = engine.speak(request())
        await anext(stream)
        await engine.close()
        with pytest.raises(EngineUnavailableError):
            async for _ in stream:
                pass
        await engine.close()

    run(main())
