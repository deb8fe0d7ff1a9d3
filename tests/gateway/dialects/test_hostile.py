"""Whatever bytes a client sends: a command that can be obeyed and answered, or its own error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.dialects import openai
from gateway.dialects.native import decode, encode
from gateway.errors import ClientError
from tests.gateway.fakes import Harness

# Numbers as a client may write them, whatever Python makes of them.
DIGITS = [1, 15, 16, 17, 18, 19, 20, 21, 30, 307, 308, 309, 400, 4000, 5000, 20_000]
EDGES = [2**31, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64]
numbers = st.one_of(
    st.builds(
        lambda sign, n: f"{sign}1{'0' * n}", st.sampled_from(["", "-"]), st.sampled_from(DIGITS)
    ),
    st.builds(lambda sign, n: f"{sign}{n}", st.sampled_from(["", "-"]), st.sampled_from(EDGES)),
    st.builds(
        lambda mantissa, sign, power: f"{mantissa}e{sign}{power}",
        st.sampled_from(["1", "-1", "0", "-0.0", "4.9", "1.7976931348623157"]),
        st.sampled_from(["", "-"]),
        st.sampled_from([0, 1, 18, 30, 307, 308, 309, 323, 324, 400, 99_999]),
    ),
    st.sampled_from(["NaN", "Infinity", "-Infinity", "0x10", "01", "1.", ".5", "-0", "0.1"]),
    st.integers(-3000, 3000).map(str),
)
others = st.sampled_from(["null", "true", "[]", "{}", '""', '"a"', '"\\ud800"', '"\\u0000"', '"1"'])
values = numbers | others
FIELDS = {
    "configure": "max_buffer_delay_ms speed lead_ms words voice segment_mode format sampling "
    "pronunciations",
    "text": "text",
    "flush": "flush_id",
    "end": "",
    "interrupt": "played_ms",
    "duck": "gain",
    "resume": "",
    "playback": "played_ms",
}
inner = {
    "format": "codec sample_rate_hz frame_ms bitrate_bps complexity fec dtx".split(),
    "sampling": "temperature top_p top_k seed".split(),
}


@st.composite
def messages(draw: st.DrawFn) -> str:
    """JSON text of a message with any values, or nearly one."""
    kind = draw(st.sampled_from(sorted(FIELDS)))
    fields = [f'"type":"{kind}"']
    if kind != "configure" or draw(st.booleans()):
        fields.append('"context":"a"')
    for name in FIELDS[kind].split():
        if name in inner and draw(st.booleans()):
            parts = [f'"{part}":{draw(values)}' for part in inner[name] if draw(st.booleans())]
            fields.append(f'"{name}":{{{",".join(parts)}}}')
        elif draw(st.booleans()):
            fields.append(f'"{name}":{draw(values)}')
    return "{" + ",".join(fields) + "}"


surrogates = st.text(st.characters(), max_size=40)
raw_frames = messages() | surrogates | st.binary(max_size=40)


@given(st.lists(raw_frames, max_size=6))
@settings(max_examples=400)
def test_any_frames_are_obeyed_or_refused_and_answered(frames: list[str | bytes]) -> None:
    harness = Harness()
    opening = '{"type":"text","context":"a","text":"Hello there. And on it goes."}'
    for frame in [opening, *frames]:
        try:
            harness.do(decode(frame))
        except ClientError as error:
            harness.session.refuse(error)
            harness.collect()
        harness.run(30)
    harness.run(2_000)
    for _, event in harness.sent:
        assert encode(event)


@pytest.mark.parametrize("name", ["played_ms", "gain", "lead_ms", "speed", "max_buffer_delay_ms"])
def test_a_number_of_four_hundred_digits_is_refused_by_name(name: str) -> None:
    kind = {"played_ms": "playback", "gain": "duck"}.get(name, "configure")
    with pytest.raises(ClientError, match=f"^{name}: "):
        decode(f'{{"type":"{kind}","context":"a","{name}":1{"0" * 400}}}')


@given(
    st.one_of(
        st.binary(max_size=60),
        st.builds(
            lambda speed, extra: f'{{"input":"x","voice":"a","speed":{speed}{extra}}}'.encode(),
            numbers,
            st.sampled_from(["", ',"model":1', ',"stream_format":"sse"', "}", ',"voice":{"id":1}']),
        ),
        st.builds(lambda value: b'{"input":"x","voice":' + value.encode() + b"}", values),
        st.text(max_size=20).map(lambda text: json.dumps({"input": text, "voice": "a"}).encode()),
        st.builds(lambda n: b"[" * n + b"]" * n, st.sampled_from([1, 900, 5_000, 100_000])),
        st.builds(lambda n: b'{"a":' * n, st.sampled_from([1, 900, 5_000, 100_000])),
    )
)
def test_any_body_is_a_call_or_a_clients_error(body: bytes) -> None:
    try:
        openai.parse(body, 100)
    except ClientError as error:
        assert openai.error_body(error)["error"]["type"] == "invalid_request_error"
