"""Barge-in with the real engine over a real socket: how soon it is quiet, and what was heard.

    uv run --extra train python -m benchmarks.barge_in [--checkpoint FOLDER]

Quiet: an utterance that the engine is busy with is interrupted at a random moment. Expectation: no
frame after the answer, the last frame within a few ms, the engine's slot free within two decode
steps and what was already on its way.

Heard: each text is first spoken to its end; then it is spoken again, same seed, and interrupted at
a random moment of its playback, every other time with the client's report. Where the checkpoint
speaks, the truth is what an acoustic aligner (PocketSphinx) finds in the sound that the client got
the first time: the words whose middle lies before that moment. `accounting_within_one_word` takes
the gateway's own final time line for the truth instead, and proves packets, seams, pauses,
pre-skip and playback clock alone; a checkpoint of noise has only that.
`word_start_error_ms_median`: the gateway's word starts against the aligner's, over all sentences
that its dictionary covers (its own median error on speech of known timing is part of that: see
`benchmarks.word_times`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_websocket

from benchmarks.parts.acoustic import AcousticAligner
from benchmarks.parts.barge_in_client import Spoken, listen, listen_for, say_to
from benchmarks.parts.checkpoints import TINY
from benchmarks.parts.extra import need
from benchmarks.parts.report import Spread, finish, say
from clients.python.wire import OPUS_RATE_HZ
from engine.link.client import WorkerEngine
from engine.worker_config import DEFAULT_CHECKPOINT, EngineConfig
from engine.workshop.train.judging.evaluate import all_sentences
from gateway.config import Config
from gateway.server.serving import running

TEXTS = (
    "Thank you for calling. The next train leaves at seven. It stops at every station.",
    "Your order is on its way. It should arrive tomorrow. Is there anything else you need?",
    "Please hold the line. Someone will be with you in a moment. We thank you for waiting.",
)
QUIET_ROUNDS, HEARD_ROUNDS = 12, 24
SENTENCES = 40  # for word starts

Times = list[tuple[float, float]]  # start and end of each word in ms


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
class Truth:
    """A text that was spoken to its end. `acoustic`: None where the aligner has no answer."""

    text: str
    spoken: Spoken
    line: Times  # the gateway's own
    acoustic: Times | None

    def heard(self, played_ms: float, acoustic: bool) -> int:
        """Words whose middle lies before a moment."""
        times = self.acoustic if acoustic and self.acoustic is not None else self.line
        return sum((start + end) / 2 <= played_ms for start, end in times)


async def speak_whole(
    socket: ClientConnection, name: str, text: str, aligner: AcousticAligner | None
) -> Truth:
    """Speak a text to its end, as fast as it goes, and find its words."""
    spoken = Spoken()
    await say_to(socket, name, text, lead_ms=0)
    await listen(socket, spoken, "done")
    await socket.send(json.dumps({"type": "interrupt", "context": name}))  # do not play it
    await listen(socket, spoken, "interrupted")
    line = [(word["start_ms"], word["end_ms"]) for word in spoken.words]
    found = aligner.align(spoken.sound(), OPUS_RATE_HZ, text) if aligner is not None else None
    return Truth(text, spoken, line, found if found and len(found) == len(line) else None)


def start_errors_ms(truths: Sequence[Truth]) -> list[float]:
    """The gateway's word starts against the aligner's; positive: ours is later."""
    return [
        ours[0] - theirs[0]
        for truth in truths
        for ours, theirs in zip(truth.line, truth.acoustic or (), strict=False)
    ]


@dataclass(frozen=True)
class Heard:
    """By how many words an answer's heard text was off."""

    error: int
    accounting_error: int
    clock_error_ms: float | None  # of the gateway's own clock; None with the client's report


