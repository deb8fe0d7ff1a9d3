"""The joint itself: a protocol that nobody has heard of plugs in, and the server knows none."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from engine.fake import FakeEngine
from gateway.dialects import Close, Frame, LookupRoute, Opening, Route, SocketRoute
from gateway.dialects.registry import ROUTES
from gateway.errors import GatewayError, InvalidMessageError
from gateway.server import app
from gateway.types import (
    Audio,
    AudioFormat,
    Codec,
    Command,
    Configure,
    Container,
    Done,
    End,
    Event,
    Failed,
    FileFormat,
    SettingsPatch,
    Text,
)
from tests.gateway.shell import gateway

ROOT = Path(__file__).parents[3]


class Shouted:
    """A made-up protocol: each text message is one utterance, answered by MP3 and a full stop."""

    file = FileFormat(Container.MP3)

    def __init__(self, opening: Opening) -> None:
        self._voice = opening.voices.resolve(opening.path["voice"])
        self._said = 0

    def decode(self, raw: str | bytes) -> Sequence[Command | Frame]:
        if isinstance(raw, bytes):
            raise InvalidMessageError("expected a text, got bytes")
        if raw == "bye":
            return "bye!", Close(1000, "as you like")
        self._said += 1
        name = f"u{self._said}"
        patch = SettingsPatch(voice=self._voice, format=AudioFormat(Codec.PCM_S16LE, 24_000))
        return f"hm, {raw}", Configure(name, patch), Text(name, raw), End(name)

    def encode(self, event: Event) -> Sequence[Frame]:
        match event:
            case Audio():
                return (event.payload,)
            case Done():
                return (".",)
            case Failed():
                return (f"! {event.code}",)
        return ()

    def closing(self, error: GatewayError) -> Close:
        return Close(4999, error.code)


ROUTE = SocketRoute(
    "shouted",
    "/shout/{voice}",
    Shouted,
    key_headers=("x-shout",),
    limits=lambda opening: dataclasses.replace(opening.limits, max_contexts=1),
)


@pytest.fixture
def shouting(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of registration."""
    monkeypatch.setattr(app, "ROUTES", (*ROUTES, ROUTE))


@pytest.mark.usefixtures("shouting")
async def test_a_new_protocol_needs_a_class_and_a_line() -> None:
    engine = FakeEngine()
    async with gateway(engine) as served, connect(f"{served.stream_url}/shout/Default") as ws:
        await ws.send("Hello there.")
        assert await ws.recv() == "hm, Hello there."
        pieces = []
        while (message := await ws.recv()) != ".":
            pieces.append(message)
        assert all(isinstance(piece, bytes) for piece in pieces) and len(b"".join(pieces)) > 500
        await ws.send(b"\0")
        assert await ws.recv() == "! invalid_message"
        await ws.send("bye")
        assert await ws.recv() == "bye!"
        with pytest.raises(ConnectionClosed) as closed:
            await ws.recv()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1000, "as you like")
    assert engine.requests[0].voice == "default"


@pytest.mark.usefixtures("shouting")
async def test_it_closes_in_its_own_way_and_takes_its_own_header() -> None:
    async with gateway(api_keys="loud") as served:
        url = f"{served.stream_url}/shout/x"
        async with connect(url) as stranger:
            assert await stranger.recv() == "! unauthorized"
            with pytest.raises(ConnectionClosed) as closed:
                await stranger.recv()
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 4999
        async with connect(url, additional_headers={"X-Shout": "loud"}) as friend:
            await friend.send("bye")
            assert await friend.recv() == "bye!"


@pytest.mark.usefixtures("shouting")
async def test_its_messages_stop_at_the_first_command_that_is_refused() -> None:
    engine = FakeEngine()
    async with gateway(engine, max_context_chars=3) as served:
        async with connect(f"{served.stream_url}/shout/x") as ws:
            await ws.send("Hello.")
            assert await ws.recv() == "hm, Hello."
            assert await ws.recv() == "! invalid_text"
    assert engine.requests == []


def test_routes_do_not_collide() -> None:
    """Only lookups may share a path, and then all but the last say which requests are theirs."""
    places: dict[tuple[str, str], list[Route]] = {}
    for route in ROUTES:
        assert route.path.startswith("/")
        kind = getattr(route, "method", type(route).__name__)
        places.setdefault((kind, route.path), []).append(route)
    everybody = LookupRoute.__dataclass_fields__["claims"].default
    for sharing in places.values():
        for route in sharing[:-1]:
            assert isinstance(route, LookupRoute) and route.claims is not everybody, route.path


def test_the_server_names_no_dialect() -> None:
    dialects = {
        path.stem if path.is_file() else path.name
        for path in (ROOT / "gateway" / "dialects").iterdir()
        if not path.name.startswith("_")
    } - {"explain", "registry"}
    assert "native" in dialects and "openai" in dialects
    for path in (ROOT / "gateway" / "server").rglob("*.py"):
        lines = [line for line in path.read_text().splitlines() if "import" in line]
        named = [line for line in lines if any(f"dialects.{name}" in line for name in dialects)]
        assert not named, f"{path.name}: {named}"
