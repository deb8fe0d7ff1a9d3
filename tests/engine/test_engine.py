"""The whole engine on the golden requests: SGLang, codec, voices, history, abort."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import api
from engine.checkpoint.folder import Checkpoint
from engine.codec.decoder import StreamingDecoder
from engine.link.client import WorkerEngine
from engine.text.registry import load_tokenizer
from tests.golden_data import ALIGNMENT_HEADS, TINY, description, vectors

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="session")]

GREEDY = api.Sampling(top_k=1, max_frames=41)
REQUESTS = description("prompts")
EXPECTED = vectors("generation")
TOKENIZER = load_tokenizer(Checkpoint.open(TINY))


def request(name: str, batch: int = 0, tag: str = "") -> api.SpeechRequest:
    """A golden request, as a client of the engine would make it."""
    golden = REQUESTS[name]
    history = tuple(
        api.Turn(golden["batches"][i]["batch_text"], codes_of(name, i).astype("<u2").tobytes())
        for i in range(batch)
    )
    frames = EXPECTED[f"{name}.b{batch}.generated"].shape[1]
    return api.SpeechRequest(
        f"{name}-{batch}-{tag}",
        golden["batches"][batch]["batch_text"],
        voice=name if golden["ref_frames"] else api.DEFAULT_VOICE,
        history=history,
        sampling=api.Sampling(top_k=1, max_frames=frames),
    )


def codes_of(name: str, batch: int, *, whole: bool = False) -> NDArray[np.uint16]:
    """[frames, N]; the reference drops a generation's last frame from the history."""
    generated = EXPECTED[f"{name}.b{batch}.generated"][1:].T
    return (generated if whole else generated[:-1]).astype(np.uint16)


async def speak(
    engine: WorkerEngine, asked: api.SpeechRequest
) -> tuple[NDArray[np.uint16], NDArray[np.float32], api.Finished]:
    codes, pcm, finished, expected_first = b"", b"", None, 0
    async for event in engine.speak(asked):
        if isinstance(event, api.Frames):
            assert event.first_frame == expected_first
            expected_first += len(event.codes) // 20
            codes, pcm = codes + event.codes, pcm + event.pcm
        elif isinstance(event, api.Finished):
            assert finished is None
            finished = event
    assert finished is not None
    return np.frombuffer(codes, "<u2").reshape(-1, 10), np.frombuffer(pcm, "<f4"), finished


CASES = [(name, i) for name, golden in REQUESTS.items() for i in range(len(golden["batches"]))]


@pytest.mark.parametrize("temperature", ["cold", "warm"])
@pytest.mark.parametrize(("name", "batch"), CASES)
async def test_golden_codes_alone(
    engine: WorkerEngine, name: str, batch: int, temperature: str
) -> None:
    codes, pcm, finished = await speak(engine, request(name, batch, temperature))
    assert np.array_equal(codes, codes_of(name, batch, whole=True))
    assert len(pcm) == finished.frames * 2048
    assert finished.reason is api.FinishReason.LENGTH
    if temperature == "warm":
        assert finished.cached_tokens == finished.prompt_tokens - 1


async def test_the_second_turn_finds_the_first_and_its_frames(engine: WorkerEngine) -> None:
    await speak(engine, request("multi_turn", 0, "first"))
    _, _, finished = await speak(engine, request("multi_turn", 1, "second"))
    # the first turn's prompt and the 12 frames that history keeps of it
    assert finished.cached_tokens >= 119 + 12


async def test_golden_codes_in_a_batch_of_eight(engine: WorkerEngine) -> None:
    cases = (CASES * 2)[:8]
    results = await asyncio.gather(
        *(speak(engine, request(name, batch, f"b{i}")) for i, (name, batch) in enumerate(cases))
    )
    for (name, batch), (codes, _, _) in zip(cases, results, strict=True):
        assert np.array_equal(codes, codes_of(name, batch, whole=True))


async def test_the_sound_is_the_codecs_of_these_codes(engine: WorkerEngine) -> None:
    codes, pcm, _ = await speak(engine, request("clone", tag="sound"))
    decoder = StreamingDecoder.from_checkpoint(TINY, max_slots=1)
    whole = decoder.decode([decoder.allocate()], codes[None].astype(np.int64))[0]
    assert np.abs(pcm - whole).max() <= 2e-5


