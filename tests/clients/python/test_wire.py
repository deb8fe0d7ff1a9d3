"""The client reads what the gateway writes: each of its own events, encoded, then decoded here."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import msgspec
import pytest

from clients.python import wire
from gateway import types
from gateway.dialects import native

FORMAT = types.AudioFormat()
EVENTS: list[types.Event] = [
    types.Hello(
        "s-1",
        ("default", "amy"),
        types.Limits().published(),
        {"checkpoint": "c", "sample_rate_hz": 44_100, "frame_samples": 2048, "num_codebooks": 10},
    ),
    types.Configured("a", types.ContextSettings()),
    types.Started("a", 3, 1, FORMAT, 312),
    types.SegmentStarted("a", 0, 0, 6, "Hello ", 0.0),
    types.Words("a", (types.Word(0, 5, "Hello", 40.0, 300.5),), "heads"),
    types.Flushed("a", "f1", 1230.0),
    types.Done("a", 2310.0, 49, 2, 80, 31, 41.0),
    types.Done("a", 0.0, 0, 0, 0, 0, None),
    types.Interrupted("a", 0, "Hello ", "there.", 640.0, 1210.0, True, 7),
    types.Ducked("a", 700.0),
    types.Resumed("a", 700.0),
    types.Failed("a", "invalid_value", "speed: expected 0.5 to 2.0, got 3"),
    types.Failed(None, "internal", "internal error"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_arrives_whole(event: types.Event) -> None:
    received = wire.decode_event(native.encode(event))
    assert type(received).__name__ == type(event).__name__
    sent = dataclasses.asdict(event)
    for name in received.__struct_fields__:
        if name not in ("protocol", "settings", "format", "engine"):
            assert plain(getattr(received, name)) == plain(sent[name]), name
    if isinstance(received, wire.Started):
        assert received.format == wire.AudioFormat("opus", 48_000, 20)


def plain(value: Any) -> Any:
    """Without classes and without the difference between tuples and lists."""
    return json.loads(msgspec.json.encode(value))


def test_audio_arrives_whole() -> None:
    event = types.Audio("a", 2**32 - 1, 7, 2**31, 2**40, b"\x00payload", last=True)
    frame = native.encode(event)
    assert isinstance(frame, bytes)
    packet = wire.decode_audio(frame)
    assert packet == wire.AudioPacket(2**32 - 1, 7, 2**31, 2**40, b"\x00payload", True)


def test_fields_of_a_newer_gateway_are_skipped() -> None:
    event = wire.decode_event('{"type":"ducked","context":"a","at_ms":1.0,"why":"cough"}')
    assert event == wire.Ducked("a", 1.0)


@pytest.mark.parametrize("message", ["{", "[]", '{"type":"dance"}', '{"type":"ducked"}'])
def test_what_is_no_event_says_so(message: str) -> None:
    with pytest.raises(wire.WireError, match="expected an event"):
        wire.decode_event(message)


@pytest.mark.parametrize("frame", [b"", bytes(23), bytes(24), b"\x01\x02" + bytes(22)])
def test_what_is_no_audio_says_so(frame: bytes) -> None:
    with pytest.raises(wire.WireError, match="expected"):
        wire.decode_audio(frame)


def test_commands_leave_out_what_is_not_given() -> None:
    message = wire.encode_command("interrupt", context=None, played_ms=1.5)
    assert json.loads(message) == {"type": "interrupt", "played_ms": 1.5}
    assert native.decode(message) == types.Interrupt(None, 1.5)
