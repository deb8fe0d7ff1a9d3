"""Every dialect's socket, on a whole gateway: any frames, and then the client is gone."""

from __future__ import annotations

import asyncio
import itertools
import json
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from gateway.dialects import SocketRoute
from gateway.dialects.registry import ROUTES
from tests.gateway.server.connection.test_transport import HANDSHAKE
from tests.gateway.server.test_raw_bytes import feed

SOCKETS = {route.path: route for route in ROUTES if isinstance(route, SocketRoute)}

# Words of all the dialects: what is right in one is hostile in another.
KINDS = (
    "text end interrupt Speak Flush Clear Interrupt Configure Close session.config input.text"
    " input.commit input.done start flush stop"
).split()
keys = st.sampled_from(
    "text context context_id transcript continue flush session speed playback_offset request"
    " cancel close_context close_socket voice model_id output_format".split()
)
values = st.one_of(
    st.sampled_from(["Hello there. ", "...", "", "a", {}, {"text": ""}, {"value": 3}, [], True]),
    st.integers(-2, 3000),
    st.none(),
)
messages = st.builds(
    lambda kind, fields: {"type": kind, "event": kind, **fields},
    st.sampled_from(KINDS),
    st.dictionaries(keys, values, max_size=4),
)


def packed(message: object) -> bytes:
    return Frame(Opcode.BINARY, msgspec.msgpack.encode(message)).serialize(mask=True)


def written(message: object) -> bytes:
    return Frame(Opcode.TEXT, json.dumps(message).encode()).serialize(mask=True)


frames = st.one_of(messages.map(written), messages.map(packed), st.binary(max_size=20))


@pytest.mark.parametrize("path", SOCKETS)
@given(st.lists(frames, max_size=8), st.lists(st.integers(0, 2_000), max_size=4))
@settings(max_examples=25, deadline=None)
def test_any_frames(path: str, sent: list[bytes], cuts: list[int]) -> None:
    target = re.sub(r"\{.*?\}", "default", path) + "?model=flux-alexis-en"
    handshake = HANDSHAKE.replace(b"/v1/stream", target.encode(), 1)
    assert target.encode() in handshake
    data = b"".join(sent)
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in cuts)})
    asyncio.run(feed([handshake, *(data[a:b] for a, b in itertools.pairwise(places))]))


def test_every_dialect_is_here() -> None:
    assert {"/v1/stream", "/v1/speak", "/v2/speak", "/v1/tts/live"} <= SOCKETS.keys()
