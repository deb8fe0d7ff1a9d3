"""The WebSocket endpoint over a real socket: order, bounds, and clients that misbehave."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from engine.fake import Failure, FakeEngine, FakeEngineConfig
from gateway.dialects import native
from gateway.server.connection.outbox import Outbox
from gateway.server.connection.transport import StreamProtocol
from tests.gateway.shell import (
    SLOW,
    deaf_client,
    gateway,
    receive,
    send,
    socket,
    until,
    until_event,
)
from tests.gateway.timers import Timers

PCM = {"codec": "pcm_s16le", "sample_rate_hz": 44_100}
SENTENCE = "The quick brown fox jumps over the lazy dog. "


def audio(items: list[Any]) -> list[bytes]:
    return [item for item in items if isinstance(item, bytes)]


async def test_speaks_and_says_so() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served, socket(served) as ws:
        hello = await receive(ws)
        assert isinstance(hello, dict)
        assert hello["type"] == "hello"
        assert hello["engine"]["sample_rate_hz"] == 44_100
        assert hello["limits"]["max_message_bytes"] == 65_536
        await send(ws, "configure", context="a", format=PCM, lead_ms=0)
        await send(ws, "text", context="a", text="Hello there.")
        await send(ws, "end", context="a")
        done, before = await until_event(ws, "done")
        assert [i["type"] for i in before if isinstance(i, dict)] == [
            "configured",
            "started",
            "segment",
        ]
        samples = sum(len(f) - native.HEADER.size for f in audio(before)) // 2
        assert samples == done["frames"] * 2048 == engine.frame_count("Hello there.") * 2048
        headers = [native.HEADER.unpack_from(frame) for frame in audio(before)]
        assert [h[5] for h in headers] == list(range(len(headers)))


async def test_a_flood_of_one_character_messages_is_read_while_it_speaks() -> None:
    text = SENTENCE * 20
    async with gateway(FakeEngine(FakeEngineConfig(frames_per_char=0.1))) as served:
        async with socket(served) as ws:
            await send(ws, "configure", context="a", format=PCM, lead_ms=0, speakable=False)
            for char in text:
                await send(ws, "text", context="a", text=char)
            await send(ws, "end", context="a")
            done, before = await until_event(ws, "done", "error")
            assert done["type"] == "done"
            segments = [i for i in before if isinstance(i, dict) and i["type"] == "segment"]
            assert "".join(s["text"] for s in segments) == text


async def test_a_killed_client_frees_the_engine() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served:
        async with socket(served) as ws:
            await send(ws, "text", context="a", text=SENTENCE * 20)
            await until(lambda: engine._running == 1)
            made = engine._frames_total
            ws.transport.abort()
        await until(lambda: engine._running == 0)
        assert engine.aborts == [engine.requests[0].request_id]
        assert engine._frames_total - made <= 2
        assert served.service.sessions == 0


async def test_interrupt_stops_the_sound_before_its_answer() -> None:
    engine = FakeEngine(SLOW)
    async with gateway(engine) as served, socket(served) as ws:
        await send(ws, "configure", context="a", lead_ms=0)
        await send(ws, "text", context="a", text=SENTENCE * 5)
        _, _ = await until_event(ws, "segment")
        await send(ws, "interrupt", context="a", played_ms=0)
        answer, _ = await until_event(ws, "interrupted")
        assert answer["engine_confirmed"] is True
        assert answer["unspoken_text"].endswith(SENTENCE)
        await send(ws, "text", context="b", text="Next.")
        await send(ws, "end", context="b")
        _, between = await until_event(ws, "done")
        numbers = {native.HEADER.unpack_from(frame)[3] for frame in audio(between)}
        assert len(numbers) == 1  # not one frame of the first context
        assert engine._running == 0


BAD = [
    ("{", "invalid_message"),
    ("[]", "invalid_message"),
    ('{"type":"sing"}', "invalid_message"),
    ('{"type":"text","context":"a"}', "invalid_message"),
    ('{"type":"text","context":"a","text":1}', "invalid_message"),
    ('{"type":"text","context":"a","text":"x","extra":1}', "invalid_message"),
    ('{"type":"text","context":"a","text":"\\ud800"}', "invalid_text"),
    ('{"type":"configure","context":"a","speed":9}', "invalid_value"),
    ('{"type":"configure","context":"a","voice":"nobody"}', "unknown_voice"),
    ('{"type":"flush","context":"nobody"}', "unknown_context"),
    (b"\x00\x01", "invalid_message"),
    ("[" * 50_000, "invalid_message"),
]


async def test_bad_messages_are_answered_and_the_socket_lives() -> None:
    async with gateway() as served, socket(served) as ws:
        await receive(ws)
        for message, code in BAD:
            await ws.send(message)
            error = await receive(ws)
            assert isinstance(error, dict)
            assert (error["type"], error["code"]) == ("error", code), message[:60]
        await send(ws, "text", context="b", text="Still alive.")
        await send(ws, "end", context="b")
        done, _ = await until_event(ws, "done")
        assert done["frames"] > 0


async def test_a_message_over_the_limit_is_named_then_the_socket_closes() -> None:
    async with gateway(max_message_bytes=1000) as served, socket(served) as ws:
        await receive(ws)
        await send(ws, "text", context="a", text="x" * 1000)
        error = await receive(ws)
        assert isinstance(error, dict)
        assert error["code"] == "message_too_large"
        with pytest.raises(ConnectionClosed) as closed:
            await receive(ws)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


async def test_a_huge_message_only_costs_its_sender() -> None:
    async with gateway(max_message_bytes=1000) as served, socket(served) as other:
        await receive(other)
        async with socket(served) as ws:
            await receive(ws)
            with pytest.raises(ConnectionClosed):
                await ws.send("x" * 5_000_000)
                while True:
                    await receive(ws)
        await send(other, "text", context="a", text="Fine.")
        await send(other, "end", context="a")
        await until_event(other, "done")


@pytest.mark.parametrize(
    ("frame", "extra_bits"),
    [
        (Frame(Opcode.TEXT, b"\xff\xfe"), 0),
        (Frame(Opcode.TEXT, b"x"), 0x40),
        (Frame(Opcode.TEXT, b"x"), 0x03),
        (Frame(Opcode.CONT, b"x"), 0),
    ],
    ids=["not UTF-8", "reserved bit", "reserved opcode", "continuation of nothing"],
)
async def test_broken_frames_end_that_socket_only(frame: Frame, extra_bits: int) -> None:
    raw = bytearray(frame.serialize(mask=True))
    raw[0] |= extra_bits
    async with gateway() as served:
        async with socket(served) as ws:
            await receive(ws)
            ws.transport.write(bytes(raw))
            with pytest.raises(ConnectionClosed):
                await receive(ws)
        async with socket(served) as ws:
            assert (await receive(ws))["type"] == "hello"  # type: ignore[index]
        await until(lambda: served.service.sessions == 0)


async def test_a_client_that_does_not_read_is_bounded_then_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timers = Timers(monkeypatch, of=Outbox)  # patience ends when this test says so
    monkeypatch.setattr("gateway.server.connection.transport.LINGER_S", 3600.0)
    engine = FakeEngine(FakeEngineConfig(frames_per_chunk=20))
    bounds = {"queue_high_water_bytes": 32_768, "queue_max_bytes": 65_536}
    async with gateway(engine, **bounds) as served, deaf_client(served.port) as deaf:
        await send(deaf, "configure", context="a", lead_ms=0, format=PCM)
        await send(deaf, "text", context="a", text=SENTENCE * 30)
        await send(deaf, "end", context="a")
        await until(lambda: len(timers.running()) == 1)
        async with socket(served) as other:
            await send(other, "text", context="b", text="I am served all the while.")
            await send(other, "end", context="b")
            await until_event(other, "done")
            assert served.service.sessions == 2
            (patience,) = timers.running()
            assert patience.delay_s == 15
            patience.fire()
            await until(lambda: served.service.sessions == 1)
        assert engine._running == 0
        registry = served.service.metrics.registry
        assert registry.get_sample_value("voice_gateway_slow_clients_total") == 1
        deaf.transport.resume_reading()
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                await receive(deaf)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4408, "slow_client")


async def test_a_flood_that_wants_answers_is_slowed_not_buffered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that sends mistakes and reads no errors: it cannot send on, then it is dropped."""
    timers = Timers(monkeypatch, of=Outbox)
    monkeypatch.setattr("gateway.server.connection.transport.LINGER_S", 0.0)
    bounds = {"queue_high_water_bytes": 8192, "queue_max_bytes": 65_536}
    bad = json.dumps({"type": "text", "context": "a", "text": 1})
    async with gateway(**bounds) as served, deaf_client(served.port) as deaf:
        sent = 0

        async def flood() -> None:
            nonlocal sent
            while True:
                await deaf.send(bad)
                sent += 1

        flooding = asyncio.create_task(flood())
        await until(lambda: bool(timers.running()))
        # what does not go through waits on the client's own side of the socket
        await until(lambda: deaf.transport.get_write_buffer_size() > 0)
        (patience,) = timers.running()
        patience.fire()
        await until(lambda: served.service.sessions == 0)
        await until(flooding.done)
        assert isinstance(flooding.exception(), ConnectionClosed)
        errors = served.service.metrics.registry.get_sample_value(
            "voice_gateway_errors_total", {"code": "invalid_message"}
        )
        assert errors is not None
        assert 0 < errors < sent  # the rest was never read


