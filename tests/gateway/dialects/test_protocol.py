"""Conformance: what PROTOCOL.md says is what the native dialect does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import gateway.errors
from gateway.dialects.native import HEADER, SUBPROTOCOL, decode, encode
from gateway.errors import ClientError, GatewayError, family
from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Configure,
    Configured,
    ContextSettings,
    Done,
    Ducked,
    Event,
    Failed,
    Flushed,
    Hello,
    Interrupted,
    Limits,
    Resumed,
    SamplingSettings,
    SegmentStarted,
    Started,
    Word,
    Words,
)

PAGE = (Path(gateway.errors.__file__).parent / "PROTOCOL.md").read_text(encoding="utf-8")
EXAMPLES = [json.loads(example) for example in re.findall(r'`(\{"type".*?\})`', PAGE)]


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def table(text: str) -> list[list[str]]:
    """The cells of every row of a section's Markdown tables, headings left out."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return [row for row in cells if not set(row[0]) <= set("-")][1:]


CLIENT = [row[0].strip("`") for row in table(section("Client to server").split("### ")[0])]
SERVER = [row[0].strip("`") for row in table(section("Server to client"))]

EVENTS: list[Event] = [
    Hello("s-1", ("default",), Limits().published(), {
        "checkpoint": "s2-pro", "sample_rate_hz": 44100, "frame_samples": 2048,
        "num_codebooks": 10, "max_streams": 16, "max_frames": 2048, "wants_words": False,
        "speaks_tags": True, "languages": (),
    }),
    Configured("c1", ContextSettings()),
    Started("c1", 1, 0, AudioFormat(Codec.PCM_S16LE, 24_000), 0),
    SegmentStarted("c1", 0, 0, 13, "Hello there. ", 0.0),
    Words("c1", (Word(0, 5, "Hello", 40.0, 310.0),), "proportional"),
    Flushed("c1", 1, 1230.0),
    Done("c1", 2310.0, 49, 2, 80, 31, 41.0, 1, 0.0),
    Interrupted("c1", 0, "Hello ", "there.", 640.0, 1210.0, True, 7),
    Ducked("c1", 700.0),
    Resumed("c1", 700.0),
    Failed("c1", "invalid_value", "speed: expected 0.25 to 4.0, got 5"),
]  # fmt: skip


def test_every_message_of_the_page_has_an_example() -> None:
    assert {example["type"] for example in EXAMPLES} == set(CLIENT) | set(SERVER)
    assert len(CLIENT) == 8 and len(SERVER) == 11


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e["type"] in CLIENT], ids=str)
def test_client_examples_decode_and_take_no_further_field(example: dict[str, Any]) -> None:
    command = decode(json.dumps(example))
    for name, value in example.items():
        if name not in ("type", "format", "voice"):
            assert getattr(command, name) == value
    with pytest.raises(ClientError, match="flub: expected one of type, context"):
        decode(json.dumps({**example, "flub": 1}))


def test_client_examples_use_every_command() -> None:
    kinds = {type(decode(json.dumps(e))).__name__.lower() for e in EXAMPLES if e["type"] in CLIENT}
    assert kinds == set(CLIENT)


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e["type"] in SERVER], ids=str)
def test_server_examples_are_what_is_sent(example: dict[str, Any]) -> None:
    sent = [json.loads(encode(event)) for event in EVENTS]
    assert example in sent
    (same,) = [message for message in sent if message["type"] == example["type"]]
    assert list(same) == list(example)  # in the page's order


def test_the_subprotocol_is_the_title() -> None:
    assert PAGE.startswith(f"# {SUBPROTOCOL}\n")


def test_the_table_of_settings_is_whole_and_its_defaults_are_true() -> None:
    rows = table(PAGE.split("### Settings of `configure`")[1].split("\n## ")[0])
    names = [row[0].strip("`") for row in rows]
    assert names == list(ContextSettings.__struct_fields__)
    defaults = {row[0].strip("`"): row[1].strip("`") for row in rows}
    message = {name: json.loads(default) for name, default in defaults.items() if name != "voice"}
    command = decode(json.dumps({"type": "configure", **message}))
    assert isinstance(command, Configure)
    assert command.settings.over(ContextSettings()) == ContextSettings()


@pytest.mark.parametrize(
    ("path", "low", "high"),
    [
        ("format.bitrate_bps", 6000, 256_000),
        ("format.complexity", 0, 10),
        ("sampling.temperature", 0, 2),
        ("sampling.top_p", 0, 1),
        ("sampling.top_k", 1, 1000),
        ("sampling.seed", 0, 2**63 - 1),
        ("max_buffer_delay_ms", 0, 10_000),
        ("speed", 0.25, 4.0),
        ("lead_ms", 0, 30_000),
    ],
)
def test_the_ranges_of_the_page_are_kept(path: str, low: float, high: float) -> None:
    assert f"{low}-{'2^63-1' if high == 2**63 - 1 else high}" in PAGE
    for value in (low, high):
        decode(configure(path, value))
    for value in (low - 1, high + 1):
        with pytest.raises(ClientError, match=rf"^{re.escape(path)}: expected {low:g} to .*, got"):
            decode(configure(path, value))


def configure(path: str, value: object) -> str:
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return json.dumps({"type": "configure", **value})


def test_formats_take_their_codecs_rate() -> None:
    rates = {"opus": 48_000, "pcm_s16le": 24_000, "pcm_f32le": 24_000, "mulaw": 8000, "alaw": 8000}
    for codec, rate_hz in rates.items():
        assert f"`{codec}`" in PAGE
        command = decode(configure("format.codec", codec))
        assert isinstance(command, Configure)
        assert command.settings.given["format"] == AudioFormat(Codec(codec), rate_hz)
    assert set(rates) == {codec.value for codec in Codec}


def test_sampling_is_replaced_whole() -> None:
    command = decode('{"type":"configure","sampling":{"seed":7}}')
    assert isinstance(command, Configure)
    before = ContextSettings(sampling=SamplingSettings(temperature=0.5))
    assert command.settings.over(before).sampling == SamplingSettings(seed=7)


def test_the_binary_header_is_the_pages() -> None:
    rows = table(section("Binary frames"))
    frame = encode(Audio("c1", 0x01020304, 5, 6, 0x0708090A0B0C0D0E, b"payload", last=True))
    assert isinstance(frame, bytes) and frame[HEADER.size :] == b"payload"
    assert HEADER.size == 24 and rows[-1][0] == "16-23"
    found = {}
    for row in rows:
        first, _, last = row[0].partition("-")
        found[row[1]] = int.from_bytes(frame[int(first) : int(last or first) + 1], "big")
    assert found == {
        "version": 1,
        "kind": 1,
        "flags": 1,
        "context number": 0x01020304,
        "generation": 5,
        "sequence": 6,
        "timestamp": 0x0708090A0B0C0D0E,
    }


def test_every_error_is_on_the_page_and_closes_what_the_page_says() -> None:
    rows = table(section("Errors and close codes"))
    listed = {code: row[1] for row in rows for code in re.findall(r"`(\w+)`", row[0])}
    ours = [e for e in family(GatewayError) if e.__module__ == "gateway.errors"]  # not a vendor's
    found = {error.code: error.close_code for error in ours}
    for code in ("invalid_request", "method_not_allowed"):  # HTTP only
        found.pop(code)
    assert set(listed) == set(found)
    for code, closes in listed.items():
        number = re.match(r"\d+", closes)
        assert (int(number[0]) if number else None) == found[code]


def test_the_published_limits_are_those_of_the_page() -> None:
    for name in Limits().published():
        assert f'"{name}"' in PAGE
