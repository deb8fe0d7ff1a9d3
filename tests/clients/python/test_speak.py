"""An LLM's stream goes in, of any kind and any length, while the sound comes out."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from clients.python import Client, GatewayClosedError, SpeechError, connect
from clients.python.pieces import Pieces
from clients.python.window import MAX_PIECE_CHARS
from engine.fake import Failure, FakeEngine, FakeEngineConfig
from tests.gateway.shell import DEADLINE_S, SLOW, gateway, until

QUICK = FakeEngineConfig(frames_per_char=0.05)
SENTENCE = "The quick brown fox jumps over the lazy dog, and nobody minds. "


def spoken(engine: FakeEngine) -> str:
    """Everything the engine was asked to say, without blanks, which belong to no sentence."""
    return "".join("".join(request.text for request in engine.requests).split())


async def deltas(text: str, size: int = 3) -> AsyncIterator[str | None]:
    yield None
    for start in range(0, len(text), size):
        await asyncio.sleep(0)
        yield text[start : start + size]
    yield ""


async def hear(client: Client, pieces: Pieces, **settings: Any) -> int:
    speech = client.speak(pieces, lead_ms=0, **settings)
    async with asyncio.timeout(DEADLINE_S):
        packets = len([packet async for packet in speech])
    assert speech.done is not None
    return packets


@pytest.mark.parametrize("kind", ["text", "list", "plain", "async"])
async def test_any_source_is_spoken(kind: str) -> None:
    text = SENTENCE * 2
    sources: dict[str, Pieces] = {
        "text": text,
        "list": text.split(" "),
        "plain": (char for char in text),
        "async": deltas(text),
    }
    engine = FakeEngine(QUICK)
    async with gateway(engine) as served, connect(served.url) as client:
        assert await hear(client, sources[kind])
        assert spoken(engine) == "".join(text.split())


async def test_sound_comes_before_the_text_is_complete() -> None:
    heard = asyncio.Event()

    async def waits() -> AsyncIterator[str]:
        yield SENTENCE + "And "
        await heard.wait()
        yield "then more."

    async with gateway(FakeEngine(QUICK)) as served, connect(served.url) as client:
        speech = client.speak(waits(), lead_ms=0)
        async with asyncio.timeout(DEADLINE_S):
            async for _ in speech:
                heard.set()
        assert speech.done is not None and speech.done.segments == 2


@pytest.mark.parametrize("source", ["async", "plain"])
async def test_an_interrupt_stops_the_source(source: str) -> None:
    closed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def plain() -> Iterator[str]:
        try:
            while True:
                yield SENTENCE
        finally:
            loop.call_soon_threadsafe(closed.set)

    async def asynchronous() -> AsyncIterator[str]:
        try:
            yield SENTENCE
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with gateway(FakeEngine(SLOW)) as served, connect(served.url) as client:
        speech = client.speak(plain() if source == "plain" else asynchronous(), lead_ms=0)
        async with asyncio.timeout(DEADLINE_S):
            async for _ in speech:
                answer = await speech.interrupt(played_ms=20)
            assert answer is not None and answer.unspoken_text
            await closed.wait()


async def test_a_source_that_breaks_is_spoken_as_far_as_it_came() -> None:
    async def breaks() -> AsyncIterator[str]:
        yield "This was said. "
        raise OSError("the LLM has gone")

    engine = FakeEngine(QUICK)
    async with gateway(engine) as served, connect(served.url) as client:
        speech = client.speak(breaks(), lead_ms=0)
        packets = 0
        with pytest.raises(OSError, match="has gone"):
            async with asyncio.timeout(DEADLINE_S):
                async for _ in speech:
                    packets += 1
        assert packets and speech.done is not None
        assert spoken(engine) == "Thiswassaid."


@pytest.mark.parametrize("how", ["engine", "setting", "line", "left"])
async def test_a_context_that_fails_stops_the_source(how: str) -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[str]:
        try:
            yield "Now boom goes the engine, and nobody knows why. And then it goes on."
            await asyncio.Event().wait()
        finally:
            closed.set()

    engine = FakeEngine(QUICK)
    if how == "engine":
        engine.failures.append(Failure("boom"))
    async with gateway(engine) as served, connect(served.url) as client:
        speech = client.speak(endless(), voice="nobody" if how == "setting" else "default")
        if how in ("line", "left"):
            await until(lambda: speech.started is not None)
        if how == "line":
            client._link._socket.transport.abort()  # type: ignore[union-attr]
        if how == "left":
            await client.aclose()
        expected = GatewayClosedError if how in ("line", "left") else SpeechError
        async with asyncio.timeout(DEADLINE_S):
            with pytest.raises(expected):
                async for _ in speech:
                    pass
            await closed.wait()


async def test_a_text_of_any_length_waits_until_the_gateway_has_room() -> None:
    text = "".join(f"This is sentence number {i}, and it goes on. " for i in range(1500))
    assert len(text) > 3 * 20_000
    engine = FakeEngine(QUICK)
    async with gateway(engine) as served, connect(served.url) as client:
        assert await hear(client, text)
        assert spoken(engine) == "".join(text.split())
        assert client.window.waiting_chars == 0


@pytest.mark.parametrize("seed", range(4))
async def test_contexts_share_the_room(seed: int) -> None:
    chance = random.Random(seed)
    texts = [SENTENCE * chance.randint(1, 30) for _ in range(4)]
    engine = FakeEngine(QUICK)
    async with gateway(engine, max_buffered_chars=1000) as served, connect(served.url) as client:
        sources = [deltas(text, chance.choice([1, 7, 500, 5000])) for text in texts]
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.gather(*(hear(client, source) for source in sources))
        assert len(spoken(engine)) == len("".join("".join(texts).split()))
        assert client.window.waiting_chars == 0


async def test_an_interrupt_frees_who_waits_for_room() -> None:
    async with gateway(FakeEngine(SLOW)) as served, connect(served.url) as client:
        context = client.context(lead_ms=0)
        sending = asyncio.create_task(context.send(SENTENCE * 1000))
        await until(lambda: context.started is not None)
        async with asyncio.timeout(DEADLINE_S):
            answer = await context.interrupt()
            await sending
        assert answer is not None
        assert client.window.waiting_chars == 0
        assert len(answer.heard_text + answer.unspoken_text) < len(SENTENCE * 1000)


@pytest.mark.parametrize("filler", [" ", "\n", "-", "\u3000"])
async def test_a_flood_without_words_is_an_error_and_no_hang(filler: str) -> None:
    async with gateway() as served, connect(served.url) as client:
        context = client.context()
        with pytest.raises(SpeechError, match="expected words"):
            async with asyncio.timeout(DEADLINE_S):
                await context.send(filler * 30_000)
        await context.interrupt()
        assert await hear(client, "Fine.")


@pytest.mark.parametrize("letter", ["\x01", "\u00e9", "\U0001f600", '"'])
async def test_a_piece_fits_in_a_message_however_it_is_written(letter: str) -> None:
    async with gateway(max_message_bytes=2048) as served, connect(served.url) as client:
        assert client.window.piece_chars < MAX_PIECE_CHARS
        context = client.context(lead_ms=0)
        await context.send("Hello there. " + letter * 1500)
        await context.end()
        async with asyncio.timeout(DEADLINE_S):
            assert [packet async for packet in context]