async def test_pings_are_answered_only_while_the_answers_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buffered: list[int] = []
    answer = StreamProtocol.handle_ping

    def spy(protocol: StreamProtocol) -> None:
        answer(protocol)
        buffered.append(protocol.transport.get_write_buffer_size())

    monkeypatch.setattr(StreamProtocol, "handle_ping", spy)
    async with gateway() as served, deaf_client(served.port) as deaf:
        ping = Frame(Opcode.PING, b"p" * 125).serialize(mask=True)
        for _ in range(8_000):
            deaf.transport.write(ping)
        await until(lambda: len(buffered) == 8_000)
        # The transport's own mark, and what one read can add: not the megabyte that was asked for.
        assert max(buffered) < 400_000
        deaf.transport.resume_reading()
        await send(deaf, "flush", context="nobody")
        error, _ = await until_event(deaf, "error")
        assert error["code"] == "unknown_context"


async def test_an_engine_failure_ends_its_context_and_shows_no_detail() -> None:
    engine = FakeEngine()
    engine.failures.append(Failure("boom", RuntimeError("secret path"), after_frames=2))  # type: ignore[arg-type]
    async with gateway(engine) as served, socket(served) as ws:
        await send(ws, "text", context="a", text="This goes boom.")
        await send(ws, "end", context="a")
        error, _ = await until_event(ws, "error")
        assert (error["context"], error["code"]) == ("a", "engine_failed")
        assert "secret" not in error["message"]
        await send(ws, "text", context="b", text="And on.")
        await send(ws, "end", context="b")
        await until_event(ws, "done")


async def test_a_defect_of_ours_ends_the_session_not_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with gateway() as served:
        async with socket(served) as ws:
            await receive(ws)
            (driver,) = served.service._sessions
            monkeypatch.setattr(driver.session, "receive", lambda *_: 1 / 0)
            await send(ws, "text", context="a", text="x")
            error = await receive(ws)
            assert isinstance(error, dict)
            assert (error["code"], error["message"]) == ("internal", "internal error")
            with pytest.raises(ConnectionClosed):
                await receive(ws)
        async with socket(served) as ws:
            assert (await receive(ws))["type"] == "hello"  # type: ignore[index]
