"""Fish Audio's SDK, and Pipecat's service for it, unmodified but for the base URL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.vendors.conftest import Listener, Served
from tests.vendors.decoded import Heard, file_sound, raw_sound
from tests.vendors.environments import drive_python

DRIVERS = Path(__file__).parent / "drivers"
PYTHON = ("fish-audio-sdk==1.3.0",)
PIPECAT = ("pipecat-ai[fish]==1.14.0",)

FIRST, SECOND = "The ship sails in the morning.", "We had soup and bread for lunch."
BOTH = f"{FIRST} {SECOND}"
LONG = "It was a long and quiet day by the sea. " * 12
PLAN = json.dumps({"sentences": [FIRST, SECOND], "long": LONG})


def test_python(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "fish_python.py"
    arguments = (served.http, served.ws, served.key, str(tmp_path), PLAN)
    seen: Any = drive_python(script, PYTHON, *arguments)
    for name in ("older-live.mp3", "older-live.wav", "live.mp3", "live.wav", "live.opus"):
        heard.check(file_sound(tmp_path / name), BOTH)
        assert seen[name] > 10  # pieces: it streams
    for name in ("older.mp3", "convert.mp3", "convert.wav", "convert.opus"):
        heard.check(file_sound(tmp_path / name), FIRST)
    for name in ("older-live.pcm", "async1.pcm", "async2.pcm"):
        heard.check(raw_sound(tmp_path / name, 44_100), BOTH)
    heard.check(raw_sound(tmp_path / "live.pcm", 16_000), BOTH)
    heard.check(raw_sound(tmp_path / "convert.pcm", 16_000), FIRST)
    heard.check(raw_sound(tmp_path / "stream-fast.pcm", 24_000), SECOND)
    heard.check(raw_sound(tmp_path / "after.pcm", 44_100), FIRST)  # the one before was given up
    assert seen["older-refused"][0] == 401
    assert seen["refused"][:2] == ["AuthenticationError", 401]
    assert seen["empty"][:2] == ["APIError", 422] and "401" in seen["live-refused"][2]
    heard.check_all()


def test_pipecat(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "fish_pipecat.py"
    arguments = (served.http, served.ws, served.key, str(tmp_path), PLAN)
    seen: Any = drive_python(script, PIPECAT, *arguments)
    assert seen["errors"] == [] and {1, 3, 4} <= set(seen["stopped"])
    for turn, text in ((1, BOTH), (3, FIRST), (4, SECOND)):  # 2 was broken off
        heard.check(raw_sound(tmp_path / f"turn-{turn}", 24_000), text)
    heard.check_all()
