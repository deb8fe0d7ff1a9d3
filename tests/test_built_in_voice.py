"""The built-in voice through everything: what a person hears after the first command.

An engine of its own, since the session's speaks the golden checkpoint. What the clients hear is
judged by a recogniser that knows nothing of the voice; benchmarks.intelligibility is the long form.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest
import pytest_asyncio
import soxr
from numpy.typing import NDArray

from benchmarks.parts.listener import Heard, hear
from clients.python.context import SpeechError
from clients.python.wire import OPUS_RATE_HZ
from engine.link.client import WorkerEngine
from engine.worker_config import EngineConfig
from engine.workshop.train.judging.evaluate import all_sentences
from engine.workshop.train.judging.judge import JUDGE_RATE_HZ, Recogniser, word_errors
from gateway.config import Config
from gateway.server.serving import RunningGateway, running

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

TOGETHER = 4
MAX_WER = 0.06


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway() -> AsyncIterator[RunningGateway]:
    async with running(Config(port=0), WorkerEngine(EngineConfig())) as served:
        await served.service.started()
        yield served


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser()


async def speak(gateway: RunningGateway, text: str, voice: str = "default") -> Heard:
    return await hear(gateway.stream_url, text, voice=voice, words=True, sampling={"seed": 7})


def errors(recogniser: Recogniser, heard: Heard, text: str | None = None) -> tuple[int, int]:
    sound = soxr.resample(heard.samples, OPUS_RATE_HZ, JUDGE_RATE_HZ).astype(np.float32)
    return word_errors(text or heard.text, recogniser.hear(sound))


def pitch_hz(samples: NDArray[np.float32]) -> float:
    """Median pitch of the voiced parts, by autocorrelation."""
    size, step = OPUS_RATE_HZ // 20, OPUS_RATE_HZ // 50
    low, high = OPUS_RATE_HZ // 400, OPUS_RATE_HZ // 80
    found = []
    for at in range(0, len(samples) - size, step):
        block = samples[at : at + size] * np.hanning(size)
        spectrum = np.fft.rfft(block, 2 * size)
        likeness = np.fft.irfft(np.abs(spectrum) ** 2)[:high]
        lag = low + int(likeness[low:].argmax())
        if likeness[0] > 1.0 and likeness[lag] > 0.5 * likeness[0]:
            found.append(OPUS_RATE_HZ / lag)
    return float(np.median(found))


async def test_twelve_sentences_are_understood_and_end_by_themselves(
    gateway: RunningGateway, recogniser: Recogniser
) -> None:
    texts = all_sentences(["easy"])
    assert len(texts) == 12
    room = asyncio.Semaphore(TOGETHER)

    async def one(text: str) -> Heard:
        async with room:
            return await speak(gateway, text)

    heard = await asyncio.gather(*(one(text) for text in texts))
    counts = [errors(recogniser, item) for item in heard]
    wrong = {item.text: count for item, count in zip(heard, counts, strict=True) if count[0]}
    assert sum(e for e, _ in counts) <= MAX_WER * sum(n for _, n in counts), wrong
    assert not any(item.truncated for item in heard)
    for item in heard:  # a word takes 0.2 to 0.7 s
        assert 0.2 < item.seconds / len(item.text.split()) < 0.7, item.text
        # judged as decoded: rounded to 16 bits, the voice would be judged worse than it is
        assert np.any(item.samples * 32768.0 % 1.0)


async def test_word_times_come_from_the_model_and_cover_the_text(gateway: RunningGateway) -> None:
    text = "Please turn off the lights, and then close the door behind you."
    heard = await speak(gateway, text)
    assert heard.sources == {"heads"}
    assert [word.text for word in heard.words] == text.split()
    assert [text[word.start : word.end] for word in heard.words] == text.split()
    times = [time for word in heard.words for time in (word.start_ms, word.end_ms)]
    assert times == sorted(times)
    assert times[-1] <= 1000 * heard.seconds + 1
    assert all(word.end_ms - word.start_ms < 1000 for word in heard.words)


async def test_other_voices_say_the_words_in_another_pitch(
    gateway: RunningGateway, recogniser: Recogniser
) -> None:
    text = "We are going to the market after lunch."
    names = [name for name in gateway.service.info.voices if name != "default"]
    assert len(names) >= 2
    heard = {name: await speak(gateway, text, name) for name in ("default", *names)}
    wrong = {name: errors(recogniser, item) for name, item in heard.items()}
    assert sum(e for e, _ in wrong.values()) <= 0.15 * sum(n for _, n in wrong.values()), wrong
    pitches = [pitch_hz(item.samples) for item in heard.values()]
    assert max(pitches) > 1.15 * min(pitches), dict(zip(heard, pitches, strict=True))


async def test_tags_act_and_are_not_read_aloud(
    gateway: RunningGateway, recogniser: Recogniser
) -> None:
    text = "They moved to a small village near the sea."
    slow, fast = [await speak(gateway, f"[{tag}] {text}") for tag in ("slow", "fast")]
    assert slow.seconds > 1.25 * fast.seconds
    assert errors(recogniser, slow, text)[0] <= 1


@pytest.mark.parametrize("text", ["...", "🎉", "?!"])
async def test_a_text_without_a_word_is_a_silent_success(
    gateway: RunningGateway, text: str
) -> None:
    heard = await speak(gateway, text)
    assert heard.seconds == 0.0 and not heard.words


async def test_another_script_is_spoken_as_it_is_spelled(gateway: RunningGateway) -> None:
    heard = await speak(gateway, "Привет, мир.")
    assert 0.5 < heard.seconds < 4.0 and not heard.truncated


async def test_a_voice_that_is_not_there_is_named(gateway: RunningGateway) -> None:
    with pytest.raises(SpeechError, match="nobody"):
        await speak(gateway, "Hello.", "nobody")


@pytest.mark.slow
async def test_ten_thousand_characters_are_spoken_to_the_end(gateway: RunningGateway) -> None:
    sentence = "The quick brown fox jumps over the lazy dog, and nobody minds. "
    text = sentence * (10_000 // len(sentence))
    heard = await speak(gateway, text)
    assert not heard.truncated
    assert len(heard.words) == len(text.split())
    assert 0.2 < heard.seconds / len(heard.words) < 0.7
