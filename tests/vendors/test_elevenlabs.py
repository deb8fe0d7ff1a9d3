"""ElevenLabs' SDKs and the plugins that frameworks have for it, unmodified but for the base URL."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.vendors.conftest import Listener, Served
from tests.vendors.environments import drive_node, drive_python

DRIVERS = Path(__file__).parent / "drivers"
PYTHON = ("elevenlabs==2.78.0", "trustme==1.2.1")
NODE = ("@elevenlabs/elevenlabs-js@2.73.0",)
PIPECAT = ("pipecat-ai[elevenlabs]==1.14.0",)
LIVEKIT = ("livekit-agents==1.8.9", "livekit-plugins-elevenlabs==1.8.9")

TEXT = "Please open the window in the kitchen. We had soup and bread for lunch."
WORST_WER, WORST_WER_OF_ONE = 0.1, 0.35
SHORTEST_S, LONGEST_S = 2.5, 7.0  # of TEXT


def sound_of(path: Path, rate_hz: int | None = None) -> tuple[NDArray[np.float32], int]:
    """(mono samples, rate) of a file that is named after its output format."""
    data, name = path.read_bytes(), path.suffix[1:]
    codec, _, rest = name.partition("_")
    raw = {"pcm": "s16le", "ulaw": "mulaw", "alaw": "alaw"}.get(codec)
    options = {} if raw is None else {"sample_rate": str(rate_hz or rest), "channels": "1"}
    with av.open(io.BytesIO(data), format=raw, options=options) as file:
        frames = [*file.decode(audio=0)]
    rate = frames[0].sample_rate
    resampler = av.AudioResampler("flt", "mono", rate)
    planes = [out.to_ndarray()[0] for frame in [*frames, None] for out in resampler.resample(frame)]
    return np.concatenate(planes).astype(np.float32), rate


class Heard:
    """What was said in all files of a test: a voice that samples says a word wrong now and then."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._rates: list[float] = []

    def check(self, path: Path, rate_hz: int | None = None) -> float:
        """The file says TEXT, nearly, in a plausible time. Returns its seconds."""
        samples, rate = sound_of(path, rate_hz)
        seconds = len(samples) / rate
        assert SHORTEST_S < seconds < LONGEST_S, path.name
        self._rates.append(self._listener.word_error_rate(samples, rate, TEXT))
        assert self._rates[-1] <= WORST_WER_OF_ONE, path.name
        return seconds

    def check_all(self) -> None:
        """All files together say the words."""
        assert np.mean(self._rates) <= WORST_WER, self._rates


def check_times(timed: dict[str, list[Any]], seconds: float) -> None:
    """Every character of TEXT, in order of time, inside the sound."""
    assert "".join(timed["chars"]).strip() == TEXT
    edges = [x for pair in zip(timed["starts"], timed["ends"], strict=True) for x in pair]
    assert edges == sorted(edges) and edges[0] >= 0
    assert seconds - 1.5 < edges[-1] < seconds + 0.1
    assert edges[-1] - edges[0] > seconds / 2


def joined(pieces: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    return {name: [x for piece in pieces for x in piece[name]] for name in pieces[0]}


def test_python(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "elevenlabs_python.py"
    seen: Any = drive_python(script, PYTHON, served.http, served.key, str(tmp_path))
    lengths = [heard.check(path) for path in sorted(tmp_path.glob("convert.*"))]
    assert len(lengths) == 7 and max(lengths) - min(lengths) < 0.3  # one seed, seven formats
    heard.check(tmp_path / "stream.pcm_24000")
    heard.check(tmp_path / "realtime.mp3_44100_128")
    check_times(seen["timed"], heard.check(tmp_path / "timed.pcm_24000"))
    check_times(joined(seen["timed_stream"]), heard.check(tmp_path / "timed_stream.pcm_24000"))
    assert seen["normalized"] == seen["timed"] and len(seen["timed_stream"]) > 1
    assert min(seen["stream_chunks"], seen["realtime_chunks"]) > 20 and seen["first_piece"] > 0
    assert len(seen["voices"]) >= len(seen["search"]) == 2 and seen["models"]
    codes = {name: code for name, (code, _) in seen["errors"].items()}
    assert codes == {"key": 401, "format": 422, "text": 422, "voice": 404}
    assert seen["realtime_error"][0] == 1008
    heard.check_all()


def test_node(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "elevenlabs_node.mjs"
    seen: Any = drive_node(script, NODE, served.http, served.key, str(tmp_path))
    for path in sorted(tmp_path.glob("convert.*")):
        heard.check(path)
    heard.check(tmp_path / "stream.pcm_24000")
    check_times(seen["timed"], heard.check(tmp_path / "timed.pcm_24000"))
    check_times(joined(seen["timedStream"]), heard.check(tmp_path / "timed_stream.pcm_24000"))
    assert seen["streamChunks"] > 3 and seen["firstPiece"] > 0 and seen["keyError"] == 401
    assert len(seen["voices"]) >= len(seen["search"]) == 2 and seen["models"]
    heard.check_all()


def test_pipecat(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "elevenlabs_pipecat.py"
    seen: Any = drive_python(script, PIPECAT, served.http, served.key, str(tmp_path))
    assert seen["errors"] == []
    for turn in (1, 3, 5, 6):  # whole ones; one after an interrupt; a faster one; over HTTP
        seconds = heard.check(tmp_path / f"turn{turn}.pcm_24000")
        words, times = zip(*seen["words"][str(turn)], strict=True)
        assert " ".join(words) == TEXT
        assert list(times) == sorted(times) and seconds / 2 < times[-1] - times[0] < seconds
    interrupted, rate = sound_of(tmp_path / "turn2.pcm_24000")
    assert 0.5 < len(interrupted) / rate < 20  # of half a minute of text
    heard.check_all()


def test_livekit(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "elevenlabs_livekit.py"
    seen: Any = drive_python(script, LIVEKIT, served.http, served.key, str(tmp_path))
    whole = {path.stem for path in tmp_path.glob("*.pcm")} - {"interrupted"}
    assert len(whole) == 10
    for name in sorted(whole):
        seconds = heard.check(tmp_path / f"{name}.pcm", seen["rates"][name])
        starts = [start for _, start, _ in seen["words"][name]]
        assert starts == sorted(starts) and (not starts or seconds / 2 < starts[-1] < seconds)
        words = "".join(word for word, _, _ in seen["words"][name])
        assert " ".join(words.split()) == ("" if name.startswith("whole") else TEXT)
    assert seen["voices"] and seen["first_audio_s"] < 5
    heard.check_all()


@pytest.mark.parametrize("codec", ["pcm_24000", "mp3_44100_128"])
def test_the_checks_can_fail(listener: Listener, tmp_path: Path, codec: str) -> None:
    heard = Heard(listener)
    path = tmp_path / f"noise.{codec}"
    path.write_bytes(bytes(48_000))
    with pytest.raises((AssertionError, av.error.InvalidDataError)):
        heard.check(path)
