"""A client whose connection is killed under it, again and again, against a real gateway."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from websockets.asyncio.server import ServerConnection, serve

from clients.python import Client, GatewayClosedError, connect
from clients.python.wire import AudioPacket, Done, Flushed
from engine.fake import FakeEngine, FakeEngineConfig
from tests.gateway.shell import DEADLINE_S, gateway, until

SLOW = FakeEngineConfig(frame_delay_s=0.001, frames_per_char=0.5)
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
    hello = (
        '{"type":"hello","protocol":"voice-gateway.v1","session":"s","voices":["default"],'
        '"limits":{"resume_window_ms":%d},"engine":{"checkpoint":"c","sample_rate_hz":8000,'
        '"frame_samples":160},"resume_token":"t"}'
    )

    async def once(window_ms: int, opened: asyncio.Event) -> str:
        async def handler(ws: ServerConnection) -> None:
            if opened.is_set():
                ws.transport.abort()  # the network is not back yet
                return
            opened.set()
            await ws.send(hello % window_ms)
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
