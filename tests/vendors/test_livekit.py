"""LiveKit's real AgentSession speaks through its plugin of this project, and is interrupted."""

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
DRIVER = Path(__file__).parent / "drivers" / "livekit_own.py"
SPEECH = (
    "Good morning to you all, and thank you for coming here today. "
    "We have a lot of things to talk about, and very little time for it."
)
NEXT = "Of course, let me say that again. Thank you for coming here today."
SOME_SAMPLES = 12_000


def drive(url: str, key: str, folder: Path) -> dict[str, Any]:
    arguments = (str(ROOT), url, key, str(folder), SPEECH, NEXT)
    return drive_python(DRIVER, client_requirements("livekit"), *arguments)


def sound(path: object) -> tuple[NDArray[np.float32], int]:
    with wave.open(str(path), "rb") as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        return samples.astype(np.float32) / 32768.0, file.getframerate()


def check(found: dict[str, Any]) -> None:
    heard = found["heard"]
    assert heard + found["unspoken"] == SPEECH
    assert 1100.0 < found["heard_ms"] < 2500.0
    assert found["in_context"] == [{"text": heard, "interrupted": True}]
    assert heard.strip()
    assert found["second_in_context"][1:] == [{"text": NEXT, "interrupted": False}]
    said = found["said"][2:]
    if found["said_heard"]:
        assert said == [{"text": found["said_heard"], "interrupted": True}]
        assert "One moment, please.".startswith(found["said_heard"])
    words = found["words"]
    assert [text.strip() for text, _, _ in words] == NEXT.split()
    assert "".join(text for text, _, _ in words) == NEXT == found["second_shown"]
    times = [at_s for _, start_s, end_s in words for at_s in (start_s, end_s)]
    assert times == sorted(times)
    assert 0.0 < found["silence_ms"] < 500.0
    assert all(0.0 <= entry["ttfb"] for entry in found["metrics"])
    assert NEXT in {NEXT[: entry["characters"]] for entry in found["metrics"]}
    assert found["errors"] == []
    assert found["refused"] == 404
    assert len(sound(found["whole"])[0]) > SOME_SAMPLES


async def test_pipeline_over_the_fake_engine(tmp_path: Path) -> None:
    async with gateway(FakeEngine()) as served:
        check(await asyncio.to_thread(drive, served.stream_url, "unused", tmp_path))


def test_pipeline_with_the_voice(served: Served, listener: Listener, tmp_path: Path) -> None:
    found = drive(served.ws, served.key, tmp_path)
    check(found)
    assert listener.word_error_rate(*sound(found["second"]), NEXT) <= 0.1
    assert listener.word_error_rate(*sound(found["whole"]), NEXT) <= 0.1
    # The last heard word may be cut, up to half of it.
    heard_words = len(found["heard"].split())
    assert listener.word_error_rate(*sound(found["first"]), found["heard"]) <= 1.5 / heard_words
