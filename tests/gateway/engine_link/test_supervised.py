"""An engine is lost and comes back, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from engine.api import (
    AbortResult,
    EngineInfo,
    EngineOverloadedError,
    EngineUnavailableError,
    Frames,
    SpeechEvent,
    SpeechRequest,
    TextTokens,
)
from engine.fake import Failure, FakeEngine, FakeEngineConfig
from gateway.engine_link.supervised import Backoff, SupervisedEngine
from tests.virtual_loop import run_virtually

SLOW = FakeEngineConfig(prefill_delay_s=1.0, frame_delay_s=0.1)
REQUEST = SpeechRequest("r", "Hello there.")


class MortalEngine(FakeEngine):
    """Notes when it was started; the first `bad_starts` restarts fail."""

    def __init__(self, config: FakeEngineConfig = SLOW) -> None:
        super().__init__(config)
        self.starts_s: list[float] = []
        self.bad_starts = 0

    async def start(self) -> EngineInfo:
        self.starts_s.append(asyncio.get_running_loop().time())
        if len(self.starts_s) > 1 and self.bad_starts > 0:
            self.bad_starts -= 1
            raise EngineUnavailableError("no room for it")
        return await super().start()


async def spoken(engine: SupervisedEngine, request: SpeechRequest = REQUEST) -> list[SpeechEvent]:
    return [event async for event in engine.speak(request)]


def test_restarts_wait_longer_each_time_until_one_lives_long() -> None:
    backoff = Backoff(first_s=1.0, most_s=5.0, steady_s=100.0)
    assert [backoff.after(3.0) for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert backoff.after(100.0) == 1.0
    assert backoff.after(0.0) == 2.0


def test_a_loss_is_told_at_once_and_the_engine_started_until_it_starts() -> None:
    async def main() -> None:
        engine, log = MortalEngine(), []
        clock = asyncio.get_running_loop().time
        supervised = SupervisedEngine(
            engine,
            lambda reason: log.append((reason, clock())),
            lambda info: log.append((info.checkpoint, clock())),
            Backoff(first_s=1.0),
        )
        await supervised.start()
        engine.bad_starts = 3
        await asyncio.sleep(10.0)
        crashed_s = clock()
        await engine.crash("killed")
        await asyncio.sleep(60.0)
        assert log == [("killed", crashed_s), ("fake", crashed_s + 1 + 2 + 4 + 8)]
        assert len(engine.starts_s) == 5
        assert await spoken(supervised)
        await supervised.close()

    run_virtually(main())


def test_a_request_without_sound_is_asked_for_again() -> None:
    async def main() -> None:
        engine = MortalEngine(FakeEngineConfig(prefill_delay_s=1.0, with_text_tokens=True))
        supervised = SupervisedEngine(engine)
        await supervised.start()
        undisturbed = await spoken(supervised)
        speaking = asyncio.create_task(spoken(supervised, SpeechRequest("again", REQUEST.text)))
        await asyncio.sleep(0.5)
        await engine.crash("killed")
        assert await speaking == undisturbed
        assert [request.request_id for request in engine.requests] == ["r", "again", "again"]
        await supervised.close()

    run_virtually(main())


def test_a_request_whose_sound_has_begun_fails_and_the_next_one_waits() -> None:
    async def main() -> None:
        engine = MortalEngine()
        supervised = SupervisedEngine(engine, backoff=Backoff(first_s=7.0))
        await supervised.start()
        heard: list[SpeechEvent] = []

        async def speak() -> None:
            async for event in supervised.speak(REQUEST):
                heard.append(event)

        speaking = asyncio.create_task(speak())
        await asyncio.sleep(1.55)
        await engine.crash("killed")
        with pytest.raises(EngineUnavailableError):
            await speaking
        assert heard
        assert all(isinstance(event, Frames) for event in heard)
        began_s = asyncio.get_running_loop().time()
        assert await spoken(supervised, SpeechRequest("next", "Hello."))
        assert asyncio.get_running_loop().time() - began_s > 6.0
        await supervised.close()

    run_virtually(main())


def test_what_the_engine_does_not_want_is_not_asked_for_again() -> None:
    async def main() -> None:
        engine = MortalEngine()
        engine.failures.append(Failure("Hello"))
        supervised = SupervisedEngine(engine)
        await supervised.start()
        with pytest.raises(EngineUnavailableError):
            await spoken(supervised)
        assert len(engine.requests) == 1
        await supervised.close()

    run_virtually(main())


def test_a_request_that_kills_every_engine_fails_in_the_end() -> None:
    class Poisoned(MortalEngine):
        async def speak(self, request: SpeechRequest) -> AsyncIterator[SpeechEvent]:
            self.requests.append(request)
            yield TextTokens(())
            await self.crash("killed by a request")
            raise EngineUnavailableError("killed by a request")

    async def main() -> None:
        engine = Poisoned()
        supervised = SupervisedEngine(engine)
        await supervised.start()
        with pytest.raises(EngineUnavailableError):
            await spoken(supervised)
        assert len(engine.requests) == 3
        await supervised.close()

    run_virtually(main())


def test_nobody_waits_for_ever_for_an_engine_that_does_not_come_back() -> None:
    async def main() -> None:
        engine = MortalEngine()
        supervised = SupervisedEngine(engine)
        await supervised.start()
        engine.bad_starts = 1_000_000
        await engine.crash("killed")
        await asyncio.sleep(1.0)
        with pytest.raises(EngineOverloadedError):
            await spoken(supervised)
        assert await supervised.abort("r") == AbortResult(confirmed=True, frames_after=0)
        await supervised.close()

    run_virtually(main())


def test_an_abort_that_is_not_answered_is_given_up() -> None:
    class Stopped(MortalEngine):
        async def abort(self, request_id: str) -> AbortResult:
            return await asyncio.get_running_loop().create_future()

    async def main() -> None:
        supervised = SupervisedEngine(Stopped())
        await supervised.start()
        with pytest.raises(EngineUnavailableError, match="expected an answer"):
            await supervised.abort("r")
        await supervised.close()

    run_virtually(main())
