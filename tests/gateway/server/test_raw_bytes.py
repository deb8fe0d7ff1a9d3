"""Raw bytes on a connection: whatever a peer sends, nothing of ours fails and nothing stays."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterator

from hypothesis import example, given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from engine.fake import FakeEngine
from gateway.config import Config
from gateway.server.app import create_app
from gateway.server.connection.transport import StreamProtocol, request_protocol
from gateway.server.service import Service
from tests.gateway.server.connection.test_transport import HANDSHAKE
from tests.gateway.wire import connected

_HEADER = b"Host: localhost\r\n"


class Errors(logging.Handler):
    """Every record of an error, whoever logs it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def __enter__(self) -> Errors:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)


async def feed(chunks: list[bytes]) -> None:
    """What comes over one connection to a whole gateway, until it is lost."""
    service = Service(Config(engine="fake"), FakeEngine())
    service.start()
    await service.started()
    problems: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: problems.append(context))
    with Errors() as errors:
        kind = request_protocol(15_000, 15_000)
        wire = connected(kind, create_app(service), ws=StreamProtocol, lifespan="off")
        near = wire.protocol
        for chunk in chunks:
            if wire.is_closing() or wire.protocol is None:
                break
            wire.protocol.data_received(chunk)
            wire.peer_takes()
            for _ in range(3):
                await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        if wire.protocol is not None:
            wire.abort()
        for _ in range(200):
            await asyncio.sleep(0)
        assert service.sessions == 0, chunks
        await service.close()
        near.hang_up(1000, "")
    assert not problems, problems
    assert not errors.records, [record.getMessage() for record in errors.records]


def cut(data: bytes, at: list[int]) -> list[bytes]:
    """The same bytes in pieces."""
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in at)})
    return [data[a:b] for a, b in itertools.pairwise(places)]


def frames() -> st.SearchStrategy[bytes]:
    text = st.sampled_from(
        [
            b'{"type":"text","context":"a","text":"Hello there. "}',
            b'{"type":"end","context":"a"}',
            b'{"type":"interrupt"}',
            b"\xff\xfe",
            b"",
            b"{" * 5000,
        ]
    )
    payload = text | st.binary(max_size=200)

    def build(opcode: int, payload: bytes, first: int, mask: bool) -> bytes:
        raw = bytearray(Frame(Opcode.TEXT, payload).serialize(mask=mask))
        raw[0] = opcode | first
        return bytes(raw)

    opcodes = st.sampled_from([0, 1, 1, 1, 2, 8, 9, 10, 3, 11])
    heads = st.sampled_from([0x80, 0x80, 0x80, 0x00, 0xC0, 0x90])
    return st.builds(build, opcodes, payload, heads, st.sampled_from([True, True, True, False]))


cuts = st.lists(st.integers(0, 10_000), max_size=8)


@given(st.lists(frames() | st.binary(max_size=30), max_size=8), cuts)
@example([Frame(Opcode.TEXT, b"\xff\xfe").serialize(mask=True)], [])
@example([b"\x01\x81\0\0\0\0\xc3", b"\x80\x81\0\0\0\0\x28"], [])  # split, and not UTF-8
@settings(max_examples=150)
def test_a_stream_of_anything(pieces: list[bytes], at: list[int]) -> None:
    asyncio.run(feed([HANDSHAKE, *cut(b"".join(pieces), at)]))


def heads() -> Iterator[bytes]:
    """Requests that are nearly right."""
    for target in (
        b"/v1/stream",
        b"/v1/audio/speech",
        b"/%ff",
        b"/\xff",
        b"*",
        b"http://[",
        b"//[/",
    ):
        for method in (b"GET", b"POST", b"OPTIONS", b"HEAD", b"CONNECT"):
            yield method + b" " + target + b" HTTP/1.1\r\n" + _HEADER
    yield b"GET / HTTP/1.1\r\n"
    yield b"GET / HTTP/1.0\r\n"
    yield b"GET / HTTP/9.9\r\n" + _HEADER
    yield b"POST /v1/audio/speech HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n" + _HEADER


fields = st.sampled_from(
    [
        b"Origin: http://[\r\n",
        b"Origin: \xff\r\n",
        b"Host: [\r\n",
        b"Authorization: Bearer \xff\r\n",
        b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
        b"Sec-WebSocket-Protocol: \xff, bearer.\xff\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 10\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b": \r\n",
    ]
)


@given(
    st.sampled_from(list(heads())) | st.binary(max_size=40),
    st.lists(fields, max_size=4),
    st.binary(max_size=60),
    cuts,
)
@settings(max_examples=150)
def test_a_request_of_anything(head: bytes, lines: list[bytes], body: bytes, at: list[int]) -> None:
    asyncio.run(feed(cut(head + b"".join(lines) + b"\r\n" + body, at)))
