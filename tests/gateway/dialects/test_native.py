"""Bad input to the native dialect: a typed error that says what was expected and what came."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.dialects.native import decode, encode
from gateway.errors import (
    ClientError,
    InvalidMessageError,
    InvalidTextError,
    InvalidValueError,
    MessageTooLargeError,
)
from gateway.types import (
    Audio,
    Configure,
    Configured,
    ContextSettings,
    Done,
    Duck,
    Flush,
    Interrupt,
    Resume,
    SettingsPatch,
    Text,
)

TYPES = "configure, text, flush, end, interrupt, duck, resume, playback"


@pytest.mark.parametrize(
    ("raw", "error", "message"),
    [
        ("", InvalidMessageError, "expected a JSON object, got other text"),
        ("{", InvalidMessageError, "expected a JSON object, got other text"),
        ("nonsense", InvalidMessageError, "expected a JSON object, got other text"),
        ("[1,2]", InvalidMessageError, "expected a JSON object, got [1, 2]"),
        ("null", InvalidMessageError, "expected a JSON object, got None"),
        ('"text"', InvalidMessageError, "expected a JSON object, got 'text'"),
        ("{}", InvalidMessageError, f"type: expected one of {TYPES}, got none"),
        ('{"type":3}', InvalidMessageError, f"type: expected one of {TYPES}, got 3"),
        ('{"type":"speak"}', InvalidMessageError, f"type: expected one of {TYPES}, got 'speak'"),
        ('{"type":"text","context":"c"}', InvalidMessageError, "text: expected a value, got none"),
        (
            '{"type":"text","context":"c","text":5}',
            InvalidMessageError,
            "text: expected str, got int",
        ),
        ('{"type":"end","context":null}', InvalidMessageError, "context: expected str, got null"),
        (
            '{"type":"end","context":"c","x":1}',
            InvalidMessageError,
            "x: expected one of type, context, got an unknown field",
        ),
        (
            '{"type":"configure","format":{"rate":1}}',
            InvalidMessageError,
            "format.rate: expected one of codec, sample_rate_hz, frame_ms, bitrate_bps, complexity,"
            " fec, dtx, got an unknown field",
        ),
        (
            '{"type":"configure","format":"opus"}',
            InvalidMessageError,
            "format: expected object, got str",
        ),
        (
            '{"type":"configure","words":1}',
            InvalidMessageError,
            "words: expected bool, got int",
        ),
        (
            '{"type":"configure","speed":null}',
            InvalidMessageError,
            "speed: expected float, got null",
        ),
        (
            '{"type":"configure","pronunciations":{"a":1}}',
            InvalidMessageError,
            "pronunciations.*: expected str, got int",
        ),
        (
            '{"type":"configure","format":{"frame_ms":15}}',
            InvalidValueError,
            "format.frame_ms: expected one of 10, 20, 40, 60, got 15",
        ),
        (
            '{"type":"configure","format":{"codec":"mp3"}}',
            InvalidValueError,
            "format.codec: expected one of opus, pcm_s16le, pcm_f32le, mulaw, alaw, got 'mp3'",
        ),
        (
            '{"type":"configure","format":{"codec":"mulaw","sample_rate_hz":16000}}',
            InvalidValueError,
            "format.sample_rate_hz: expected 8000 for mulaw, got 16000",
        ),
        (
            '{"type":"configure","format":{"codec":"pcm_s16le","sample_rate_hz":96000}}',
            InvalidValueError,
            "format.sample_rate_hz: expected 8000 to 48000 for pcm_s16le, got 96000",
        ),
        (
            '{"type":"configure","segment_mode":"word"}',
            InvalidValueError,
            "segment_mode: expected one of clause, sentence, got 'word'",
        ),
        (
            '{"type":"configure","language":"klingon!"}',
            InvalidValueError,
            "language: expected a code, as en or pt-BR, got 'klingon!'",
        ),
        (
            '{"type":"configure","style":"sad] and [loud"}',
            InvalidValueError,
            "style: expected words without brackets on one line, at most 200 characters, "
            "got 'sad] and [loud'",
        ),
        ('{"type":"configure","speed":5}', InvalidValueError, "speed: expected 0.25 to 4.0, got 5"),
        (
            '{"type":"configure","pronunciations":{" ":"x"}}',
            InvalidValueError,
            "pronunciations: expected words that are not empty, got ' '",
        ),
        (
            '{"type":"end","context":""}',
            InvalidValueError,
            "context: expected 1 to 64 characters, got 0",
        ),
        (
            '{"type":"flush","context":"c","flush_id":""}',
            InvalidValueError,
            "flush_id: expected 1 to 64 characters, got 0",
        ),
        (
            '{"type":"playback","context":"c","played_ms":-1}',
            InvalidValueError,
            "played_ms: expected 0 or more, got -1",
        ),
        ('{"type":"duck","gain":1.5}', InvalidValueError, "gain: expected 0 to 1, got 1.5"),
        (
            '{"type":"text","context":"c","text":"\\ud800 and more text to come"}',
            InvalidTextError,
            "expected Unicode characters, got a lone surrogate",
        ),
        (b"\x00\x01", InvalidMessageError, "expected a text frame, got a binary one of 2 bytes"),
        ("[" * 60_000, InvalidMessageError, "expected a flat JSON object, got a deeply nested one"),
        ("\ud800", InvalidMessageError, "expected a JSON object, got other text"),
    ],
)
def test_bad_input(raw: str | bytes, error: type[ClientError], message: str) -> None:
    with pytest.raises(error) as caught:
        decode(raw)
    assert type(caught.value) is error
    assert str(caught.value).startswith(message)


def test_size_is_measured_in_bytes() -> None:
    message = json.dumps(
        {"type": "text", "context": "c", "text": "\u00e4" * 50}, ensure_ascii=False
    )
    size = len(message.encode())
    assert isinstance(decode(message, max_bytes=size), Text)
    with pytest.raises(MessageTooLargeError, match=f"at most {size - 1} bytes, got {size}"):
        decode(message, max_bytes=size - 1)


def test_too_many_or_too_long_pronunciations() -> None:
    for table in ({str(i): "x" for i in range(201)}, {"a": "x" * 201}):
        with pytest.raises(InvalidValueError, match="pronunciations.*expected at most 200"):
            decode(json.dumps({"type": "configure", "pronunciations": table}))


@pytest.mark.parametrize(
    ("raw", "context"),
    [
        ('{"type":"text","context":"c1","txt":"a"}', "c1"),
        ('{"type":"configure","context":"c1","speed":9}', "c1"),
        ('{"type":"configure","speed":9}', None),
        ('{"type":"text","context":5,"text":"a"}', None),
        ('{"type":"nonsense","context":"c1"}', None),
    ],
)
def test_an_error_names_its_context(raw: str, context: str | None) -> None:
    with pytest.raises(ClientError) as caught:
        decode(raw)
    assert caught.value.context == context


@pytest.mark.parametrize(
    ("raw", "command"),
    [
        ('{"type":"flush","context":"c"}', Flush("c")),
        ('{"type":"interrupt"}', Interrupt()),
        ('{"type":"interrupt","context":null,"played_ms":3}', Interrupt(None, 3.0)),
        ('{"type":"duck"}', Duck()),
        ('{"type":"resume","context":"c"}', Resume("c")),
        ('{"type":"configure"}', Configure(None, SettingsPatch())),
        (
            '{"type":"configure","pronunciations":{"b":"x","a":"y"}}',
            Configure(None, SettingsPatch(pronunciations={"a": "y", "b": "x"})),
        ),
        ('{"type":"text","context":"c","text":"\\ud83d\\ude42\\u0000"}', Text("c", "\U0001f642\0")),
    ],
)
def test_what_may_be_left_out(raw: str, command: object) -> None:
    assert decode(raw) == command


def test_times_are_rounded_and_missing_ones_null() -> None:
    done = json.loads(encode(Done("c", 1000 / 3, 1, 1, 0, 0, None, None)))
    assert done["audio_ms"] == 333.333 and done["first_audio_ms"] is None


def test_settings_come_back_as_they_can_be_sent() -> None:
    settings = ContextSettings(pronunciations={"a": "b"}, speed=1.25)
    sent = json.loads(encode(Configured(None, settings)))
    assert sent["context"] is None
    again = decode(json.dumps({"type": "configure", **sent["settings"]}))
    assert isinstance(again, Configure)
    assert again.settings.over(ContextSettings()) == settings


def test_an_ordinary_packet_has_no_flags() -> None:
    frame = encode(Audio("c", 1, 0, 0, 0, b""))
    assert isinstance(frame, bytes) and frame[2:4] == b"\0\0"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
field_names = st.sampled_from(
    "type context text flush_id played_ms gain format sampling speed voice words codec".split()
)


@given(
    st.sampled_from(TYPES.split(", ")),
    st.dictionaries(field_names | st.text(max_size=4), json_values, max_size=5),
)
def test_any_object_is_a_command_or_a_clients_error(kind: str, message: dict[str, object]) -> None:
    try:
        decode(json.dumps({"type": kind, **message}))
    except ClientError as error:
        assert "expected" in str(error) and "\n" not in str(error)[:60]


@given(st.text(max_size=40) | st.binary(max_size=20))
def test_any_frame_is_a_command_or_a_clients_error(raw: str | bytes) -> None:
    try:
        decode(raw)
    except ClientError as error:
        assert str(error)
