"""The player on a clock of its own: each sample once, on time, and silence at once."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from clients.python import SpeechError, connect
from clients.python.context import Context
from clients.python.wire import Failed
from clients.sound.device import PlayerError
from clients.sound.player import AHEAD_MS, BUFFER_MS, CHUNK_MS, REPORT_MS, Player
from engine.fake import FakeEngine
from tests.clients.python.virtual import (
    RATE_HZ,
    ScriptedSession,
    Speaker,
    VirtualClock,
    begin,
    done,
    settle,
    sound,
)
from tests.gateway.shell import DEADLINE_S, gateway

CHUNK = round(CHUNK_MS * RATE_HZ / 1000)


def ramp(first: int, count: int) -> bytes:
    """Every sample another value, none of them silence."""
    return struct.pack(f"<{count}h", *(1 + (first + i) % 30_000 for i in range(count)))


def samples(duration_ms: float) -> int:
    return round(duration_ms * RATE_HZ / 1000)


class Stage:
    """A player on a virtual clock, and contexts for it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.speaker = Speaker(self.clock)
        self.session = ScriptedSession()
        self.player = Player(self.speaker, RATE_HZ, self.clock, self.clock.sleep)
        self.tasks: list[asyncio.Task[None]] = []

    def play(self, name: str, number: int) -> Context:
        """A context whose sound has begun and is being played."""
        context = self.session.context(name)
        self.tasks.append(asyncio.create_task(self.player.play(context)))
        begin(context, number)
        return context

    @property
    def heard(self) -> bytes:
        return bytes(self.speaker.pcm)


@contextlib.asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    made = Stage()
    try:
        yield made
    finally:
        await made.player.close()
        for task in made.tasks:
            task.cancel()
        await asyncio.gather(*made.tasks, return_exceptions=True)


@examples(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.integers(1, 900), min_size=1, max_size=4),
    st.integers(1, 200).map(lambda n: 2 * n),
    st.integers(0, 159),
)
def test_every_sample_once_and_in_order(lengths: list[int], cut: int, padding: int) -> None:
    async def scenario() -> None:
        async with stage() as on:
            sounds, first = [], 0
            for number, length in enumerate(lengths):
                context = on.play(f"c{number}", number)
                sounds.append(ramp(first, length))
                sound(context, sounds[-1] + b"\x7f\x7f" * padding, cut)
                done(context, length)
                first += length
            await on.clock.advance(sum(lengths) / RATE_HZ * 1000 + 200)
            assert all(task.done() for task in on.tasks)
            line = b"".join(sounds)
            assert on.heard[: len(line)] == line
            assert not any(on.heard[len(line) :]) and len(on.heard) - len(line) <= 2 * CHUNK

    asyncio.run(scenario())


async def test_nothing_is_handed_over_long_before_its_time() -> None:
    async with stage() as on:
        context = on.play("c", 1)
        sound(context, ramp(0, samples(2000)))
        done(context, samples(2000))
        began_s = on.clock.now_s
        await on.clock.advance(2100)
        for at_s, size in on.speaker.written:
            early_ms = 1000 * size / 2 / RATE_HZ - 1000 * (at_s - began_s)
            assert 0 < early_ms <= AHEAD_MS + 0.01
        assert on.tasks[0].done()


@pytest.mark.parametrize("at_ms", [1, 20, 99, 250, 777, 1900])
async def test_an_interrupt_is_silence_and_says_what_was_heard(at_ms: float) -> None:
    async with stage() as on:
        context = on.play("c", 1)
        sound(context, ramp(0, samples(2000)))
        done(context, samples(2000))
        await on.clock.advance(at_ms)
        assert on.player.heard_ms(context) == pytest.approx(at_ms, abs=0.2)
        answer = await on.player.interrupt()
        assert answer is context.interrupted
        assert answer is not None and answer.heard_ms == pytest.approx(at_ms, abs=0.2)
        assert on.speaker.silenced == [on.clock.now_s]
        size = len(on.heard)
        await on.clock.advance(500)
        assert on.tasks[0].done() and len(on.heard) == size
        later = on.play("later", 2)
        sound(later, ramp(9000, 400))
        done(later, 400)
        await on.clock.advance(300)
        assert on.heard[size : size + 800] == ramp(9000, 400) and on.tasks[1].done()


async def test_an_interrupt_stops_what_waits_and_what_has_not_begun() -> None:
    async with stage() as on:
        contexts = [on.play("a", 1), on.play("b", 2), on.session.context("c")]
        on.tasks.append(asyncio.create_task(on.player.play(contexts[2])))
        for context in contexts[:2]:
            sound(context, ramp(0, samples(400)))
        await on.clock.advance(300)
        answer = await on.player.interrupt()
        await settle()
        assert answer is contexts[0].interrupted
        asked = [s for s in on.session.said if s["type"] == "interrupt"]
        assert [s["context"] for s in asked] == ["a", "b", "c"]
        assert [round(s["played_ms"]) for s in asked] == [300, 0, 0]
        assert all(task.done() for task in on.tasks)
        assert await on.player.interrupt() is None


