"""Pipecat's real pipeline speaks through its plugin of this project, and is interrupted."""

from __future__ import annotations

import asyncio
import wave
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.fake import FakeEngine
from tests.gateway.shell import gateway
from tests.vendors.conftest import Listener, Served
from tests.vendors.environments import client_requirements, drive_python

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).parent / "drivers" / "pipecat_own.py"
SPEECH = (
    "Good morning to you all, and thank you for coming here today. "
    "We have a lot of things to talk about, and very little time for it."
)
NEXT = "Of course, let me say that again. Thank you for coming here today."
SOME_SAMPLES = 12_000


def drive(url: str, key: str, folder: Path) -> dict[str, Any]:
    arguments = (str(ROOT), url, key, str(folder), SPEECH, NEXT)
    return drive_python(DRIVER, client_requirements("pipecat"), *arguments)


def sound(path: object) -> tuple[NDArray[np.float32], int]:
    with wave.open(str(path), "rb") as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        return samples.astype(np.float32) / 32768.0, file.getframerate()


def check(found: dict[str, Any]) -> None:
    heard = found["heard"]
    assert (heard + found["unspoken"]).strip() == SPEECH
    assert 4 <= len(heard.split()) <= 8
    assert found["in_context"] == [heard.strip()]
    assert found["sound_after_interruption"] == 0
    assert [message for message in found["messages"] if message["role"] != "system"] == [
        {"role": "user", "content": "First question."},
        {"role": "assistant", "content": heard.strip()},
        {"role": "user", "content": "Second question."},
        {"role": "assistant", "content": NEXT},
        {"role": "user", "content": "Third question."},
        {"role": "assistant", "content": NEXT},
        {"role": "assistant", "content": found["late_heard"].strip()},
    ]
    assert found["late_heard"].strip() and "One moment, please.".startswith(found["late_heard"])
    words = found["second_words"]
    assert [word for word, _ in words] == NEXT.split()
    times = [at_s for _, at_s in words]
    assert times == sorted(times)
    assert {"TTFBMetricsData", "TTSUsageMetricsData"} <= set(found["metrics"])
    assert found["errors"] == []
    assert "unknown_voice" in found["refused"][0]
    assert len(set(found["sessions"])) == 2
    second, third = (len(sound(found[name])[0]) for name in ("second", "third"))
    assert SOME_SAMPLES < third < 0.8 * second  # the same sound, at 1.5 times the speed


async def test_pipeline_over_the_fake_engine(tmp_path: Path) -> None:
    async with gateway(FakeEngine()) as served:
        check(await asyncio.to_thread(drive, served.stream_url, "unused", tmp_path))


def test_pipeline_with_the_voice(served: Served, listener: Listener, tmp_path: Path) -> None:
    found = drive(served.ws, served.key, tmp_path)
    check(found)
    assert listener.word_error_rate(*sound(found["second"]), NEXT) <= 0.1
    # The last heard word may be cut, up to half of it.
    heard_words = len(found["heard"].split())
    assert listener.word_error_rate(*sound(found["first"]), found["heard"]) <= 1.5 / heard_words
