"""Barge-in with the real engine over a real socket: how soon it is quiet, and what was heard.

    uv run python -m benchmarks.barge_in [--checkpoint FOLDER]

Quiet: an utterance that the engine is busy with is interrupted at a random moment. Expectation: no
frame after the answer, the last frame within a few ms, the engine's slot free within two decode
steps and what was already on its way.

Heard: each text is first spoken to its end, which gives the final time line of its words; then it
is spoken again, same seed, and interrupted at a random moment of its playback, every other time
with the client's report. The words that the final time line puts before that moment are the truth.
This proves the accounting: packets, seams, pauses, pre-skip, playback clock, and the estimate for
words whose segment was still in the making. It does not prove that the time line is where a human
hears the words: a tiny checkpoint's words are noise, and longer than spoken ones, which makes them
easier to count. `word_start_error_ms_median` needs a checkpoint that speaks, and recordings whose
word times are known; it is null with the reason until then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_websocket

from benchmarks.report import Spread, finish, say
from engine.client import WorkerEngine
from engine.config import EngineConfig
from gateway.config import Config
from gateway.server import running

TINY = Path(__file__).parents[1] / "tests" / "golden" / "s2-pro-tiny"
TEXTS = (
    "Thank you for calling. The next train leaves at seven. It stops at every station.",
    "Your order is on its way. It should arrive tomorrow. Is there anything else you need?",
    "Please hold the line. Someone will be with you in a moment. We thank you for waiting.",
)
QUIET_ROUNDS, HEARD_ROUNDS = 12, 24
PACKET_MS = 20.0
DEADLINE_S = 60.0


@dataclass
class Spoken:
    """What came of one context."""

    words: list[dict[str, Any]] = field(default_factory=list)
    source: str = ""
    end_s: float | None = None  # when the player will have played all it has
    received_ms: float = 0.0
    last_at_s: float | None = None
    frames_after_answer: int = 0
    audio_ms: float = 0.0
    answer: dict[str, Any] | None = None
    answered_at_s: float = 0.0

    def _play(self, now_s: float) -> None:
        if self.end_s is None or self.end_s < now_s:
            self.end_s = now_s  # it begins, or has waited for this packet
        self.end_s += PACKET_MS / 1000
        self.received_ms += PACKET_MS

    def played_ms(self, now_s: float) -> float:
        """How much the listener has heard, pauses for want of packets not counted."""
        waiting_s = max((self.end_s or now_s) - now_s, 0.0)
        return self.received_ms - 1000 * waiting_s

    def take(self, message: str | bytes) -> str:
        """Note a message; return its type."""
        now_s = time.perf_counter()
        if isinstance(message, bytes):
            self._play(now_s)
            self.last_at_s = now_s
            self.frames_after_answer += self.answer is not None
            return "audio"
        event: dict[str, Any] = json.loads(message)
        if event["type"] == "words":
            self.words += event["words"]
            self.source = event["source"]
        elif event["type"] == "interrupted":
            self.answer, self.answered_at_s = event, now_s
        elif event["type"] == "done":
            self.audio_ms = event["audio_ms"]
        elif event["type"] == "error":
            raise RuntimeError(f"expected speech, got {event}")
        return str(event["type"])


async def say_to(socket: ClientConnection, name: str, text: str, **settings: Any) -> None:
    """Begin a context and give it its whole text."""
    sampling = {"seed": 1}
    messages: list[dict[str, Any]] = [
        # a text must sound the same every time: nothing of the context before it
        {"type": "configure", "words": True, "sampling": sampling, "carry_prosody": False}
        | settings,
        {"type": "text", "text": text},
        {"type": "end"},
    ]
    for message in messages:
        await socket.send(json.dumps({**message, "context": name}))


async def listen(socket: ClientConnection, spoken: Spoken, *until: str) -> None:
    """Read until one of these types has come."""
    async with asyncio.timeout(DEADLINE_S):
        while spoken.take(await socket.recv()) not in until:
            pass


async def listen_for(socket: ClientConnection, spoken: Spoken, duration_s: float) -> None:
    """Read for so long."""
    try:
        async with asyncio.timeout(duration_s):
            while True:
                spoken.take(await socket.recv())
    except TimeoutError:
        return


@dataclass(frozen=True)
class Quiet:
    """One interruption of a busy engine; ms from the moment the client sent it."""

    last_frame_ms: float
    answer_ms: float
    steps_to_free: int
    frames_after_answer: int
    frames_wasted: int


async def quiet_round(
    socket: ClientConnection, engine: WorkerEngine, name: str, wait_s: float
) -> Quiet | None:
    """None when the engine was done before the interruption."""
    spoken = Spoken()
    await say_to(socket, name, TEXTS[0] * 4, lead_ms=0)
    await listen(socket, spoken, "audio")
    await listen_for(socket, spoken, wait_s)
    busy = (await engine.stats()).running
    steps = engine.sounds_received
    sent_s = time.perf_counter()
    await socket.send(json.dumps({"type": "interrupt", "context": name}))
    freed = asyncio.create_task(_steps_until_free(engine))
    await listen(socket, spoken, "interrupted", "done")
    steps_to_free = await freed - steps
    await listen_for(socket, spoken, 0.2)
    if not busy or spoken.answer is None:
        return None
    assert spoken.last_at_s is not None
    return Quiet(
        last_frame_ms=max(1000 * (spoken.last_at_s - sent_s), 0.0),
        answer_ms=1000 * (spoken.answered_at_s - sent_s),
        steps_to_free=steps_to_free,
        frames_after_answer=spoken.frames_after_answer,
        frames_wasted=spoken.answer["frames_wasted"],
    )


async def _steps_until_free(engine: WorkerEngine) -> int:
    while (await engine.stats()).running:
        pass  # the engine answers between its steps
    return engine.sounds_received


@dataclass(frozen=True)
class Heard:
    """Words heard by the final time line, and by the gateway's answer."""

    true_words: int
    words: int
    clock_error_ms: float | None  # of the gateway's own clock; None with the client's report


