"""Deepgram's SDKs and the plugins that frameworks have for it, unmodified but for the base URL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.vendors.conftest import Listener, Served
from tests.vendors.decoded import Heard, file_sound, raw_sound, seconds_of
from tests.vendors.environments import drive_node, drive_python

DRIVERS = Path(__file__).parent / "drivers"
PYTHON = ("deepgram-sdk==7.17.0",)
NODE = ("@deepgram/sdk@5.13.0",)
PIPECAT = ("pipecat-ai[deepgram]==1.14.0",)
LIVEKIT = ("livekit-agents==1.8.9", "livekit-plugins-deepgram==1.8.9")

FIRST, SECOND = "The ship sails in the morning.", "We had soup and bread for lunch."
BOTH = f"{FIRST} {SECOND}"
LONG = "It was a long and quiet day by the sea. " * 12
PLAN = json.dumps({"sentences": [FIRST, SECOND], "long": LONG})


def kinds(messages: list[dict[str, Any]]) -> list[str]:
    return [message["type"] for message in messages]


def only(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [message for message in messages if message["type"] == kind]


def arguments(served: Served, folder: Path) -> tuple[str, ...]:
    return served.http, served.ws, served.key, str(folder), PLAN


def test_python(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "deepgram_python.py"
    seen: Any = drive_python(script, PYTHON, *arguments(served, tmp_path))
    raw = {"linear16": (24_000, "s16le"), "mulaw": (8_000, "mulaw"), "alaw": (8_000, "alaw")}
    for encoding, (rate_hz, kind) in raw.items():
        heard.check(raw_sound(tmp_path / f"v1-{encoding}", rate_hz, kind), BOTH)
        assert kinds(seen[f"v1-{encoding}"]) == ["Metadata", "Flushed", "Flushed"]
        assert [m["sequence_id"] for m in only(seen[f"v1-{encoding}"], "Flushed")] == [0, 1]
    assert seen["v1-clear"]["took_s"] < 1.0
    assert kinds(seen["v1-clear"]["messages"])[-2:] == ["Cleared", "Flushed"]
    heard.check(raw_sound(tmp_path / "v1-after-clear", 24_000), FIRST)
    files = {name: file_sound(tmp_path / f"rest.{name}") for name in _FILES}
    assert {name: sound[1] for name, sound in files.items()} == _FILES
    for sound in (*files.values(), file_sound(tmp_path / "rest-v2.wav")):
        heard.check(sound, FIRST)
    heard.check(raw_sound(tmp_path / "rest.linear16", 16_000), FIRST)
    heard.check(raw_sound(tmp_path / "rest.mulaw", 8_000, "mulaw"), FIRST)
    assert "401" in seen["wrong-key"][1] and "400" in seen["wrong-encoding"][1]
    assert seen["rest-wrong-key"][0] == 401 and "INVALID_AUTH" in seen["rest-wrong-key"][1]
    assert seen["rest-empty"][0] == 400 and "PAYLOAD_ERROR" in seen["rest-empty"][1]
    check_v2(heard, seen, tmp_path)
    heard.check_all()


# container -> the rate of what comes
_FILES = {
    "mp3": 22_050,
    "wav": 24_000,
    "alaw.wav": 8_000,
    "opus": 48_000,
    "flac": 16_000,
    "aac": 22_050,
}


def check_v2(heard: Heard, seen: Any, folder: Path) -> None:
    """Turns, what they are billed, and a barge-in with the words that were heard."""
    sound = raw_sound(folder / "v2", 24_000)
    heard.check(sound, BOTH)
    turns = only(seen["v2"], "SpeechMetadata")
    assert [turn["input_character_count"] for turn in turns] == [len(FIRST), len(SECOND), 3]
    assert abs(sum(t["audio_duration_ms"] for t in turns) - 1000 * seconds_of(sound)) <= 3
    warned = [message["code"] for message in only(seen["v2"], "Warning")]
    assert warned == ["NO_ACTIVE_SPEECH", "NO_SYNTHESIZABLE_TEXT"]
    assert only(seen["v2"], "ConfigureSuccess")[0]["applied"] == {"speed": 1.25}
    assert only(seen["v2"], "ConfigureFailure")[0]["code"] == "SPEED_OUT_OF_RANGE"
    answer = only(seen["v2-interrupt"], "SpeechInterrupted")[0]
    assert answer["audio_played_ms"] == 1200
    assert 1 <= len(answer["text_spoken"].split()) < 10
    assert answer["text_spoken"] + answer["text_remaining"] == LONG
    codes = [message["code"] for message in only(seen["v2-interrupt"], "Warning")]
    assert codes == ["NO_AUDIO_GENERATED", "INVALID_INTERRUPT_OFFSET"]
    heard.check(raw_sound(folder / "v2-after-interrupt", 24_000), FIRST)


def test_node(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "deepgram_node.mjs"
    seen: Any = drive_node(script, NODE, *arguments(served, tmp_path))
    heard.check(raw_sound(tmp_path / "node-v1", 24_000), BOTH)
    heard.check(raw_sound(tmp_path / "node-v1-after-clear", 24_000), FIRST)
    heard.check(raw_sound(tmp_path / "node-v2", 24_000), SECOND)
    for name in ("node.mp3", "node.wav", "node.opus"):
        heard.check(file_sound(tmp_path / name), FIRST)
    assert seen["v1"][-4:] == ["Flushed", "Flushed", "Cleared", "Flushed"]
    answer = only(seen["v2"], "SpeechInterrupted")[0]
    assert answer["text_spoken"] + answer["text_remaining"] == LONG
    assert 1 <= len(answer["text_spoken"].split()) < 10
    assert seen["rest-wrong-key"][0] == 401
    heard.check_all()


def test_pipecat(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "deepgram_pipecat.py"
    seen: Any = drive_python(script, PIPECAT, *arguments(served, tmp_path))
    for name in ("v1", "flux"):
        assert seen[name] == {"stopped": [1, 3, 4], "errors": []}
        heard.check(raw_sound(tmp_path / f"{name}-1", 24_000), BOTH)
        heard.check(raw_sound(tmp_path / f"{name}-3", 24_000), FIRST)  # after the barge-in
        heard.check(raw_sound(tmp_path / f"{name}-4", 24_000), SECOND)  # at another speed
    heard.check(raw_sound(tmp_path / "http-1", 24_000), FIRST)
    assert "401" in seen["failures"][0] and "API key" in seen["failures"][0]
    heard.check_all()


def test_livekit(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    script = DRIVERS / "deepgram_livekit.py"
    seen: Any = drive_python(script, LIVEKIT, *arguments(served, tmp_path))
    said = {"stream": BOTH, "whole": FIRST, "after": FIRST, "both0": FIRST, "both1": SECOND}
    for version in ("v1", "v2"):
        for what, text in said.items():
            heard.check(raw_sound(tmp_path / f"{version}-{what}", 24_000), text)
        assert seen[f"{version}-refused"] == 401
    heard.check_all()
