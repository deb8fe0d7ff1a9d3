"""The asyncio client against a real gateway."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from clients.python import Client, GatewayClosedError, SpeechError, connect, stream_url
from clients.python.context import Context
from clients.python.wire import AudioPacket, Configured, Done, Flushed, SegmentStarted, Started
from engine.fake import Failure, FakeEngine, FakeEngineConfig
from tests.gateway.shell import DEADLINE_S, SLOW, gateway, until

LONG = "One two three four five six seven eight nine ten. " * 6
HELLO = (
    '{"type":"hello","protocol":"voice-gateway.v1","session":"s","voices":["default"],'
    '"limits":{},"engine":{"checkpoint":"c","sample_rate_hz":8000,"frame_samples":160}}'
)


async def speak(client: Client, text: str, **settings: Any) -> tuple[list[AudioPacket], Context]:
    context = client.context(**settings)
    await context.send(text)
    await context.end()
    async with asyncio.timeout(DEADLINE_S):
        return [packet async for packet in context], context


async def test_packets_in_order_and_how_it_ended() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served, connect(served.url) as client:
        assert client.voices == ("default",)
        packets, context = await speak(client, "Hello there.", lead_ms=0)
        assert [packet.sequence for packet in packets] == list(range(len(packets)))
        assert context.started is not None and context.done is not None
        assert context.done.frames == engine.frame_count("Hello there.")
        assert len(packets) * 20 >= context.done.audio_ms


async def test_events_come_between_the_packets() -> None:
    async with gateway() as served, connect(served.url) as client:
        context = client.context(lead_ms=0)
        await context.send("Hello there.")
        await context.end()
        items = [item async for item in context.events()]
    kinds = [type(item) for item in items if not isinstance(item, AudioPacket)]
    assert kinds == [Configured, Started, SegmentStarted, Done]
    assert isinstance(items[-1], Done)


async def test_contexts_side_by_side_are_kept_apart() -> None:
    async with gateway() as served, connect(served.url) as client:
        results = await asyncio.gather(
            *(speak(client, f"Number {i}.", lead_ms=0) for i in range(5))
        )
    for packets, context in results:
        assert {packet.number for packet in packets} == {context.number}
    assert len({context.number for _, context in results}) == 5


async def test_interrupt_answers_and_ends_the_iteration() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served, connect(served.url) as client:
        context = client.context(lead_ms=0)
        await context.send(LONG)
        seen = 0
        answer = None
        async with asyncio.timeout(DEADLINE_S):
            async for _ in context:
                seen += 1
                if seen == 3:
                    answer = await context.interrupt(played_ms=40)
        assert seen == 3
        assert answer is not None and answer is context.interrupted
        assert answer.engine_confirmed
        assert answer.heard_text + answer.unspoken_text == LONG
        assert await context.interrupt() is answer


async def test_interrupt_of_what_is_done_but_still_heard() -> None:
    async with gateway() as served, connect(served.url) as client:
        _, context = await speak(client, "Hello there.", lead_ms=0)
        answer = await context.interrupt(played_ms=0)
        assert answer is not None
        assert answer.unspoken_text


async def test_interrupt_of_what_the_gateway_never_saw() -> None:
    """An agent is interrupted before its first token: nothing was heard, nor will be."""
    engine = FakeEngine()
    async with gateway(engine) as served, connect(served.url) as client:
        context = client.context(voice="default")
        answer = await context.interrupt()
        assert answer is not None and (answer.heard_text, answer.unspoken_text) == ("", "")
        await context.send("Too late. ")
        await context.end()
        assert [item async for item in context.events()] == [answer]
        await speak(client, "Next.")
    assert [request.text for request in engine.requests] == ["Next."]


async def test_interrupting_everything() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served, connect(served.url) as client:
        contexts = [client.context() for _ in range(3)]
        for context in contexts:
            await context.send(LONG)
        await until(lambda: bool(engine.requests))
        await client.interrupt()
        async with asyncio.timeout(DEADLINE_S):
            for context in contexts:
                assert [packet async for packet in context] == []
                assert context.interrupted is not None


async def test_interrupting_everything_leaves_alone_what_has_not_begun() -> None:
    """A context that waits for its LLM is not in the gateway: nothing would ever answer for it."""
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served, connect(served.url) as client:
        waiting = [client.context(lead_ms=0), client.context("mine", lead_ms=0), client.context()]
        begun = [client.context(), client.context()]
        for context in begun:
            await context.send(LONG)
        configured = client.context()
        await configured.configure(voice="default")
        answers = await client.interrupt()
        assert [answer.context for answer in answers] == [c.id for c in (*begun, configured)]
        assert [a.heard_text + a.unspoken_text for a in answers] == [LONG, LONG, ""]
        for context in waiting:
            await context.send("Hello there.")
            await context.end()
        async with asyncio.timeout(DEADLINE_S):
            for context in waiting:
                assert [packet async for packet in context]
                assert context.done is not None and context.interrupted is None


async def test_interrupting_everything_drops_what_is_done_and_not_yet_taken() -> None:
    async with gateway() as served, connect(served.url) as client:
        context = client.context(lead_ms=0)
        await context.send("Hello there.")
        await context.end()
        await until(lambda: context.done is not None)
        await client.interrupt()
        assert [packet async for packet in context] == []
        assert client._buffered_bytes == 0


@pytest.mark.parametrize("newer", [1, 7, 33, 70])
async def test_interrupt_is_answered_however_many_came_after(newer: int) -> None:
    async with gateway() as served, connect(served.url) as client:
        _, context = await speak(client, "Hello there.", lead_ms=0)
        for i in range(newer):
            await speak(client, f"Number {i}.", lead_ms=0)
        async with asyncio.timeout(DEADLINE_S):
            answer = await context.interrupt()
            assert answer is not None and answer.context == context.id
            assert await context.interrupt() is answer


async def test_an_id_of_a_later_utterance_is_not_interrupted_by_the_earlier_one() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served, connect(served.url) as client:
        first = client.context("a", lead_ms=0)
        await first.send("Hi.")
        await first.end()
        async with asyncio.timeout(DEADLINE_S):
            assert [packet async for packet in first]
            later = client.context("a", lead_ms=0)
            await later.configure()
            await later.send(LONG)
            assert await first.interrupt() is None
            await later.end()
            assert [packet async for packet in later]
        assert later.done is not None and later.interrupted is None


@pytest.mark.parametrize("cancelled", [0, 1, 2])
async def test_who_stops_waiting_for_an_answer_takes_it_from_nobody_else(cancelled: int) -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served, connect(served.url) as client:
        context = client.context(lead_ms=0)
        await context.send(LONG)
        await until(lambda: context.started is not None)
        waiters = [asyncio.create_task(context.interrupt()) for _ in range(3)]
        await asyncio.sleep(0)
        waiters[cancelled].cancel()
        async with asyncio.timeout(DEADLINE_S):
            results = await asyncio.gather(*waiters, return_exceptions=True)
        assert isinstance(results.pop(cancelled), asyncio.CancelledError)
        assert context.interrupted is not None
        assert results == [context.interrupted] * 2


@pytest.mark.parametrize("spoken", ["done", "speaking"])
async def test_interrupting_over_a_dead_line_raises_every_time(spoken: str) -> None:
    async with gateway(FakeEngine(SLOW)) as served, connect(served.url) as client:
        context = client.context(lead_ms=0)
        await context.send("Hello there. ")
        if spoken == "done":
            await context.end()
        await until(lambda: context.over if spoken == "done" else context.started is not None)
        client._link._socket.transport.abort()  # type: ignore[union-attr]
        async with asyncio.timeout(DEADLINE_S):
            for _ in range(3):
                with pytest.raises(GatewayClosedError):
                    await context.interrupt()
            with pytest.raises(GatewayClosedError):
                await client.interrupt()


@pytest.mark.parametrize("settings", [{}, {"voice": "default"}])
@pytest.mark.parametrize("texts", [(), ("",), (" ",), ("...",), (" ", "", "\n")])
async def test_the_end_of_what_has_no_words_is_a_done_without_sound(
    settings: dict[str, Any], texts: tuple[str, ...]
) -> None:
    async with gateway() as served, connect(served.url) as client:
        context = client.context(**settings)
        for text in texts:
            await context.send(text)
        await context.end()
        await context.end()
        async with asyncio.timeout(DEADLINE_S):
            assert [packet async for packet in context] == []
        assert context.done is not None and context.done.audio_ms == 0.0
        with pytest.raises(SpeechError, match="it is done"):
            await context.send("more")
        await speak(client, "Fine.")


async def test_what_comes_before_the_first_text_is_kept_for_it() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served, connect(served.url) as client:
        context = client.context(lead_ms=0)
        await context.report_playback(0)
        await context.flush(1)
        await context.duck(0.0)
        await context.send("Hello there. ")
        await until(lambda: bool(engine.requests))
        await context.resume()
        await context.end()
        async with asyncio.timeout(DEADLINE_S):
            kinds = [type(item) async for item in context.events()]
        assert AudioPacket in kinds and Flushed in kinds and kinds[-1] is Done


async def test_stale_packets_are_dropped() -> None:
    """Those of an older generation, and any between our interrupt and its answer."""
    frame = bytes([1, 1, 0, 0]) + (1).to_bytes(4, "big") + bytes([0, 0, 0, 0]) + bytes(12)
    fresh = bytes([1, 1, 0, 0]) + (1).to_bytes(4, "big") + bytes([0, 0, 0, 2]) + bytes(12)
    started = (
        '{"type":"started","context":"c1","number":1,"generation":2,'
        '"format":{"codec":"opus","sample_rate_hz":48000,"frame_ms":20},"pre_skip_samples":0}'
    )
    interrupted = (
        '{"type":"interrupted","context":"c1","generation":2,"heard_text":"","unspoken_text":"x",'
        '"heard_ms":0,"sent_ms":0,"engine_confirmed":true,"frames_wasted":0}'
    )

    async def script(socket: ServerConnection) -> None:
        for message in (HELLO, started, frame, fresh):
            await socket.send(message)
        async for message in socket:
            if "interrupt" in str(message):
                for late in (fresh, fresh, interrupted):
                    await socket.send(late)

    async with serve(script, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}") as client:
            context = client.context("c1")
            await context.send("x")
            packets = []
            async for packet in context:
                packets.append(packet)
                assert (await context.interrupt()) is not None
            assert [packet.generation for packet in packets] == [2]


async def test_a_refused_setting_raises_and_is_not_spoken_otherwise() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served, connect(served.url) as client:
        with pytest.raises(SpeechError, match="expected one of default, got nobody") as wrong:
            await speak(client, LONG, voice="nobody")
        assert wrong.value.code == "unknown_voice"
        await until(lambda: engine._running == 0)
        await speak(client, "Fine.")


async def test_an_engine_failure_raises() -> None:
    engine = FakeEngine()
    engine.failures.append(Failure("boom"))
    async with gateway(engine) as served, connect(served.url) as client:
        with pytest.raises(SpeechError) as wrong:
            await speak(client, "Now boom.")
        assert wrong.value.code == "engine_failed"


async def test_a_lost_gateway_raises_in_every_context() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine, shutdown_timeout_ms=0) as served:
        stack = connect(served.url)
        client = await stack.__aenter__()
        contexts = [client.context() for _ in range(2)]
        for context in contexts:
            await context.send(LONG)
        await until(lambda: engine._running == 1)
    for context in contexts:
        with pytest.raises(GatewayClosedError) as lost:
            async with asyncio.timeout(DEADLINE_S):
                async for _ in context:
                    pass
        assert lost.value.code == 1012
    with pytest.raises(GatewayClosedError):
        await client.context().send("x")
    await stack.__aexit__(None, None, None)


async def test_being_refused_says_why() -> None:
    async with gateway(api_keys="k") as served:
        with pytest.raises(SpeechError, match="unauthorized"):
            async with connect(served.url):
                pass
        async with connect(served.url, api_key="k") as client:
            await speak(client, "Hello.")


async def test_a_gateway_that_speaks_something_else() -> None:
    async def script(socket: ServerConnection) -> None:
        await socket.send(HELLO)
        await socket.recv()
        await socket.send('{"type":"dance"}')
        await socket.wait_closed()

    async with serve(script, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect(f"127.0.0.1:{port}") as client:
            with pytest.raises(ValueError, match="dance"):
                await speak(client, "x")


async def test_a_slow_consumer_pauses_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clients.python.client.MAX_BUFFERED_BYTES", 10_000)
    engine = FakeEngine(FakeEngineConfig(frames_per_chunk=10))
    async with gateway(engine) as served, connect(served.url) as client:
        pcm = {"codec": "pcm_s16le", "sample_rate_hz": 48_000}
        context = client.context(format=pcm, lead_ms=0)
        await context.send(LONG)
        await context.end()
        packets = 0
        async with asyncio.timeout(DEADLINE_S):
            async for packet in context:
                packets += 1
                assert client._buffered_bytes < 10_000 + len(packet.payload)
                await asyncio.sleep(0)
        assert context.done is not None
        assert packets * 20 >= context.done.audio_ms
        assert client._buffered_bytes == 0


async def test_a_context_id_is_used_once_at_a_time() -> None:
    async with gateway() as served, connect(served.url) as client:
        client.context("a")
        with pytest.raises(ValueError, match="not in use"):
            client.context("a")


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("127.0.0.1:8080", "ws://127.0.0.1:8080/v1/stream"),
        ("http://h", "ws://h/v1/stream"),
        ("https://h/", "wss://h/v1/stream"),
        ("ws://h:1/v1/stream?api_key=k", "ws://h:1/v1/stream?api_key=k"),
        ("wss://h/behind/a/proxy", "wss://h/behind/a/proxy"),
    ],
)
def test_addresses(given: str, url: str) -> None:
    assert stream_url(given) == url


@pytest.mark.parametrize("given", ["", "ftp://h", "ws://", "http:///x"])
def test_addresses_that_are_none(given: str) -> None:
    with pytest.raises(ValueError, match="expected an address"):
        stream_url(given)
