"""sglang-omni's stream, by its schema (0.1.9): it has no SDK, its clients write JSON themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

from tests.vendors.conftest import Listener, Served
from tests.vendors.decoded import Heard, file_sound, raw_sound

FIRST, SECOND = "The ship sails in the morning.", "We had soup and bread for lunch."
RECEIVE_S = 60.0


def talk(served: Served, messages: list[dict[str, Any]]) -> list[str | bytes]:
    """Send all of it at once, and collect what comes until the gateway hangs up."""
    headers = {"Authorization": f"Bearer {served.key}"}
    with connect(f"{served.ws}/v1/audio/speech/stream", additional_headers=headers) as ws:
        for message in messages:
            ws.send(json.dumps(message))
        frames: list[str | bytes] = []
        while not (frames and isinstance(frames[-1], str) and "session.done" in frames[-1]):
            frames.append(ws.recv(RECEIVE_S))
        return frames


def words(*sentences: str) -> list[dict[str, Any]]:
    text = " ".join(sentences)
    return [{"type": "input.text", "text": text[i : i + 3]} for i in range(0, len(text), 3)]


def told(frames: list[str | bytes], kind: str) -> list[dict[str, Any]]:
    messages = [json.loads(frame) for frame in frames if isinstance(frame, str)]
    return [message for message in messages if message["type"] == kind]


def test_sentences_as_files(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    for name in ("wav", "mp3", "opus"):
        config = {"type": "session.config", "session": {"response_format": name, "model": "x"}}
        frames = talk(served, [config, *words(FIRST, SECOND), {"type": "input.done"}])
        sounds = [frame for frame in frames if isinstance(frame, bytes)]
        assert [start["sentence_index"] for start in told(frames, "audio.start")] == [0, 1]
        for sound, text in zip(sounds, (FIRST, SECOND), strict=True):
            path = tmp_path / "sound"
            path.write_bytes(sound)
            heard.check(file_sound(path), text)
    heard.check_all()


def test_a_stream_with_commits(served: Served, listener: Listener, tmp_path: Path) -> None:
    heard = Heard(listener)
    config = {"type": "session.config", "stream_audio": True, "voice": "default"}
    commit = {"type": "input.commit"}
    turns = [*words(FIRST), commit, *words(SECOND), commit]
    frames = talk(served, [config, *turns, {"type": "input.done"}])
    assert sum(isinstance(frame, bytes) for frame in frames) > 20  # it streams
    assert [m["segment_index"] for m in told(frames, "input.committed")] == [0, 1]
    assert told(frames, "session.done")[0]["total_sentences"] == 2
    path = tmp_path / "sound"
    path.write_bytes(b"".join(frame for frame in frames if isinstance(frame, bytes)))
    rate_hz = told(frames, "audio.start")[0]["sample_rate"]
    heard.check(raw_sound(path, rate_hz), f"{FIRST} {SECOND}")
    heard.check_all()
