"""A request's body to commands: what acts, what is ignored and named, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.dialects import Opening
from gateway.dialects.openai import IGNORED_HEADER, SpeechDialect
from gateway.errors import ClientError
from gateway.types import (
    Configure,
    ContextSettings,
    EngineFacts,
    Limits,
    SamplingSettings,
    Text,
    VoiceNames,
)

Options = dict[str, Any]


def opening(
    facts: EngineFacts | None = None, voices: VoiceNames | None = None, **options: Any
) -> Opening:
    facts = facts or EngineFacts(checkpoint="own", voices=("default", "Ada"))
    fields: Options = {"path": {}, "query": {}, "headers": {}, "subprotocols": (), **options}
    names = voices or VoiceNames(facts.voices)
    return Opening(facts=facts, limits=Limits(), voices=names, **fields)


def asked(body: bytes | Options, **options: Any) -> tuple[ContextSettings, str, list[str]]:
    """(settings, text, fields that were ignored) of a request."""
    dialect = SpeechDialect(opening(**options))
    if isinstance(body, dict):
        body = json.dumps({"input": "Hello.", "voice": "default", **body}).encode()
    configure, text, _ = dialect.decode(body)
    assert isinstance(configure, Configure) and isinstance(text, Text)
    named = dialect.headers.get(IGNORED_HEADER, "")
    settings = configure.settings.over(ContextSettings())
    assert settings.mistake() is None
    return settings, text.text, named.split(", ") if named else []


def test_hints_act() -> None:
    settings, _, ignored = asked(
        {"seed": 7, "temperature": 0.5, "top_p": 0.9, "top_k": 3, "language": "pt-BR", "speed": 4}
    )
    assert settings.sampling == SamplingSettings(0.5, 0.9, 3, 7)
    assert (settings.language, settings.normalize, settings.speed) == ("pt-BR", True, 4.0)
    assert ignored == []


def test_without_hints_everything_is_the_checkpoints() -> None:
    settings, _, _ = asked({})
    assert settings.sampling == SamplingSettings()
    assert (settings.language, settings.normalize, settings.style) == ("en", False, "")


@pytest.mark.parametrize("seed", [-1, -(2**70), None])
def test_a_negative_seed_is_any_seed(seed: int | None) -> None:
    assert asked({"seed": seed})[0].sampling.seed is None


@pytest.mark.parametrize(
    ("language", "known", "taken"),
    [
        ("de", ("en", "de"), True),
        ("DE_at", ("en", "de"), True),
        ("fr", ("en", "de"), False),
        ("fr", (), True),
        ("Auto", (), False),
        ("German, please", (), False),
        ("", ("en",), None),
        (" ", ("en",), None),
    ],
)
def test_a_language_that_the_checkpoint_lacks_is_named(
    language: str, known: tuple[str, ...], taken: bool | None
) -> None:
    facts = EngineFacts(voices=("default",), languages=known)
    settings, _, ignored = asked({"language": language}, facts=facts)
    assert ignored == (["language"] if taken is False else [])
    assert settings.normalize is bool(taken)


@pytest.mark.parametrize(
    ("instructions", "style"),
    [
        ("Speak sadly.", "Speak sadly."),
        ("Voice: [deep]\n\nTone:\tdry", "Voice: (deep) Tone: dry"),
        ("word " * 100, "word " * 39 + "word"),
        ("x" * 500, "x" * 200),
    ],
)
def test_instructions_act_where_the_checkpoint_takes_tags(instructions: str, style: str) -> None:
    settings, _, ignored = asked({"instructions": instructions})
    assert (settings.style, ignored) == (style, [])


@pytest.mark.parametrize("instructions", ["?!", "  \n"])
def test_instructions_that_say_nothing_are_named(instructions: str) -> None:
    assert asked({"instructions": instructions})[2] == ["instructions"]


def test_instructions_are_named_where_no_tag_acts() -> None:
    facts = EngineFacts(voices=("default",), speaks_tags=False)
    settings, _, ignored = asked({"instructions": "Speak sadly."}, facts=facts)
    assert (settings.style, ignored) == ("", ["instructions"])
    assert asked({"instructions": ""}, facts=facts)[2] == []


def test_unknown_fields_are_named_in_a_header_that_can_be_sent() -> None:
    _, _, ignored = asked({"user": "me", "lang_code": None, "ä\r\nX: y": 1, "x" * 300: 2})
    assert ignored == ["user", "lang_code", "???X??y", "x" * 60]
    assert len(asked({f"field{n}": n for n in range(1000)})[2]) == 30


def test_null_is_as_good_as_nothing() -> None:
    optional = "model response_format speed stream_format instructions language temperature seed"
    names = [*optional.split(), "top_p", "top_k", "voice", "stream"]
    assert asked(dict.fromkeys(names)) == asked({})


@pytest.mark.parametrize("name", ["WAV", " wav ", "Wav\n"])
def test_formats_are_compared_without_case_and_blanks(name: str) -> None:
    assert asked({"response_format": name})[0] == asked({"response_format": "wav"})[0]
    asked({"stream_format": " SSE "})


@pytest.mark.parametrize(
    ("voice", "speaks"),
    [
        ("ADA", "Ada"),
        (" ada ", "Ada"),
        ({"id": "aDa"}, "Ada"),
        ("Alloy", "default"),
        (" NOVA", "default"),
        ("", "default"),
        (None, "default"),
        ("nobody", "nobody"),  # the session refuses it
    ],
)
def test_voices(voice: object, speaks: str) -> None:
    assert asked({"voice": voice})[0].voice == speaks


def test_voices_of_the_configuration() -> None:
    voices = VoiceNames(("default", "Ada", "rosa"), {"alloy": "ada", "bob": "rosa"}, "rosa")
    for name, speaks in {"Alloy": "Ada", "BOB": "rosa", "echo": "rosa", "nobody": "rosa"}.items():
        assert asked({"voice": name}, voices=voices)[0].voice == speaks


def test_a_byte_order_mark_is_no_fault() -> None:
    assert asked(b'\xef\xbb\xbf{"input":"Hello.","voice":"ada"}')[1] == "Hello."


@given(
    st.dictionaries(
        st.sampled_from("input voice speed seed top_k temperature language instructions x".split())
        | st.text(max_size=5),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=300)
        | st.dictionaries(st.just("id"), st.text(max_size=5)),
        max_size=6,
    )
)
def test_any_fields_are_taken_or_a_clients_error(fields: Options) -> None:
    dialect = SpeechDialect(opening())
    try:
        configure, *_ = dialect.decode(json.dumps(fields).encode())
    except ClientError as error:
        assert json.loads(dialect.refusal(error).body)["error"]["message"]
        return
    assert isinstance(configure, Configure)
    assert configure.settings.over(ContextSettings()).mistake() is None
    for value in dialect.headers.values():
        assert value.isascii() and value.isprintable()