async def test_one_that_waits_is_interrupted_without_touching_the_one_that_is_heard() -> None:
    async with stage() as on:
        first, second, third = (on.play(name, i) for i, name in enumerate("abc"))
        for i, context in enumerate((first, second, third)):
            sound(context, ramp(5000 * i, samples(300)))
            done(context, samples(300))
        await on.clock.advance(100)
        await second.interrupt()
        await on.clock.advance(700)
        assert on.heard.startswith(ramp(0, samples(300)) + ramp(10_000, samples(300)))
        assert not on.speaker.silenced and all(task.done() for task in on.tasks)


async def test_the_order_is_that_in_which_the_sound_begins() -> None:
    async with stage() as on:
        late, early = on.session.context("late"), on.session.context("early")
        for context in (late, early):
            on.tasks.append(asyncio.create_task(on.player.play(context)))
        await settle()
        for number, context in enumerate((early, late)):
            begin(context, number)
            sound(context, ramp(5000 * number, samples(100)))
            done(context, samples(100))
            await settle()
        await on.clock.advance(400)
        assert on.heard.startswith(ramp(0, samples(100)) + ramp(5000, samples(100)))


async def test_a_gap_is_silence_that_does_not_count_as_heard() -> None:
    async with stage() as on:
        context = on.play("c", 1)
        sound(context, ramp(0, samples(200)))
        await on.clock.advance(600)
        assert on.player.heard_ms(context) == pytest.approx(200)
        sound(context, ramp(5000, samples(200)))
        done(context, samples(400))
        await on.clock.advance(600)
        line = on.heard
        assert line[: 2 * samples(200)] == ramp(0, samples(200))
        assert ramp(5000, samples(200)) in line[2 * samples(200) :]
        assert on.tasks[0].done()


async def test_the_gateway_is_told_what_was_heard() -> None:
    async with stage() as on:
        context = on.play("c", 1)
        sound(context, ramp(0, samples(1000)))
        await on.clock.advance(900)
        told = [s["played_ms"] for s in on.session.said if s["type"] == "playback"]
        assert told and all(b - a >= REPORT_MS for a, b in zip([0.0, *told], told, strict=False))
        assert told[-1] > 900 - REPORT_MS - CHUNK_MS


async def test_what_was_made_before_a_failure_is_heard() -> None:
    async with stage() as on:
        context = on.play("c", 1)
        sound(context, ramp(0, samples(300)))
        context.take_event(Failed("engine_failed", "the engine failed", "c"))
        await on.clock.advance(500)
        assert on.heard.startswith(ramp(0, samples(300)))
        with pytest.raises(SpeechError, match="engine_failed"):
            await on.tasks[0]


async def test_whoever_stops_playing_makes_it_silent() -> None:
    async with stage() as on:
        context = on.play("c", 1)
        sound(context, ramp(0, samples(1000)))
        await on.clock.advance(300)
        on.tasks[0].cancel()
        await settle()
        assert on.speaker.silenced and on.player.heard_ms(context) == 0.0
        size = len(on.heard)
        await on.clock.advance(300)
        assert len(on.heard) == size


async def test_it_does_not_take_more_than_it_plays() -> None:
    async with stage() as on:
        context = on.play("c", 1)
        sound(context, ramp(0, samples(20 * BUFFER_MS)))
        await settle()
        assert len(context._queue) > 18 * BUFFER_MS / 20
        await on.clock.advance(1000)
        assert len(context._queue) > 17 * BUFFER_MS / 20


async def test_a_program_that_quits_is_an_error_for_whoever_plays() -> None:
    async with stage() as on:
        context = on.play("c", 1)
        on.speaker.error = OSError("no such device")
        sound(context, ramp(0, samples(300)))
        await on.clock.advance(500)
        with pytest.raises(PlayerError, match="no such device"):
            await on.tasks[0]
        with pytest.raises(PlayerError):
            await on.player.play(on.session.context("d"))


async def test_a_format_that_it_cannot_play_is_refused() -> None:
    async with stage() as on:
        context = on.session.context("c")
        on.tasks.append(asyncio.create_task(on.player.play(context)))
        begin(context, 1, rate_hz=RATE_HZ + 1)
        await settle()
        with pytest.raises(ValueError, match="at 8000 Hz to play, got pcm_s16le at 8001 Hz"):
            await on.tasks[0]


async def test_nothing_to_say_is_played_at_once() -> None:
    async with stage() as on:
        context = on.session.context("c")
        on.tasks.append(asyncio.create_task(on.player.play(context)))
        done(context, 0)
        await settle()
        assert on.tasks[0].done() and not on.heard


async def test_through_a_real_gateway_the_heard_text_is_what_was_played() -> None:
    text = "One two three four five six seven eight nine ten. " * 4
    clock = VirtualClock()
    async with gateway(FakeEngine()) as served, connect(served.url) as client:
        player = Player(Speaker(clock), clock=clock, sleep=clock.sleep)
        speech = client.speak(text, lead_ms=0)
        playing = asyncio.create_task(player.play(speech))
        async with asyncio.timeout(DEADLINE_S):
            while player.heard_ms(speech) < 2000:
                await clock.advance(20)
            answer = await player.interrupt()
            await playing
        await player.close()
        assert answer is not None
        assert answer.heard_text + answer.unspoken_text == text
        assert 0 < len(answer.heard_text) < len(text) / 2
        assert 1900 < answer.heard_ms < 2300  # the gateway's clock is another one
