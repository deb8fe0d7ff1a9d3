"""The Realtime API, driven by the vendor's own SDK over a real socket."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, get_args

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.resources.realtime.realtime import AsyncRealtimeConnection as Connection
from openai.types.realtime import RealtimeServerEvent
from websockets.asyncio.client import connect

from engine.fake import Failure, FakeEngine, FakeEngineConfig
from gateway.dialects.openai.realtime import RealtimeDialect
from gateway.errors import ClientError
from gateway.types import Hello, Limits
from tests.gateway.dialects.openai.test_speech import opening
from tests.gateway.fake_parts import FACTS
from tests.gateway.fakes import FakeEngine as CoreEngine
from tests.gateway.fakes import Harness
from tests.gateway.shell import SLOW, gateway, until

TEXT = "Hello there my friend. How are you today? It is a very fine day."
QUICK = FakeEngineConfig(voices=("default", "ada"))


@contextlib.asynccontextmanager
async def realtime(
    engine: FakeEngine, **settings: Any
) -> AsyncIterator[tuple[Connection, dict[str, Any]]]:
    """A connection of the SDK, and its session as it was greeted."""
    async with gateway(engine, **settings) as served:
        urls = {"base_url": f"{served.url}v1", "websocket_base_url": f"{served.stream_url}/v1"}
        async with (
            openai.AsyncOpenAI(api_key="sk-1", **urls) as client,
            client.realtime.connect(model="gpt-realtime") as connection,
        ):
            greeting = await connection.recv()
            assert greeting.type == "session.created"
            yield connection, greeting.session.to_dict()
        await until(lambda: served.service.sessions == 0)
        assert engine._running == 0


def message(text: str, role: str = "user", **fields: Any) -> Any:
    kind = "input_text" if role == "user" else "output_text"
    content = [{"type": kind, "text": text}]
    return {"type": "message", "role": role, "content": content, **fields}


async def say(connection: Connection, *texts: str, role: str = "user") -> None:
    for text in texts:
        await connection.conversation.item.create(item=message(text, role))
    await connection.response.create()


async def until_event(connection: Connection, kind: str) -> tuple[Any, list[Any]]:
    before: list[Any] = []
    while (event := await connection.recv()).type != kind:
        before.append(event)
    return event, before


def sound(events: list[Any]) -> bytes:
    deltas = [event for event in events if event.type == "response.output_audio.delta"]
    return b"".join(base64.b64decode(event.delta) for event in deltas)


async def test_text_in_sound_out() -> None:
    engine = FakeEngine(QUICK)
    async with realtime(engine, api_keys="sk-1") as (connection, session):
        assert session["audio"]["output"]["format"] == {"type": "audio/pcm", "rate": 24_000}
        await say(connection, TEXT)
        done, events = await until_event(connection, "response.done")
    assert done.response.status == "completed"
    assert done.response.usage.output_tokens == engine._frames_total
    assert len(sound(events)) / 48 == pytest.approx(engine._frames_total * 2048 / 44.1, rel=0.02)
    kinds = [event.type for event in events]
    once = [kind for kind in kinds if not kind.endswith(".delta")]
    assert once == [
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
    ]
    said = [e.delta for e in events if e.type == "response.output_audio_transcript.delta"]
    assert "".join(said) == TEXT == done.response.output[0].content[0].transcript
    assert len({event.event_id for event in events}) == len(events)


async def test_the_assistants_text_is_spoken_and_only_what_is_new() -> None:
    engine = FakeEngine(QUICK)
    async with realtime(engine) as (connection, _):
        await connection.conversation.item.create(
            item={
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Hm?"}],
            }
        )
        await say(connection, "Yes.", "Indeed.", role="assistant")
        await until_event(connection, "response.done")
        await say(connection, "More.")
        await until_event(connection, "response.done")
        await connection.response.create()
        error, _ = await until_event(connection, "error")
        assert error.error.param == "response.input"
    assert " ".join(request.text for request in engine.requests) == "Yes. Indeed. More."


async def test_settings() -> None:
    engine = FakeEngine(QUICK)
    async with realtime(engine) as (connection, _):
        await connection.session.update(
            session={
                "type": "realtime",
                "instructions": "whispering",
                "audio": {
                    "output": {"voice": "Ada", "speed": 2.0, "format": {"type": "audio/pcmu"}}
                },
                "tools": [],
                "max_output_tokens": "inf",
            }
        )
        updated, _ = await until_event(connection, "session.updated")
        output = updated.session.audio.output
        assert (output.voice, output.speed, output.format.type) == ("Ada", 2.0, "audio/pcmu")
        await say(connection, "Hello there.")
        _, events = await until_event(connection, "response.done")
    assert len(sound(events)) / 8 == pytest.approx(engine._frames_total * 2048 / 88.2, rel=0.1)
    assert [(r.voice, r.text) for r in engine.requests] == [("ada", "[whispering] Hello there.")]


@pytest.mark.parametrize(
    ("session", "param"),
    [
        ({"audio": {"output": {"voice": "nobody"}}}, "session.audio.output.voice"),
        ({"audio": {"output": {"speed": 9}}}, "session.audio.output.speed"),
        ({"audio": {"output": {"format": {"type": "mp3"}}}}, "session.audio.output.format.type"),
        ({"output_modalities": ["text"]}, "session.output_modalities"),
    ],
)
async def test_settings_that_cannot_be_had(session: Any, param: str) -> None:
    async with realtime(FakeEngine(QUICK)) as (connection, _):
        await connection.session.update(session={"type": "realtime", **session}, event_id="mine")
        error, _ = await until_event(connection, "error")
        assert (error.error.param, error.error.event_id) == (param, "mine")
        assert error.error.type == "invalid_request_error"
        await say(connection, "Hello.")
        done, _ = await until_event(connection, "response.done")
        assert done.response.status == "completed"


async def test_cancel_and_truncate_tell_what_was_heard() -> None:
    engine = FakeEngine(SLOW)
    async with realtime(engine) as (connection, _):
        await say(connection, TEXT * 20)
        first, _ = await until_event(connection, "response.output_audio.delta")
        await connection.response.cancel()
        done, rest = await until_event(connection, "response.done")
        assert (done.response.status, done.response.status_details.type) == ("cancelled",) * 2
        heard = done.response.output[0].content[0].transcript
        assert (TEXT * 20).startswith(heard) and len(heard) < len(TEXT)
        assert "response.output_audio.done" in [event.type for event in rest]
        assert done.response.output[0].status == "incomplete"
        for played_ms in (500, 0):
            await connection.conversation.item.truncate(
                item_id=first.item_id, content_index=0, audio_end_ms=played_ms
            )
            truncated, rest = await until_event(connection, "conversation.item.truncated")
            assert truncated.audio_end_ms == played_ms and not rest
            await connection.conversation.item.retrieve(item_id=first.item_id)
            item, _ = await until_event(connection, "conversation.item.retrieved")
            assert truncated.transcript == item.item.content[0].transcript
        assert item.item.content[0].transcript == ""
        await say(connection, "And now?")
        done, _ = await until_event(connection, "response.done")
        assert done.response.output[0].content[0].transcript == "And now?"
    assert len(engine.aborts) == 1


async def test_cancel_and_truncate_in_one_breath() -> None:
    """As the vendor's JavaScript sample does."""
    async with realtime(FakeEngine(SLOW)) as (connection, _):
        await say(connection, TEXT * 20)
        first, _ = await until_event(connection, "response.output_audio.delta")
        await connection.response.cancel(response_id=first.response_id)
        await connection.conversation.item.truncate(
            item_id=first.item_id, content_index=0, audio_end_ms=0
        )
        done, rest = await until_event(connection, "response.done")
        assert done.response.output[0].content[0].transcript == ""
        truncated, between = await until_event(connection, "conversation.item.truncated")
        assert (truncated.transcript, truncated.audio_end_ms, between) == ("", 0, [])