@pytest.mark.parametrize(("name", "batch"), CASES)
async def test_text_tokens_are_where_the_alignment_heads_look(
    engine: WorkerEngine, name: str, batch: int
) -> None:
    asked = request(name, batch, "tokens")
    events = [event async for event in engine.speak(asked)]
    assert isinstance(events[0], api.TextTokens)
    heard = [i for event in events if isinstance(event, api.Frames) for i in event.text_tokens]
    expected, tokens = text_tokens_of_the_plain_loop(name, batch)
    assert heard == expected
    # the spans cover the text, in order
    spans = events[0].spans
    assert len(spans) == tokens
    assert (spans[0][0], spans[-1][1]) == (0, len(asked.text))
    assert list(spans) == sorted(spans)


def text_tokens_of_the_plain_loop(name: str, batch: int) -> tuple[list[int], int]:
    """Where the watched heads look at each step, from the plain loop's own queries and keys; and
    how many tokens the text has."""
    import torch

    from engine.models.plain import PlainLoop
    from engine.models.request_table import RowSettings

    loop = PlainLoop(TINY)
    queries: dict[int, torch.Tensor] = {}
    attend = loop._attend

    def watch(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        queries[layer] = q[-1]
        return attend(layer, q, k, v)

    loop._attend = watch  # type: ignore[method-assign]
    matrix = EXPECTED[f"{name}.b{batch}.prompt"].astype(np.int64)
    start, end = text_span(matrix[0])
    expected = []
    frames = EXPECTED[f"{name}.b{batch}.generated"].shape[1]
    for _ in loop.generate(matrix, RowSettings(1.0, 1.0, 1.0, 1, 0, 0), frames):
        total = torch.zeros(end - start)
        for layer, head in ALIGNMENT_HEADS:
            keys = loop._keys[layer][head // 2, start:end]  # two query heads share a key head
            total += (keys @ queries[layer][head] / 128**0.5).softmax(0)
        expected.append(int(total.argmax()))
    return expected, end - start


def text_span(ids: NDArray[np.int64]) -> tuple[int, int]:
    """The last user text lies before "<|im_end|>", newline, and the assistant's opening."""
    tail = TOKENIZER.encode_scaffold("<|im_end|>\n") + TOKENIZER.encode_scaffold(
        "<|im_start|>assistant\n<|voice|>"
    )
    head = TOKENIZER.encode_scaffold("<|im_start|>user\n")
    end = len(ids) - len(tail)
    start = max(i for i in range(end) if tuple(ids[i - len(head) : i].tolist()) == head)
    return start, end


async def test_a_seed_gives_the_same_codes_alone_and_in_a_batch(engine: WorkerEngine) -> None:
    def seeded(tag: str, seed: int) -> api.SpeechRequest:
        return api.SpeechRequest(
            f"seed-{tag}", "Thank you.", sampling=api.Sampling(seed=seed, max_frames=24)
        )

    alone, _, _ = await speak(engine, seeded("alone", 7))
    batch = await asyncio.gather(*(speak(engine, seeded(f"{i}", 7 + i % 2)) for i in range(8)))
    for i, (codes, _, _) in enumerate(batch):
        assert np.array_equal(codes, alone) == (i % 2 == 0)


async def test_styles_draw_alone_as_in_a_mixed_batch(engine: WorkerEngine) -> None:
    def styled(tag: str, i: int) -> api.SpeechRequest:
        sampling = api.Sampling(seed=3, max_frames=24, style="omni" if i % 2 else "fish")
        return api.SpeechRequest(f"style-{tag}-{i}", "Thank you.", sampling=sampling)

    fish, omni = [(await speak(engine, styled("alone", i)))[0] for i in range(2)]
    assert not np.array_equal(fish, omni)
    batch = await asyncio.gather(*(speak(engine, styled("batch", i)) for i in range(6)))
    for i, (codes, _, _) in enumerate(batch):
        assert np.array_equal(codes, omni if i % 2 else fish)


async def test_14_voices_that_agree_in_codebook_0_share_no_cache(engine: WorkerEngine) -> None:
    """The prompts of the two have the same words and the same semantic tokens throughout."""

    def asked(voice: str, text: str, tag: str) -> api.SpeechRequest:
        return api.SpeechRequest(f"{voice}-{text}-{tag}", text, voice=voice, sampling=GREEDY)

    cases = [(v, t) for v in ("clone", "clone-twin") for t in ("Hello there!", "Good morning.")]
    cases += [("multi_speaker", "Hello there!"), (api.DEFAULT_VOICE, "Hello there!")]
    alone = {case: await speak(engine, asked(*case, "alone")) for case in cases}
    assert alone["clone", "Good morning."][2].cached_tokens > 0
    assert alone["clone-twin", "Hello there!"][2].cached_tokens == 0  # although clone's is there
    assert alone["clone-twin", "Good morning."][2].cached_tokens > 0
    for text in ("Hello there!", "Good morning."):
        codes, twin = (alone[voice, text][0] for voice in ("clone", "clone-twin"))
        assert not np.array_equal(codes, twin)
    order = [*cases, *cases[:2]]
    for turn in range(2):
        batch = await asyncio.gather(
            *(speak(engine, asked(*case, f"{turn}-{i}")) for i, case in enumerate(order))
        )
        for case, (codes, _, _) in zip(order, batch, strict=True):
            assert np.array_equal(codes, alone[case][0])


async def test_a_runaway_is_cut_at_what_its_text_can_need(engine: WorkerEngine) -> None:
    sampling = api.Sampling(seed=1, min_frames=1000)
    codes, pcm, finished = await speak(
        engine, api.SpeechRequest("runaway", "Hello", sampling=sampling)
    )
    assert finished.reason is api.FinishReason.LENGTH
    assert finished.frames == len(codes) == 40 + 4 * 5
    assert len(pcm) == finished.frames * 2048


async def test_abort_frees_the_stream_within_two_steps(engine: WorkerEngine) -> None:
    asked = api.SpeechRequest("abort", "A long text. " * 20, sampling=api.Sampling(max_frames=400))
    events = engine.speak(asked)
    async for event in events:
        if isinstance(event, api.Frames) and event.first_frame >= 3:
            break
    result = await engine.abort("abort")
    last = [event async for event in events][-1]
    assert isinstance(last, api.Finished)
    assert last.reason is api.FinishReason.ABORTED
    assert result.confirmed
    # two decode steps, and the frames that were already on their way to us
    assert result.frames_after <= 4
    assert (await engine.stats()).running == 0


async def test_leaving_the_iterator_frees_the_stream(engine: WorkerEngine) -> None:
    asked = api.SpeechRequest("leave", "A long text. " * 20, sampling=api.Sampling(max_frames=400))
    events = engine.speak(asked)
    async for _ in events:
        break
    await events.aclose()  # type: ignore[attr-defined]
    await asyncio.wait_for(until_idle(engine), 5)


async def until_idle(engine: WorkerEngine) -> None:
    while (await engine.stats()).running:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_aborting_twice_or_an_unknown_request_is_harmless(engine: WorkerEngine) -> None:
    assert await engine.abort("never heard of") == api.AbortResult(True, 0)
    assert await engine.abort("never heard of") == api.AbortResult(True, 0)


BAD: Sequence[tuple[api.SpeechRequest, type[api.EngineError], str]] = [
    (api.SpeechRequest("x", " "), api.InvalidRequestError, "expected text to speak"),
    (api.SpeechRequest("x", "Hi", voice="nobody"), api.UnknownVoiceError, "got 'nobody'"),
    (
        api.SpeechRequest("x", "Hi", history=(api.Turn("a", b"123"),)),
        api.InvalidRequestError,
        "frames of 20 bytes",
    ),
    (
        api.SpeechRequest("x", "Hi", sampling=api.Sampling(top_k=1000)),
        api.InvalidRequestError,
        "top_k: expected 1 to 64, got 1000",
    ),
    (api.SpeechRequest("x", "Hi " * 9000), api.InvalidRequestError, "prompt of at most"),
]


@pytest.mark.parametrize(("asked", "kind", "message"), BAD)
async def test_bad_requests_are_named_and_cost_nothing(
    engine: WorkerEngine, asked: api.SpeechRequest, kind: type[api.EngineError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        await speak(engine, asked)
    assert (await engine.stats()).running == 0
