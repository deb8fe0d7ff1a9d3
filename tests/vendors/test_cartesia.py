"""Cartesia's SDKs and the plugins that frameworks have for it, unmodified but for the base URL."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.vendors.conftest import Listener, Served
from tests.vendors.environments import drive_node, drive_python

DRIVERS = Path(__file__).parent / "drivers"
PYTHON = ("cartesia[websockets]==4.2.0",)
NODE = ("@cartesia/cartesia-js@4.2.0", "ws@8.23.0", "selfsigned@2.4.1")
PIPECAT = ("pipecat-ai[cartesia]==1.14.0",)
LIVEKIT = ("livekit-agents==1.8.9", "livekit-plugins-cartesia==1.8.9")

TEXT = "Please open the window in the kitchen. We had soup and bread for lunch."
WORST_WER, WORST_WER_OF_ONE = 0.1, 0.35
SHORTEST_S, LONGEST_S = 2.5, 7.0  # of TEXT
LONG_S = 20.0  # what is cancelled is longer than that

_RAW = re.compile(r"\.pcm_(\w+?)_(\d+)$")


def sound_of(path: Path) -> tuple[NDArray[np.float32], int]:
    """(mono samples, rate) of a file that is named after its encoding and rate, if it is raw."""
    raw = _RAW.search(path.name)
    options = {} if raw is None else {"sample_rate": raw[2], "channels": "1"}
    with av.open(io.BytesIO(path.read_bytes()), format=raw and raw[1], options=options) as file:
        frames = [*file.decode(audio=0)]
    rate = frames[0].sample_rate
    resampler = av.AudioResampler("flt", "mono", rate)
    planes = [out.to_ndarray()[0] for frame in [*frames, None] for out in resampler.resample(frame)]
    return np.concatenate(planes).astype(np.float32), rate


class Heard:
    """What was said in all files of a test: a voice that samples says a word wrong now and then."""

    def __init__(self, listener: Listener, folder: Path) -> None:
        self._listener, self._folder = listener, folder
        self._rates: dict[str, float] = {}

    def check(self, name: str) -> float:
        """The file says TEXT, nearly, in a plausible time. Returns its seconds."""
        path = self._folder / name
        samples, rate = sound_of(path)
        seconds = len(samples) / rate
        assert SHORTEST_S < seconds < LONGEST_S, name
        self._rates[name] = self._listener.word_error_rate(samples, rate, TEXT)
        assert self._rates[name] <= WORST_WER_OF_ONE, name
        return seconds

    def timed(self, name: str, told: dict[str, Any]) -> None:
        """The same, of a context whose words came with times and that came to its end."""
        seconds = self.check(f"{name}.pcm_s16le_24000")
        assert told.get("last", "done") == "done", name
        check_times(told["words"], seconds)

    def check_all(self) -> None:
        """All files together say the words."""
        assert np.mean(list(self._rates.values())) <= WORST_WER, self._rates


def check_times(words: list[list[Any]], seconds: float) -> None:
    """Every word of TEXT with its marks, in order of time, inside the sound."""
    assert " ".join("".join(f"{word} " for word, *_ in words).split()) == TEXT
    edges = [edge for _, *times in words for edge in times]
    assert edges == sorted(edges) and edges[0] >= 0
    assert seconds - 1.5 < edges[-1] < seconds + 0.1
    assert edges[-1] - edges[0] > seconds / 2


def test_python(served: Served, listener: Listener, tmp_path: Path) -> None:
    script = DRIVERS / "cartesia_python.py"
    seen: Any = drive_python(script, PYTHON, served.http, served.key, str(tmp_path))
    heard = Heard(listener, tmp_path)
    files = [
        path.name for path in sorted(tmp_path.glob("bytes.*")) + sorted(tmp_path.glob("raw.*"))
    ]
    lengths = [heard.check(name) for name in files]
    assert len(lengths) == 9
    assert heard.check("fast.pcm_s16le_24000") < 0.95 * np.mean(lengths)
    names = ["sse", "sync", "flushed", "delayed", "after", *(f"beside{i}" for i in range(4))]
    for name in names:
        heard.timed(name, seen[name])
    heard.check_all()
    assert seen["flushed"]["flushes"] == seen["flushed"]["ids"] == [1, 2]
    assert min(seen["sse"]["chunks"], seen["sync"]["chunks"]) > 20
    assert len(seen["voices"]) > 2 and seen["voice"] == seen["voices"][0]  # two pages at least
    assert {name: tuple(told[:2]) for name, told in seen["errors"].items()} == {
        "key": (401, "unauthorized"),
        "language": (400, "invalid_value"),
        "text": (400, "invalid_value"),
        "rate": (400, "invalid_value"),
        "voice": (404, "voice_not_found"),
    }
    assert seen["wrong"] == ["error", 400, "invalid_value"]
    assert 0.5 < seen["cancelled"]["bytes"] / 48_000 < LONG_S
    assert seen["cancelled"]["late"] == ["error", 400]


def test_node(served: Served, listener: Listener, tmp_path: Path) -> None:
    script = DRIVERS / "cartesia_node.mjs"
    seen: Any = drive_node(script, NODE, served.http, served.key, str(tmp_path))
    heard = Heard(listener, tmp_path)
    for name in ("bytes.wav", "bytes.mp3", "bytes.pcm_mulaw_8000"):
        heard.check(name)
    for name in ("sse", "one", "two", "three", "after", "browser"):
        heard.timed(name, seen[name])
    heard.check_all()
    assert seen["one"]["flushes"] == [1]
    assert 0.5 < seen["cancelled"][1] / 48_000 < LONG_S
    assert "language" in seen["wrong"] and seen["key"] == [401, "unauthorized"]
    assert len(seen["voices"]) > 2


def test_pipecat(served: Served, listener: Listener, tmp_path: Path) -> None:
    script = DRIVERS / "cartesia_pipecat.py"
    seen: Any = drive_python(script, PIPECAT, served.http, served.key, str(tmp_path))
    assert seen["errors"] == []
    heard = Heard(listener, tmp_path)
    for turn in (1, 3, 5, 6, 7):  # whole; after an interrupt; faster; by the token; over HTTP
        seconds = heard.check(f"turn{turn}.pcm_s16le_24000")
        words, times = zip(*seen["words"][str(turn)], strict=True)
        assert " ".join(words) == TEXT
        if turn != 7:  # which has no times
            assert list(times) == sorted(times) and seconds / 2 < times[-1] - times[0] < seconds
    heard.check_all()
    interrupted, rate = sound_of(tmp_path / "turn2.pcm_s16le_24000")
    assert 0.5 < len(interrupted) / rate < LONG_S
    assert any("language" in error for error in seen["refused"])


def test_livekit(served: Served, listener: Listener, tmp_path: Path) -> None:
    script = DRIVERS / "cartesia_livekit.py"
    seen: Any = drive_python(script, LIVEKIT, served.http, served.key, str(tmp_path))
    heard = Heard(listener, tmp_path)
    for name in ("stream", "after", "one", "two", "faster"):
        heard.timed(name, {"words": seen["words"][name]})
    heard.check("whole.pcm_s16le_24000")
    check_times(seen["words"]["old_version"], heard.check("old_version.pcm_s16le_16000"))
    heard.check_all()
    assert seen["first_audio_s"] < 5 and seen["wrong_key"] == ["APIStatusError", 401]
    assert seen["language"][0] == "APIError"


@pytest.mark.parametrize("name", ["noise.pcm_s16le_24000", "noise.mp3"])
def test_the_checks_can_fail(listener: Listener, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(bytes(48_000))
    with pytest.raises((AssertionError, av.error.InvalidDataError)):
        Heard(listener, tmp_path).check(name)