async def test_truncate_alone_stops_it() -> None:
    async with realtime(FakeEngine(SLOW)) as (connection, _):
        await say(connection, TEXT * 20)
        first, _ = await until_event(connection, "response.output_audio.delta")
        await connection.conversation.item.truncate(
            item_id=first.item_id, content_index=0, audio_end_ms=0
        )
        done, _ = await until_event(connection, "response.done")
        assert done.response.status == "cancelled"
        await until_event(connection, "conversation.item.truncated")


async def test_truncate_of_what_was_spoken_to_its_end() -> None:
    async with realtime(FakeEngine(QUICK)) as (connection, _):
        await say(connection, "Hello there my friend.")
        done, _ = await until_event(connection, "response.done")
        item = done.response.output[0]
        await connection.conversation.item.truncate(
            item_id=item.id, content_index=0, audio_end_ms=10
        )
        truncated, _ = await until_event(connection, "conversation.item.truncated")
        assert truncated.transcript == ""
        await connection.conversation.item.truncate(
            item_id="nothing", content_index=0, audio_end_ms=10
        )
        error, _ = await until_event(connection, "error")
        assert error.error.param == "item_id"


async def test_one_response_at_a_time_but_for_those_beside_the_conversation() -> None:
    engine = FakeEngine(SLOW)
    async with realtime(engine) as (connection, _):
        await say(connection, TEXT * 20)
        await until_event(connection, "response.output_audio.delta")
        await say(connection, "Too early.")
        error, _ = await until_event(connection, "error")
        assert error.error.code == "context_state"
        await connection.response.create(
            response={
                "conversation": "none",
                "metadata": {"topic": "aside"},
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "Psst."}],
                    }
                ],
            }
        )
        created, _ = await until_event(connection, "response.created")
        assert created.response.metadata == {"topic": "aside"}
        await connection.response.cancel()
        await until_event(connection, "response.done")
        done, events = await until_event(connection, "response.done")
        assert (done.response.id, done.response.status) == (created.response.id, "completed")
        assert "conversation.item.done" not in [event.type for event in events]
        await connection.response.create()  # what came too early
        done, _ = await until_event(connection, "response.done")
        assert done.response.output[0].content[0].transcript == "Too early."


