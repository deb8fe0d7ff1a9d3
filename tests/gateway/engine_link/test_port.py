"""The bridge to the engine: every outcome is told once, and nothing is left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.api import (
    EngineError,
    EngineOverloadedError,
    EngineUnavailableError,
    InvalidRequestError,
    UnknownVoiceError,
)
from engine.fake import Failure, FakeEngine, FakeEngineConfig
from gateway.clock import clock_ms
from gateway.engine_link.port import EnginePort, explain, facts_of
from gateway.types import (
    Abort,
    Aborted,
    EngineReport,
    Finished,
    Frames,
    HistoryTurn,
    RequestFailed,
    SamplingSettings,
    Submit,
    WarmVoice,
)
from tests.gateway.shell import until

_KINDS = {Frames: "frames", Finished: "finished", RequestFailed: "failed", Aborted: "aborted"}


class Listener:
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[EngineReport] = []

    def dry_at_ms(self, request_id: str) -> float:
        return 0.0

    def report(self, event: EngineReport) -> None:
        self.heard.append(event)

    def kinds(self) -> list[str]:
        return [_KINDS[type(event)] for event in self.heard]


def submit(text: str = "Hello.", request_id: str = "r1", **fields: Any) -> Submit:
    values: dict[str, Any] = {
        "voice": "default",
        "dialogue": "d",
        "history": (),
        "sampling": SamplingSettings(),
        "priority": 0,
        **fields,
    }
    return Submit(request_id, text, **values)


async def make(
    config: FakeEngineConfig | None = None,
) -> tuple[FakeEngine, EnginePort, Listener]:
    engine, listener = FakeEngine(config), Listener()
    await engine.start()
    return engine, EnginePort(engine, listener), listener


async def test_a_request_is_passed_on_whole() -> None:
    engine, port, listener = await make()
    turn = HistoryTurn("Before.", bytes(2 * engine.config.num_codebooks))
    sampling = SamplingSettings(temperature=0.5, top_k=1, seed=7)
    port.submit(submit(history=(turn,), sampling=sampling, priority=3))
    await until(lambda: port.open_requests == 0)
    (request,) = engine.requests
    assert (request.text, request.priority, request.dialogue) == ("Hello.", 3, "d")
    assert (request.history[0].text, request.history[0].codes) == (turn.text, turn.codes)
    assert (request.sampling.temperature, request.sampling.top_p) == (0.5, None)
    assert (request.sampling.top_k, request.sampling.seed) == (1, 7)
    frames = engine.frame_count("Hello.")
    assert listener.kinds() == ["frames"] * frames + ["finished"]
    last = listener.heard[-1]
    assert isinstance(last, Finished)
    assert (last.request_id, last.reason, last.frames) == ("r1", "stop", frames)
    await port.close()


async def test_an_abort_is_answered_and_ends_the_request() -> None:
    engine, port, listener = await make(FakeEngineConfig(frame_delay_s=0.002))
    port.submit(submit("A long text. " * 20))
    await until(lambda: "frames" in listener.kinds())
    port.abort(Abort("r1"))
    await until(lambda: "aborted" in listener.kinds())
    await until(lambda: port.open_requests == 0)
    assert listener.heard[-1] == Aborted("r1", True, 0)
    assert (await engine.stats()).running == 0


async def test_an_abort_before_the_request_began() -> None:
    engine, port, listener = await make()
    port.submit(submit())
    port.abort(Abort("r1"))
    await until(lambda: "aborted" in listener.kinds() and port.open_requests == 0)
    assert (await engine.stats()).running == 0


async def test_an_abort_that_the_engine_cannot_answer_is_not_confirmed() -> None:
    engine, port, listener = await make()

    async def dead(request_id: str) -> None:
        raise EngineUnavailableError("the worker died")

    engine.abort = dead  # type: ignore[method-assign,assignment]
    port.abort(Abort("r1"))
    await until(lambda: bool(listener.heard))
    assert listener.heard == [Aborted("r1", False, 0)]


async def test_closing_aborts_everything_and_then_is_silent() -> None:
    engine, port, listener = await make(FakeEngineConfig(frame_delay_s=0.002, max_streams=1))
    port.submit(submit("One. " * 50, "r1"))
    port.submit(submit("Two. " * 50, "r2"))  # waits for the only slot
    await until(lambda: "frames" in listener.kinds())
    heard = len(listener.heard)
    await port.close()
    await port.close()
    assert sorted(engine.aborts) == ["r1", "r2"]
    stats = await engine.stats()
    assert (stats.running, stats.waiting, stats.free_slots) == (0, 0, 1)
    await asyncio.sleep(0.01)
    assert len(listener.heard) == heard


async def test_a_failure_is_told_with_its_code() -> None:
    engine, port, listener = await make()
    engine.failures.append(Failure("Hello", after_frames=1))
    port.submit(submit())
    await until(lambda: port.open_requests == 0)
    assert listener.kinds() == ["frames", "failed"]
    last = listener.heard[-1]
    assert isinstance(last, RequestFailed)
    assert (last.request_id, last.code) == ("r1", "engine_failed")


@pytest.mark.parametrize(
    ("error", "code", "shows"),
    [
        (UnknownVoiceError("voice: expected a, got b"), "unknown_voice", True),
        (InvalidRequestError("text: expected less"), "invalid_value", True),
        (EngineOverloadedError("secret"), "overloaded", False),
        (EngineUnavailableError("secret"), "engine_failed", False),
        (EngineError("secret"), "engine_failed", False),
        (ZeroDivisionError("secret"), "engine_failed", False),
    ],
)
def test_what_a_peer_learns_of_an_error(error: Exception, code: str, shows: bool) -> None:
    wire_code, message = explain(error)
    assert wire_code == code
    assert (str(error) in message) is shows


async def test_warming_never_fails_a_session() -> None:
    engine, port, listener = await make()
    port.warm(WarmVoice("nobody"))
    port.warm(WarmVoice("default"))
    await until(lambda: engine.warmed == ["default"])
    assert listener.heard == []
    await port.close()


def test_facts_mirror_the_engines_info() -> None:
    info = FakeEngine().info
    facts = facts_of(info)
    assert {name: getattr(facts, name) for name in facts.__slots__} == {
        name: getattr(info, name) for name in info.__slots__
    }


class RichListener(Listener):
    """Has enough to go on with, so frames wait for each other."""

    def dry_at_ms(self, request_id: str) -> float:
        return clock_ms() + 60_000.0

    def frames_heard(self) -> int:
        width = 2 * FakeEngineConfig().num_codebooks
        return sum(len(event.codes) // width for event in self.heard if isinstance(event, Frames))


def made(engine: FakeEngine) -> int:
    return sum(stream.frames for stream in engine._streams.values())


async def rich(config: FakeEngineConfig | None = None) -> tuple[FakeEngine, EnginePort, Any]:
    engine, listener = FakeEngine(config), RichListener()
    await engine.start()
    return engine, EnginePort(engine, listener), listener


async def test_frames_come_together_where_nobody_waits_for_them_and_before_the_end() -> None:
    engine, port, listener = await rich()
    text = "Hello there. " * 3
    port.submit(submit(text))
    await until(lambda: port.open_requests == 0)
    kinds = listener.kinds()
    assert listener.frames_heard() == engine.frame_count(text)
    assert kinds[-1] == "finished" and kinds.count("frames") < engine.frame_count(text) / 4
    await port.close()


async def test_what_was_made_before_a_failure_is_told_before_it() -> None:
    engine, port, listener = await rich()
    engine.failures.append(Failure("Hello", after_frames=3))
    port.submit(submit())
    await until(lambda: port.open_requests == 0)
    assert listener.kinds() == ["frames", "failed"] and listener.frames_heard() == 3
    await port.close()


async def test_frames_that_waited_at_an_abort_are_told_before_its_answer() -> None:
    engine, port, listener = await rich(FakeEngineConfig(frame_delay_s=0.001))
    port.submit(submit("A long text. " * 20))
    await until(lambda: made(engine) >= 3)
    before = made(engine)
    port.abort(Abort("r1"))
    await until(lambda: "aborted" in listener.kinds())
    assert listener.frames_heard() >= before
    await port.close()


async def test_closing_drops_what_waits() -> None:
    engine, port, listener = await rich(FakeEngineConfig(frame_delay_s=0.001))
    port.submit(submit("A long text. " * 20))
    await until(lambda: made(engine) >= 2)
    await port.close()
    heard = len(listener.heard)
    await asyncio.sleep(0.01)
    assert len(listener.heard) == heard
