"""OpenAI's SDKs, unmodified but for the base URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from tests.vendors.conftest import Listener, Served
from tests.vendors.environments import drive_node, drive_python

DRIVERS = Path(__file__).parent / "drivers"
PYTHON = ("openai[realtime]==3.57.0",)
NODE = ("openai@7.59.0", "ws@8.23.0", "selfsigned@5.5.0")

TEXT = "The ship sails in the morning. We had soup and bread for lunch."
LONG = "It was a long and quiet day by the sea. " * 24
MEAN_WER, WORST_WER = 0.1, 0.25  # every file is another draw of the voice
SHORTEST_S, LONGEST_S = 2.5, 7.0  # of TEXT
RAW = {"pcm": ("s16le", "24000"), "ulaw": ("mulaw", "8000")}
FILES = {f"whole.{name}" for name in ("mp3", "opus", "aac", "flac", "wav", "pcm")} | {"hinted.wav"}
ERRORS = {
    "voice": ["NotFoundError", "unknown_voice", "voice"],
    "empty": ["BadRequestError", "invalid_value", "input"],
    "speed": ["BadRequestError", "invalid_value", "speed"],
}


def sound_of(path: Path) -> tuple[NDArray[np.float32], int]:
    """(mono samples, rate in Hz) of a file, raw ones by their ending."""
    codec, rate = RAW.get(path.suffix[1:], (None, None))
    options = {} if rate is None else {"sample_rate": rate, "channels": "1"}
    with av.open(str(path), format=codec, options=options) as file:
        frames = [*file.decode(audio=0)]
    rate_hz = frames[0].sample_rate
    resampler = av.AudioResampler("flt", "mono", rate_hz)
    planes = [out.to_ndarray()[0] for frame in [*frames, None] for out in resampler.resample(frame)]
    return np.concatenate(planes).astype(np.float32), rate_hz


def check(listener: Listener, folder: Path, names: set[str]) -> dict[str, float]:
    """The files say TEXT in a plausible time. Returns their seconds."""
    seconds: dict[str, float] = {}
    wrong: dict[str, float] = {}
    for name in sorted(names):
        samples, rate_hz = sound_of(folder / name)
        seconds[name] = len(samples) / rate_hz
        assert SHORTEST_S < seconds[name] < LONGEST_S, name
        wrong[name] = listener.word_error_rate(samples, rate_hz, TEXT)
    assert max(wrong.values()) <= WORST_WER, wrong
    assert sum(wrong.values()) / len(wrong) <= MEAN_WER, wrong
    return seconds


def check_heard(heard: str) -> None:
    """Two seconds of LONG."""
    assert LONG.startswith(heard) and 10 < len(heard) < 80


def check_streams(seen: dict[str, float]) -> None:
    """The first byte came long before the last one."""
    assert seen["first_s"] < 0.5 * seen["last_s"] and seen["bytes"] > 500_000


def test_python(served: Served, listener: Listener, tmp_path: Path) -> None:
    script = DRIVERS / "openai_python.py"
    seen: Any = drive_python(script, PYTHON, served.http, served.key, str(tmp_path))
    others = {"one.wav", "two.wav", "fast.wav", "events.pcm", "realtime.ulaw", "again.pcm"}
    seconds = check(listener, tmp_path, FILES | others)
    assert seconds["fast.wav"] < 0.9 * seconds["whole.wav"]
    silence, rate_hz = sound_of(tmp_path / "wordless.mp3")
    assert 0.05 < len(silence) / rate_hz < 0.3 and np.abs(silence).max() < 0.01
    assert "tts-1" in seen["models"] and len(seen["models"]) > 1 and seen["model"] == "tts-1"
    assert set(seen["ignored"].split(", ")) == {"lang_code", "instructions"}  # it takes no tags
    check_streams(seen["wav"])
    assert seen["usage"]["output_tokens"] > 50 and seen["events"] > 10
    assert seen["errors"] == {
        **ERRORS,
        "key": ["AuthenticationError", "unauthorized", None],
        "model": ["NotFoundError", "model_not_found", "model"],
    }
    assert seen["realtime"]["transcript"].split() == TEXT.split()
    assert "session.updated" in seen["realtime"]["kinds"]
    assert (seen["barge_in"]["status"], seen["barge_in"]["after_cancel"]) == ("cancelled", 0)
    check_heard(seen["barge_in"]["heard"])


def test_node(served: Served, listener: Listener, tmp_path: Path) -> None:
    script = DRIVERS / "openai_node.mjs"
    seen: Any = drive_node(script, NODE, served.http, served.key, str(tmp_path))
    check(listener, tmp_path, FILES | {"events.pcm", "again.pcm"})
    assert "tts-1" in seen["models"] and seen["model"] == "tts-1"
    assert set(seen["ignored"].split(", ")) == {"user", "instructions"}
    check_streams(seen["wav"])
    assert seen["aborted"] == "AbortError"
    assert (seen["last"], seen["errors"]) == ("speech.audio.done", ERRORS)
    assert seen["realtime"]["status"] == "cancelled"
    check_heard(seen["realtime"]["heard"])
