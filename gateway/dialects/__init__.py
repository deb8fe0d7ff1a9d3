"""The joint where a wire protocol plugs in.

A dialect is an object per connection that translates and decides nothing: `decode` turns what the
peer sends into commands of the session, `encode` turns the session's events into what the peer
gets. It may keep state (the peer's ids, settings that came early); it owns no socket, task or
clock, makes no sound and knows no other dialect. Scheduling, audio and timing are everybody's.

To add one: a module or folder here whose `ROUTES` says where it is reached, and one line in
`registry.py`. The server opens the routes and names none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gateway.errors import GatewayError
from gateway.types import Command, EngineFacts, Event, FileFormat, Limits, VoiceNames


@dataclass(frozen=True, slots=True)
class Opening:
    """What a request or handshake says, and what a dialect may have to know of this gateway.

    `path`: parameters of the route; `headers`: names in lower case. Until the engine is ready,
    `facts` and `voices` are empty, and opening a session is refused.
    """

    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    subprotocols: tuple[str, ...]
    facts: EngineFacts
    limits: Limits
    voices: VoiceNames


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection once everything before it has left; an HTTP response: it is whole."""

    code: int = 1000
    reason: str = ""


Frame = str | bytes | Close


class Dialect(Protocol):
    """One connection's translator."""

    @property
    def file(self) -> FileFormat:
        """What the packets of a context that starts now are packed into, before `encode`."""
        ...

    def decode(self, raw: str | bytes) -> Sequence[Command | Frame]:
        """One message of the peer: commands, several or none, obeyed until one is refused.

        Frames among them are answers that need no session; they leave first. Raises ClientError,
        which `encode` is given as a `Failed`.
        """
        ...

    def encode(self, event: Event) -> Sequence[Frame]:
        """What the peer is sent for an event, if anything. `Hello` is always the first."""
        ...

    def closing(self, error: GatewayError) -> Close:
        """How a connection ends that cannot go on."""
        ...


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole HTTP response."""

    status: int
    body: bytes
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


class HttpDialect(Dialect, Protocol):
    """One request's translator: `decode` gets the body, `encode` gives pieces of the response.

    `Close` says that the response is whole. A failure after the first piece cuts the connection,
    because half a file must not pass for a whole one, unless `encode` has frames for it.
    """

    @property
    def media_type(self) -> str:
        """Of the response; known once `decode` has returned."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Further headers of the response."""
        ...

    def refusal(self, error: GatewayError) -> HttpAnswer:
        """The response of a request that failed before it made a sound."""
        ...


@dataclass(frozen=True, slots=True)
class SocketRoute:
    """Where a dialect's WebSockets connect.

    `key_headers`, `key_queries`: where, beside `Authorization`, its clients put their key;
    `key_in_message`: finds it in the first message of those that put it there.
    `resumable`: its clients count messages and may come back (see PROTOCOL.md).
    `independent_contexts`: they are spoken beside one another, and none waits for another.
    `refusal`: for those whose handshake is refused by an HTTP status; with it `open` may raise
    GatewayError, and a wrong key or no room is told in the same way. Others are told on the socket.
    """

    name: str
    path: str
    open: Callable[[Opening], Dialect]
    subprotocol: str | None = None
    resumable: bool = False
    key_headers: tuple[str, ...] = ()
    key_queries: tuple[str, ...] = ()
    key_in_message: Callable[[str | bytes], str | None] | None = None
    independent_contexts: bool = False
    limits: Callable[[Opening], Limits] = lambda opening: opening.limits
    refusal: Callable[[GatewayError], HttpAnswer] | None = None


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """Where a dialect's requests for speech arrive."""

    name: str
    path: str
    open: Callable[[Opening], HttpDialect]
    method: str = "POST"
    key_headers: tuple[str, ...] = ()
    key_queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LookupRoute:
    """A question that needs no session: lists of voices and models.

    `claims`: whether a request is one of this dialect's, where several answer at the same path;
    the first route that claims it does, so the one that takes all comes last.
    """

    path: str
    answer: Callable[[Opening], HttpAnswer]
    refusal: Callable[[GatewayError], HttpAnswer]
    key_headers: tuple[str, ...] = ()
    key_queries: tuple[str, ...] = ()
    claims: Callable[[Opening], bool] = lambda opening: True


Route = SocketRoute | HttpRoute | LookupRoute
