"""A client whose connection is killed under it, again and again, against a real gateway."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from websockets.asyncio.server import ServerConnection, serve

from clients.python import Client, GatewayClosedError, SpeechError, connect
from clients.python.link import FINAL_CODES
from clients.python.retries import MAX_FRUITLESS
from clients.python.wire import AudioPacket, Done, Flushed
from engine.fake import FakeEngine, FakeEngineConfig
from tests.gateway.shell import DEADLINE_S, gateway, until

SLOW = FakeEngineConfig(frame_delay_s=0.001, frames_per_char=0.5)
HELLO = (
    '{"type":"hello","protocol":"voice-gateway.v1","session":"s","voices":["default"],'
    '"limits":{"resume_window_ms":%d},"engine":{"checkpoint":"c","sample_rate_hz":8000,'
    '"frame_samples":160},"resume_token":"t","received":%d}'
)
TEXT = "One two three four five six seven eight nine ten. " * 4


def kill(client: Client) -> None:
    """Pull the cable: no closing handshake, and what is in the buffers is gone."""
    socket = client._link._socket
    if socket is not None:
        socket.transport.abort()


async def speak(client: Client, text: str, after: Callable[[int], None]) -> list[bytes]:
    """The payloads of one utterance; `after(n)` is called when packet n has come."""
    context = client.context(format={"codec": "pcm_s16le"}, lead_ms=0)
    await context.send(text)
    await context.end()
    packets: list[AudioPacket] = []
    async with asyncio.timeout(DEADLINE_S):
        async for packet in context:
            packets.append(packet)
            after(len(packets))
    assert isinstance(context.done, Done)
    assert [packet.sequence for packet in packets] == list(range(len(packets)))
    return [packet.payload for packet in packets]


async def test_killed_in_mid_speech_the_sound_is_the_uninterrupted_one() -> None:
    async with gateway(FakeEngine(SLOW)) as served:
        async with connect(served.url) as client:
            whole = await speak(client, TEXT, lambda count: None)
        async with connect(served.url, resume=True) as client:

            def after(count: int) -> None:
                if count in (1, len(whole) // 3, 2 * len(whole) // 3):
                    kill(client)

            assert await speak(client, TEXT, after) == whole
            assert client.resumed >= 2
            assert served.service.sessions == 1
        await until(lambda: served.service.sessions == 0)  # it took its leave


@examples(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 60), max_size=4))
def test_killed_anywhere(cuts: list[int]) -> None:
    async def scenario() -> None:
        text = TEXT[:100]
        async with gateway(FakeEngine(SLOW)) as served:
            async with connect(served.url) as client:
                whole = await speak(client, text, lambda count: None)
            async with connect(served.url, resume=True) as client:
                sound = await speak(client, text, lambda n: kill(client) if n in cuts else None)
            assert sound == whole

    asyncio.run(scenario())


async def test_what_is_said_while_the_line_is_dead_arrives_later_and_once() -> None:
    engine = FakeEngine(FakeEngineConfig(frames_per_char=0.1))
    async with gateway(engine) as served, connect(served.url, resume=True) as client:
        context = client.context(lead_ms=0)
        await context.send("Before. ")
        kill(client)
        for piece in ("And ", "during", " it. "):
            await context.send(piece)
        await context.flush(7)
        await context.send("After.")
        await context.end()
        async with asyncio.timeout(DEADLINE_S):
            events = [event async for event in context.events()]
        assert client.resumed == 1
        spoken = "".join(request.text for request in engine.requests)
        assert spoken.replace(" ", "") == "Before.Andduringit.After."
        assert [e.flush_id for e in events if isinstance(e, Flushed)] == [7]


async def test_an_interrupt_on_a_dead_line_is_answered_after_all() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served, connect(served.url, resume=True) as client:
        context = client.context(lead_ms=0)
        await context.send(TEXT)
        async for _ in context:
            break
        kill(client)
        async with asyncio.timeout(DEADLINE_S):
            answer = await context.interrupt()
        assert answer is not None and answer.heard_text + answer.unspoken_text == TEXT


async def test_a_line_that_dies_after_every_packet_is_still_mended() -> None:
    """There is progress each time, so that nobody gives up."""
    text = TEXT
    async with gateway(FakeEngine(SLOW)) as served:
        async with connect(served.url) as client:
            whole = await speak(client, text, lambda count: None)
        async with connect(served.url, resume=True) as client:
            kills = 0

            def after(count: int) -> None:
                nonlocal kills
                if client.resumed == kills <= 2 * MAX_FRUITLESS:
                    kills += 1
                    kill(client)

            assert await speak(client, text, after) == whole
            assert client.resumed > MAX_FRUITLESS


@contextlib.asynccontextmanager
async def deadly(die: Callable[[ServerConnection], Any]) -> AsyncIterator[tuple[str, list[str]]]:
    """A gateway with sessions that can be resumed, whose connections die of one message.

    Yields its address, and what the client sent, connection after connection.
    """
    seen: list[str] = []
    effective = 0

    async def handler(ws: ServerConnection) -> None:
        nonlocal effective
        seen.append("(opened)")
        await ws.send(HELLO % (600_000, effective))
        async for message in ws:
            seen.append(str(message))
            if "poison" in str(message):
                await asyncio.sleep(0)
                outcome = die(ws)
                if outcome is not None:
                    await outcome
                return
            effective += 1

    async with serve(handler, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", seen


async def dies_of_it(client: Client) -> GatewayClosedError:
    """Send a poisoned message among others; how the context ends."""
    context = client.context()
    await context.send("before")
    await context.send("poison")
    with pytest.raises(GatewayClosedError) as caught:
        async with asyncio.timeout(DEADLINE_S):
            async for _ in context:
                pass
    with pytest.raises(GatewayClosedError):
        await context.send("after")
    return caught.value


@pytest.mark.parametrize("code", sorted(FINAL_CODES))
async def test_a_close_that_says_what_was_wrong_is_final(code: int) -> None:
    async with deadly(lambda ws: ws.close(code, "no")) as (url, seen):
        async with connect(url, resume=True) as client:
            error = await dies_of_it(client)
    assert error.code == code
    assert seen.count("(opened)") == 1


@pytest.mark.parametrize("how", ["abort", "internal", "slow", "restart"])
async def test_a_message_that_kills_every_connection_is_not_sent_for_ever(how: str) -> None:
    def die(ws: ServerConnection) -> Any:
        if how == "abort":
            ws.transport.abort()
            return None
        return ws.close({"internal": 1011, "slow": 4408, "restart": 1012}[how], how)

    async with deadly(die) as (url, seen):
        async with connect(url, resume=True) as client:
            error = await dies_of_it(client)
    assert "over message 2" in str(error)
    assert sum("poison" in message for message in seen) == MAX_FRUITLESS + 1
    assert sum("before" in message for message in seen) == 1


async def test_a_gateway_that_hangs_up_at_once_is_not_asked_in_a_loop() -> None:
    """Each try succeeds, and is over: the window is that of the first loss."""
    opened = 0

    async def handler(ws: ServerConnection) -> None:
        nonlocal opened
        opened += 1
        await ws.send(HELLO % (400, 0))
        ws.transport.abort()

    async with serve(handler, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect(f"127.0.0.1:{port}", resume=True) as client:
            with pytest.raises(GatewayClosedError, match="the connection was lost"):
                async with asyncio.timeout(DEADLINE_S):
                    async for _ in client.context():
                        pass
    assert 2 <= opened <= 8


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("letter", ["x", "\u00e9", "\U0001f600"])
async def test_what_the_gateway_would_hang_up_at_is_not_sent(resume: bool, letter: str) -> None:
    engine = FakeEngine()
    async with gateway(engine) as served, connect(served.url, resume=resume) as client:
        with pytest.raises(SpeechError, match="at most 65536 bytes") as refused:
            await client.send_command("text", context="a", text=letter * 75_000)
        assert refused.value.code == "message_too_large"
        assert await speak(client, "Fine.", lambda count: None)


async def test_300_kb_in_one_message_close_the_session_once() -> None:
    async with gateway() as served, connect(served.url, resume=True) as client:
        client._link._max_message_bytes = math.inf
        context = client.context()
        await client.send_command("text", context=context.id, text="x" * 300_000)
        with pytest.raises(GatewayClosedError) as closed:
            async with asyncio.timeout(DEADLINE_S):
                async for _ in context:
                    pass
        assert closed.value.code == 1009 and client.resumed == 0


async def test_too_much_for_a_dead_line_waits_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clients.python.link.MAX_KEPT_CHARS", 2_000)
    engine = FakeEngine(FakeEngineConfig(frames_per_char=0.01))
    async with gateway(engine) as served, connect(served.url, resume=True) as client:
        context = client.context(lead_ms=0)
        await context.send("Begin. ")
        kill(client)
        await until(lambda: client._link._socket is None)
        words = [f"word {i}, " for i in range(200)]
        for word in words:
            await context.send(word)
        await context.end()
        async with asyncio.timeout(DEADLINE_S):
            assert [packet async for packet in context]
        spoken = "".join(request.text for request in engine.requests).replace(" ", "")
        assert spoken == ("Begin." + "".join(words)).replace(" ", "")


async def test_when_the_session_is_gone_it_says_so() -> None:
    async with gateway(FakeEngine(SLOW)) as served, connect(served.url, resume=True) as client:
        context = client.context(lead_ms=0)
        await context.send(TEXT)
        async for _ in context:
            break
        for driver in list(served.service._sessions):
            driver._session.end()
        kill(client)
        with pytest.raises(GatewayClosedError, match="lost; then resume_expired"):
            async with asyncio.timeout(DEADLINE_S):
                async for _ in context:
                    pass


async def test_without_resume_a_loss_is_an_error() -> None:
    async with gateway(FakeEngine(SLOW)) as served, connect(served.url) as client:
        context = client.context(lead_ms=0)
        await context.send(TEXT)
        async for _ in context:
            break
        kill(client)
        with pytest.raises(GatewayClosedError, match="lost"):
            async for _ in context:
                pass
        with pytest.raises(GatewayClosedError):
            await context.send("more")


async def test_it_gives_up_when_the_window_has_closed_and_close_does_not_wait() -> None:
    async def once(window_ms: int, opened: asyncio.Event) -> str:
        async def handler(ws: ServerConnection) -> None:
            if opened.is_set():
                ws.transport.abort()  # the network is not back yet
                return
            opened.set()
            await ws.send(HELLO % (window_ms, 0))
            with contextlib.suppress(ConnectionError):
                await ws.wait_closed()

        async with serve(handler, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with connect(f"127.0.0.1:{port}", resume=True) as client:
                context = client.context()
                kill(client)
                if window_ms > 1000:
                    return "left"
                with pytest.raises(GatewayClosedError) as caught:
                    async for _ in context:
                        pass
                return str(caught.value)

    async with asyncio.timeout(DEADLINE_S):
        assert await once(200, asyncio.Event()) == "the connection was lost"
        assert await once(600_000, asyncio.Event()) == "left"