async def heard_round(
    socket: ClientConnection, name: str, text: str, truth: Spoken, moment_ms: float, report: bool
) -> Heard:
    """Interrupt at a moment of the playback."""
    spoken = Spoken()
    await say_to(socket, name, text)
    await listen(socket, spoken, "audio")
    await listen_for(socket, spoken, moment_ms / 1000)
    played_ms = spoken.played_ms(time.perf_counter())
    message: dict[str, Any] = {"type": "interrupt", "context": name}
    await socket.send(json.dumps({**message, "played_ms": played_ms} if report else message))
    await listen(socket, spoken, "interrupted")
    assert spoken.answer is not None
    return Heard(
        true_words=sum(
            (word["start_ms"] + word["end_ms"]) / 2 <= played_ms for word in truth.words
        ),
        words=len(spoken.answer["heard_text"].split()),
        clock_error_ms=None if report else abs(spoken.answer["heard_ms"] - played_ms),
    )


async def heard(socket: ClientConnection, chance: random.Random) -> list[Heard]:
    """Interruptions at random moments of texts whose time line is known."""
    truths = []
    for i, text in enumerate(TEXTS):
        truths.append(Spoken())
        await say_to(socket, f"truth{i}", text, lead_ms=0)
        await listen(socket, truths[-1], "done")
        truth = truths[-1]
        say(f"{len(truth.words)} words in {truth.audio_ms:.0f} ms, times from {truth.source}")
        await socket.send(json.dumps({"type": "interrupt", "context": f"truth{i}"}))
        await listen(socket, truths[-1], "interrupted")
    found = []
    for i in range(HEARD_ROUNDS):
        truth = truths[i % len(TEXTS)]
        moment_ms = chance.uniform(0.0, min(truth.audio_ms, 6000.0))
        found.append(
            await heard_round(
                socket, f"heard{i}", TEXTS[i % len(TEXTS)], truth, moment_ms, i % 2 == 0
            )
        )
    return found


async def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoint", type=Path, default=TINY)
    checkpoint = parser.parse_args().checkpoint
    chance = random.Random(1)
    say("starting the engine")
    engine = WorkerEngine(EngineConfig(checkpoint, max_streams=4), say)
    async with running(Config(port=0, log_level="error"), engine) as gateway:
        await gateway.service.started()
        async with open_websocket(f"{gateway.stream_url}/v1/stream", compression=None) as socket:
            await socket.recv()
            rounds = [
                await quiet_round(socket, engine, f"quiet{i}", chance.uniform(0.0, 0.5))
                for i in range(QUIET_ROUNDS)
            ]
            words = await heard(socket, chance)
    errors = [abs(one.words - one.true_words) for one in words]
    quiet = [one for one in rounds if one is not None]
    finish(
        benchmark="barge_in",
        frames_after_answer=sum(one.frames_after_answer for one in quiet),
        interrupt_to_last_frame_ms=Spread.of([one.last_frame_ms for one in quiet]),
        interrupt_to_answer_ms=Spread.of([one.answer_ms for one in quiet]),
        interrupt_to_free_slot_steps=Spread.of([one.steps_to_free for one in quiet]),
        frames_wasted=Spread.of([one.frames_wasted for one in quiet]),
        interruptions=len(quiet),
        heard_within_one_word=round(sum(error <= 1 for error in errors) / len(errors), 3),
        heard_exactly=round(errors.count(0) / len(errors), 3),
        playback_clock_error_ms=Spread.of(
            [one.clock_error_ms for one in words if one.clock_error_ms is not None]
        ),
        heard_rounds=len(words),
        word_start_error_ms_median=None,
        word_start_error_reason="needs a checkpoint that speaks, and recordings with word times",
    )


if __name__ == "__main__":
    asyncio.run(main())
