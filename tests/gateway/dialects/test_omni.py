"""sglang-omni's stream: config, sentences with their sound, commits, the end; none of its faults.

The clients here say what its schema allows; it has no SDK.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect

from gateway.dialects.omni import OmniDialect
from tests.gateway.dialects.connection import Connection, opening
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import FakeEngine
from tests.gateway.shell import DEADLINE_S, gateway

TWO = "Hello there. How are you today. "


def client(engine: FakeEngine | None = None, **config: Any) -> Connection:
    connection = Connection(OmniDialect, opening(), engine)
    connection.send({"type": "session.config", "session": config})
    return connection


def say(connection: Connection, text: str, piece: int = 3) -> None:
    for i in range(0, len(text), piece):
        connection.send({"type": "input.text", "text": text[i : i + piece]})


def of_kind(connection: Connection, kind: str) -> list[dict[str, Any]]:
    return [message for message in connection.messages if message["type"] == kind]


SENTENCE = ["audio.start", "audio", "audio.done"]


@pytest.mark.parametrize("streams", [False, True])
def test_sentences_commits_and_the_end(streams: bool) -> None:
    c = client(stream_audio=streams)
    say(c, TWO)
    c.send({"type": "input.commit"})
    say(c, "And goodbye. ")
    c.send({"type": "input.done"})
    say(c, "Too late. ")
    c.run()
    assert c.kinds == [
        "session.configured",
        *SENTENCE,
        *SENTENCE,
        "input.committed",
        *SENTENCE,
        "session.done",
    ]
    starts = of_kind(c, "audio.start")
    assert [s["sentence_index"] for s in starts] == [0, 1, 2]
    assert " ".join(s["sentence_text"] for s in starts) == (TWO + "And goodbye.")
    sound = sum(len(frame) for frame in c.frames if isinstance(frame, bytes))
    assert sum(d["total_bytes"] for d in of_kind(c, "audio.done")) == sound
    (commit,) = of_kind(c, "input.committed")
    assert (commit["segment_index"], commit["segment_sentences"]) == (0, 2)
    assert of_kind(c, "session.done")[0]["total_sentences"] == 3
    assert c.closed is not None and c.closed.code == 1000
    if not streams:  # a sentence is one frame
        assert sum(isinstance(frame, bytes) for frame in c.frames) == 3


@pytest.mark.parametrize("streams", [False, True])
def test_a_sentence_is_over_although_nothing_follows(streams: bool) -> None:
    c = client(stream_audio=streams)
    say(c, TWO)
    c.run(20_000)
    assert c.kinds == ["session.configured", *SENTENCE, *SENTENCE]
    say(c, "More. ")
    c.send({"type": "input.commit"})
    c.run()
    assert c.kinds[-4:] == [*SENTENCE, "input.committed"]
    assert of_kind(c, "input.committed")[0]["segment_sentences"] == 3


def test_a_flood_of_tokens_is_taken() -> None:
    c = client(stream_audio=True)
    text = TWO * 200
    for char in text:
        c.send({"type": "input.text", "text": char})
    c.send({"type": "input.done"})
    c.run(3_600_000)
    assert of_kind(c, "error") == [] and c.kinds[-1] == "session.done"
    said = " ".join(s["sentence_text"] for s in of_kind(c, "audio.start"))
    assert said == text.strip()


def test_commits_of_nothing_are_answered_in_their_turn() -> None:
    c = client()
    say(c, TWO)
    for _ in range(3):
        c.send({"type": "input.commit"})
    c.run()
    assert c.kinds[-3:] == ["input.committed"] * 3
    counts = [m["segment_sentences"] for m in of_kind(c, "input.committed")]
    assert counts == [2, 0, 0]
    c.send({"type": "input.done"})
    assert c.kinds[-1] == "session.done"


def test_a_config_without_an_envelope_and_again() -> None:
    c = Connection(OmniDialect, opening())
    config = {"type": "session.config", "speaker": "x", "response_format": "WAV", "task_type": 1}
    for _ in range(2):
        c.send(config)
    assert c.kinds == ["session.configured"] * 2
    c.send({**config, "response_format": "mp3"})
    assert c.kinds[2:] == ["error"] and c.closed is None


@pytest.mark.parametrize(
    ("config", "param"),
    [
        ({"response_format": "ogg"}, "response_format"),
        ({"response_format": "mp3", "stream_audio": True}, "response_format"),
        ({"stream_audio": "yes"}, "stream_audio"),
        ({"split_granularity": "word"}, "split_granularity"),
        ({"speed": 9.0}, "speed"),
        ({"ref_audio": "https://example.com/a.wav"}, "ref_audio"),
    ],
)
def test_what_is_wrong_with_a_config(config: dict[str, Any], param: str) -> None:
    c = client(**config)
    (error,) = c.messages
    assert (error["type"], error["error_type"]) == ("error", "BadRequestError")
    assert (error["param"], error["code"]) == (param, 400) and c.closed is not None


def test_a_language_that_the_checkpoint_lacks_is_refused() -> None:
    facts = dataclasses.replace(FACTS, languages=("en",))
    for language, kind in (("en-US", "session.configured"), ("Auto", "session.configured")):
        c = Connection(OmniDialect, opening(facts=facts))
        c.send({"type": "session.config", "language": language})
        assert c.kinds == [kind]
    c = Connection(OmniDialect, opening(facts=facts))
    c.send({"type": "session.config", "language": "de"})
    assert c.messages[0]["param"] == "language"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ({"type": "input.sing"}, None),
        ({"type": "input.text"}, None),
        ({"type": "input.text", "text": 5}, None),
        ("{", None),
        (b"\0", None),
        ('"' + "a" * 70_000 + '"', 1009),
    ],
)
def test_a_wrong_message_is_an_error_and_not_the_end(raw: Any, code: int | None) -> None:
    c = client()
    c.send(raw)
    assert c.kinds[1:] == ["error"]
    assert (c.closed.code if c.closed else None) == code


def test_text_before_the_config_ends_it() -> None:
    c = Connection(OmniDialect, opening())
    c.send({"type": "input.text", "text": "Hello."})
    assert c.kinds == ["error"] and c.closed is not None and c.closed.code == 1008


def test_a_failed_sentence_is_told_and_the_session_goes_on() -> None:
    c = client(FakeEngine(failures={"boom. ": "engine_failed"}, fail_after=2), stream_audio=True)
    say(c, "boom. ", 20)
    c.send({"type": "input.commit"})
    c.run()
    assert of_kind(c, "error")[0]["error_type"] == "server_error"
    assert c.kinds[-1] == "input.committed"
    say(c, TWO)
    c.send({"type": "input.done"})
    c.run()
    assert c.kinds[-7:] == [*SENTENCE, *SENTENCE, "session.done"]


kinds = st.sampled_from(["session.config", "input.text", "input.commit", "input.done", "x", 3])
texts = st.sampled_from([TWO, "...", "", "boom. ", "3.", "14 ", "\0", None, 5]) | st.text()
configs = st.fixed_dictionaries(
    {},
    optional={
        "response_format": st.sampled_from(["pcm", "wav", "x", None, 3]),
        "stream_audio": st.booleans() | st.none(),
        "speed": st.floats() | st.none(),
        "split_granularity": st.sampled_from(["clause", "word"]),
    },
)
messages = st.builds(
    lambda kind, text, config: json.dumps({"type": kind, "text": text, "session": config}),
    kinds,
    texts,
    configs | st.none(),
)
anything = messages | st.text(max_size=10) | st.binary(max_size=10)


@given(st.lists(st.tuples(anything, st.sampled_from([0, 5, 80, 3_000])), max_size=12))
@settings(max_examples=150, deadline=None)
def test_any_frames_in_any_order(frames: list[tuple[str | bytes, int]]) -> None:
    c = client(FakeEngine(failures={"boom. ": "engine_failed"}, fail_after=1), stream_audio=True)
    for raw, pause_ms in frames:
        c.send(raw)
        c.run(pause_ms)
    c.send({"type": "input.done"})
    c.run(700_000)
    assert c.kinds[-1] == "session.done" and c.closed is not None
    assert c.kinds.count("audio.start") == c.kinds.count("audio.done")
    assert c.harness.session.next_deadline_ms() is None


@pytest.mark.parametrize("name", ["pcm", "wav", "mp3", "flac", "aac", "opus"])
async def test_each_sentence_is_a_file(name: str) -> None:
    magic = {"wav": b"RIFF", "flac": b"fLaC", "opus": b"OggS"}.get(name, b"")
    async with (
        gateway() as served,
        connect(f"{served.stream_url}/v1/audio/speech/stream", open_timeout=DEADLINE_S) as ws,
    ):
        await ws.send(json.dumps({"type": "session.config", "response_format": name}))
        await ws.send(json.dumps({"type": "input.text", "text": TWO}))
        await ws.send(json.dumps({"type": "input.done"}))
        frames = [frame async for frame in ws]
    sounds = [frame for frame in frames if isinstance(frame, bytes)]
    assert len(sounds) == 2 and all(sound.startswith(magic) and sound for sound in sounds)
    told = [json.loads(frame) for frame in frames if isinstance(frame, str)]
    sizes = [message["total_bytes"] for message in told if message["type"] == "audio.done"]
    assert sizes == [len(sound) for sound in sounds]