async def heard_round(
    socket: ClientConnection, name: str, truth: Truth, moment_ms: float, report: bool
) -> Heard:
    """Interrupt at a moment of the playback."""
    spoken = Spoken()
    await say_to(socket, name, truth.text)
    await listen(socket, spoken, "audio")
    await listen_for(socket, spoken, moment_ms / 1000)
    played_ms = spoken.played_ms(time.perf_counter())
    message: dict[str, Any] = {"type": "interrupt", "context": name}
    await socket.send(json.dumps({**message, "played_ms": played_ms} if report else message))
    await listen(socket, spoken, "interrupted")
    assert spoken.answer is not None
    words = len(spoken.answer["heard_text"].split())
    return Heard(
        error=abs(words - truth.heard(played_ms, acoustic=True)),
        accounting_error=abs(words - truth.heard(played_ms, acoustic=False)),
        clock_error_ms=None if report else abs(spoken.answer["heard_ms"] - played_ms),
    )


async def heard(
    socket: ClientConnection, truths: Sequence[Truth], chance: random.Random
) -> list[Heard]:
    """Interruptions at random moments of texts whose time line is known."""
    found = []
    for i in range(HEARD_ROUNDS):
        truth = truths[i % len(truths)]
        moment_ms = chance.uniform(0.0, min(truth.spoken.audio_ms, 6000.0))
        found.append(await heard_round(socket, f"heard{i}", truth, moment_ms, i % 2 == 0))
        say(f"heard round {i + 1} of {HEARD_ROUNDS}: {found[-1]}")
    return found


def share(values: Sequence[int], limit: int) -> float:
    """How many are at most `limit`."""
    return round(sum(value <= limit for value in values) / len(values), 3)


def report(quiet: Sequence[Quiet], words: Sequence[Heard], truths: Sequence[Truth]) -> None:
    """Print the figures."""
    signed = start_errors_ms(truths)
    starts = [abs(error) for error in signed]
    finish(
        benchmark="barge_in",
        frames_after_answer=sum(one.frames_after_answer for one in quiet),
        interrupt_to_last_frame_ms=Spread.of([one.last_frame_ms for one in quiet]),
        interrupt_to_answer_ms=Spread.of([one.answer_ms for one in quiet]),
        interrupt_to_free_slot_steps=Spread.of([one.steps_to_free for one in quiet]),
        frames_wasted=Spread.of([one.frames_wasted for one in quiet]),
        interruptions=len(quiet),
        heard_within_one_word=share([one.error for one in words], 1),
        heard_exactly=share([one.error for one in words], 0),
        accounting_within_one_word=share([one.accounting_error for one in words], 1),
        heard_truth="acoustic" if all(t.acoustic for t in truths[: len(TEXTS)]) else "time line",
        playback_clock_error_ms=Spread.of(
            [one.clock_error_ms for one in words if one.clock_error_ms is not None]
        ),
        heard_rounds=len(words),
        word_times_from=truths[0].spoken.source,
        word_start_error_ms_median=round(statistics.median(starts), 1) if starts else None,
        word_start_within_80_ms=round(sum(e <= 80 for e in starts) / len(starts), 3)
        if starts
        else None,
        word_start_bias_ms=round(statistics.median(signed), 1) if signed else None,
        words_aligned=len(starts),
    )


async def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--checkpoint", type=Path, default=DEFAULT_CHECKPOINT)
    checkpoint = parser.parse_args().checkpoint
    speaks = checkpoint.resolve() != TINY.resolve()  # whose sound is noise
    if speaks:
        need("train", "pocketsphinx")
    aligner = AcousticAligner() if speaks else None
    sentences = all_sentences()[:SENTENCES] if speaks else []
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
            truths = [
                await speak_whole(socket, f"truth{i}", text, aligner)
                for i, text in enumerate((*TEXTS, *sentences))
            ]
            say(f"{len(truths)} texts, {sum(t.acoustic is not None for t in truths)} aligned")
            words = await heard(socket, truths[: len(TEXTS)], chance)
    report([one for one in rounds if one is not None], words, truths)


if __name__ == "__main__":
    asyncio.run(main())