async def test_a_failing_engine_fails_the_response_and_no_more() -> None:
    engine = FakeEngine(QUICK)
    engine.failures.append(Failure("Hello"))
    async with realtime(engine) as (connection, _):
        await say(connection, "Hello there.")
        done, events = await until_event(connection, "response.done")
        assert (done.response.status, done.response.status_details.error.code) == (
            "failed",
            "engine_failed",
        )
        assert "error" in [event.type for event in events]
        await say(connection, "Good bye.")
        done, _ = await until_event(connection, "response.done")
        assert done.response.status == "completed"


@pytest.mark.parametrize("text", ["NUL \0", "x" * 30])
async def test_a_text_that_is_refused_leaves_nothing_behind(text: str) -> None:
    engine = FakeEngine(QUICK)
    async with realtime(engine, max_buffered_chars=20, max_contexts=1) as (connection, _):
        for _ in range(3):
            await say(connection, text)
            done, events = await until_event(connection, "response.done")
            assert done.response.status == "failed" and "error" in [e.type for e in events]
        await say(connection, "Good bye.")
        done, _ = await until_event(connection, "response.done")
        assert done.response.status == "completed"


async def test_the_microphone_is_refused_once() -> None:
    async with realtime(FakeEngine(QUICK)) as (connection, _):
        for _ in range(3):
            await connection.input_audio_buffer.append(audio="AAAA")
        await connection.input_audio_buffer.clear()
        _, before = await until_event(connection, "input_audio_buffer.cleared")
        assert [event.type for event in before] == ["error"]


async def test_items() -> None:
    async with realtime(FakeEngine(QUICK)) as (connection, _):
        for item_id, previous in (("b", None), ("a", "root"), ("c", "a")):
            await connection.conversation.item.create(
                item=message(f"{item_id.upper()}.", id=item_id),
                **({} if previous is None else {"previous_item_id": previous}),
            )
            added, _ = await until_event(connection, "conversation.item.done")
            assert added.previous_item_id == {"b": None, "a": None, "c": "a"}[item_id]
        await connection.conversation.item.delete(item_id="b")
        await until_event(connection, "conversation.item.deleted")
        await connection.response.create()
        done, _ = await until_event(connection, "response.done")
        assert done.response.output[0].content[0].transcript == "A. C."
        reference: Any = {"type": "item_reference", "id": "c"}
        await connection.response.create(response={"input": [reference, message("D.")]})
        done, _ = await until_event(connection, "response.done")
        assert done.response.output[0].content[0].transcript == "C. D."


