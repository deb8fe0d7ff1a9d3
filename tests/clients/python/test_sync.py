"""The synchronous face, used from threads against a gateway in the test's loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clients import python as asynchronous
from clients.python import GatewayClosedError, SpeechError, sync
from clients.python.wire import AudioPacket, Done
from engine.fake import FakeEngine
from tests.gateway.shell import DEADLINE_S, SLOW, gateway

LONG = "One two three four five six seven eight nine ten. " * 6


async def beside(work: Any, *arguments: Any) -> Any:
    """Run blocking client code while the gateway's loop turns."""
    async with asyncio.timeout(DEADLINE_S):
        return await asyncio.to_thread(work, *arguments)


async def test_text_in_and_packets_out() -> None:
    def talk(url: str) -> tuple[list[Any], sync.Context]:
        with sync.connect(url) as client:
            assert client.voices == ("default",) and client.hello.engine.sample_rate_hz == 44_100
            speech = client.context(lead_ms=0)
            for piece in ("Hel", "lo ", "there."):
                speech.send(piece)
            speech.end()
            return list(speech.events()), speech

    async with gateway() as served:
        items, speech = await beside(talk, served.url)
    assert isinstance(items[-1], Done) and items[-1] is speech.done
    assert any(isinstance(item, AudioPacket) for item in items)


async def test_a_plain_iterator_is_spoken_while_it_runs() -> None:
    heard = threading.Event()

    def deltas() -> Iterator[str]:
        yield "This comes first, and it is long enough. And "
        assert heard.wait(DEADLINE_S)
        yield "this comes later."

    def talk(url: str) -> int:
        with sync.connect(url) as client:
            count = 0
            for _ in client.speak(deltas(), lead_ms=0):
                heard.set()
                count += 1
            return count

    async with gateway() as served:
        assert await beside(talk, served.url) > 0


async def test_another_thread_interrupts_who_listens() -> None:
    def talk(url: str) -> Any:
        with sync.connect(url) as client:
            speech = client.context(lead_ms=0)
            speech.send(LONG)
            seen, answers = threading.Event(), []

            def barge_in() -> None:
                assert seen.wait(DEADLINE_S)
                answers.append(speech.interrupt(played_ms=20))

            other = threading.Thread(target=barge_in)
            other.start()
            for _ in speech:
                seen.set()
            other.join()
            return answers[0]

    async with gateway(FakeEngine(SLOW)) as served:
        answer = await beside(talk, served.url)
    assert answer.heard_text + answer.unspoken_text == LONG


async def test_what_goes_wrong_is_raised_here() -> None:
    def refused(url: str) -> None:
        with sync.connect(url) as client:
            list(client.speak("Hello.", voice="nobody"))

    def left(url: str) -> None:
        with sync.connect(url) as client:
            speech = client.context()
        # too late: the session is over, and nothing may hang
        speech.send("Hello.")

    async with gateway() as served:
        with pytest.raises(SpeechError, match="unknown_voice"):
            await beside(refused, served.url)
        with pytest.raises(GatewayClosedError, match="is over"):
            await beside(left, served.url)
    with pytest.raises(OSError):
        await beside(refused, "ws://127.0.0.1:1")


@pytest.mark.parametrize(
    ("face", "original"),
    [(sync.Client, asynchronous.Client), (sync.Context, asynchronous.Context)],
)
def test_it_has_what_the_other_has(face: type, original: type) -> None:
    """Every method for users, with the same parameters."""
    inner = {"aclose", "buffered", "forget", "owns", "send_command", "spawn", "stop_soon"}
    inner |= {"drop_pending_audio", "fail", "take_audio", "take_event"}
    inner |= {"wait_lost"}  # for who serves many in one loop
    for name, method in inspect.getmembers(original, inspect.isfunction):
        if not name.startswith("_") and name not in inner:
            mine = inspect.signature(getattr(face, name)).parameters
            assert list(mine) == list(inspect.signature(method).parameters), name