async def test_browsers_put_the_key_into_a_subprotocol() -> None:
    async with gateway(FakeEngine(QUICK), api_keys="sk-1") as served:
        url = f"{served.stream_url}/v1/realtime?model=x"
        offered: Any = ["realtime", "openai-insecure-api-key.sk-1"]
        async with connect(url, subprotocols=offered) as ws:
            assert ws.subprotocol == "realtime"
            assert json.loads(await ws.recv())["type"] == "session.created"
        async with connect(url) as ws:
            refused = json.loads(await ws.recv())
            assert (refused["type"], refused["error"]["code"]) == ("error", "unauthorized")
            await ws.wait_closed()
            assert ws.close_code == 4401


# What the SDK has a type for.
KNOWN = {
    get_args(kind.model_fields["type"].annotation)[0]
    for kind in get_args(get_args(RealtimeServerEvent)[0])
}
KINDS = st.sampled_from(
    "session.update conversation.item.create conversation.item.truncate response.create "
    "conversation.item.retrieve conversation.item.delete response.cancel nothing "
    "input_audio_buffer.append output_audio_buffer.clear".split()
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 10**30) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                "type role content text id audio output format voice speed input".split()
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
MESSAGES = st.builds(
    lambda kind, fields: json.dumps({"type": kind, **fields}),
    KINDS,
    st.dictionaries(
        st.sampled_from("session item item_id audio_end_ms response response_id event_id".split()),
        VALUES | st.sampled_from(["item_1", "resp_1"]),
        max_size=3,
    ),
)

TEXTS = st.sampled_from(["Hello there. ", "How are you? ", "boom", "NUL \0", "...", "", "x" * 90])
LIKELY = st.one_of(
    st.builds(
        lambda text, role: {"type": "conversation.item.create", "item": message(text, role)},
        TEXTS,
        st.sampled_from(["user", "assistant", "system"]),
    ),
    st.builds(
        lambda text, beside: {
            "type": "response.create",
            "response": {"input": [message(text)], "conversation": "none" if beside else "auto"},
        },
        TEXTS,
        st.booleans(),
    ),
    st.builds(
        lambda number, ms: {
            "type": "conversation.item.truncate",
            "item_id": f"item_{number}",
            "audio_end_ms": ms,
        },
        st.integers(1, 40),
        st.sampled_from([0, 100, 100_000]),
    ),
    st.sampled_from(
        [
            {"type": "response.create"},
            {"type": "response.cancel"},
            {"type": "output_audio_buffer.clear"},
            {"type": "session.update", "session": {"audio": {"output": {"speed": 2}}}},
        ]
    ),
).map(json.dumps)


@given(
    st.lists(st.tuples(LIKELY | MESSAGES, st.sampled_from([0, 5, 50, 500])), max_size=15),
    st.sampled_from([1, 8]),
)
@settings(max_examples=150, deadline=None)
def test_any_conversation_comes_to_rest(said: list[tuple[str, int]], contexts: int) -> None:
    """Every response ends once, no context is left open, every event is one of the API's."""
    engine = CoreEngine(failures={"boom": "engine_failed"})
    h = Harness(engine, Limits(max_contexts=contexts, max_buffered_chars=200))
    dialect = RealtimeDialect(opening(facts=FACTS))
    told: list[dict[str, Any]] = []
    seen = 0

    def tell() -> None:
        nonlocal seen
        for _, event in h.sent[seen:]:
            told.extend(json.loads(frame) for frame in dialect.encode(event))
        seen = len(h.sent)

    for frame, wait_ms in [*said, ('{"type":"session.update","session":{}}', 60_000)]:
        try:
            items = dialect.decode(frame)
            told += [json.loads(item) for item in items if isinstance(item, str)]
            h.session.receive([i for i in items if not isinstance(i, str)], h.now_ms)  # type: ignore[misc]
        except ClientError as error:
            h.session.refuse(error)
        h.collect()
        tell()
        h.run(wait_ms)
        tell()
    created = [event["response"]["id"] for event in told if event["type"] == "response.created"]
    done = [event["response"]["id"] for event in told if event["type"] == "response.done"]
    assert sorted(created) == sorted(done)
    assert not h.session._roster.queue
    assert {event["type"] for event in told} <= KNOWN


@given(st.lists(MESSAGES | st.binary(max_size=20) | st.text(max_size=20), max_size=6))
@settings(max_examples=300)
def test_any_messages_are_obeyed_or_refused(frames: list[str | bytes]) -> None:
    dialect = RealtimeDialect(opening())
    dialect.encode(Hello("s-1", ("default",), {}, {}))
    for frame in frames:
        try:
            dialect.decode(frame)
        except ClientError:
            continue
