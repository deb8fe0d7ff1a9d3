"""uvicorn's protocols over a transport whose reading side the test plays: no socket, no waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.server import ServerState

HIGH_WATER_BYTES, LOW_WATER_BYTES = 65_536, 16_384


class Wire(asyncio.Transport):
    """What asyncio's transports do: a buffer with marks, and a peer that takes bytes when told."""

    def __init__(self) -> None:
        super().__init__()
        self.protocol: Any = None
        self.unsent = bytearray()
        self.sent = bytearray()
        self.aborted = False
        self._paused = self._closing = False

    def write(self, data: Any) -> None:
        if self.aborted:  # as asyncio's own: what comes too late is dropped without a word
            return
        self.unsent += data
        if len(self.unsent) > HIGH_WATER_BYTES and not self._paused:
            self._paused = True
            self.protocol.pause_writing()

    def peer_takes(self, size: int | None = None) -> None:
        """The other end reads so many bytes, or all of them."""
        taken = len(self.unsent) if size is None else size
        self.sent += self.unsent[:taken]
        del self.unsent[:taken]
        if self._paused and len(self.unsent) <= LOW_WATER_BYTES:
            self._paused = False
            self.protocol.resume_writing()
        if self._closing and not self.unsent:
            self._lose()

    @property
    def full(self) -> bool:
        """The protocol was told to pause."""
        return self._paused

    def get_write_buffer_size(self) -> int:
        return len(self.unsent)

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            if not self.unsent:
                self._lose()

    def write_eof(self) -> None:
        """The half of the connection that we write ends."""

    def abort(self) -> None:
        self.aborted = self._closing = True
        self.unsent.clear()
        self._lose()

    def _lose(self) -> None:
        protocol, self.protocol = self.protocol, None
        if protocol is not None:
            asyncio.get_running_loop().call_soon(protocol.connection_lost, None)

    def get_protocol(self) -> Any:
        return self.protocol

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def pause_reading(self) -> None:
        """Nothing is read but what the test gives."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""


def connected(kind: Callable[..., Any], app: Callable[..., Any], **settings: Any) -> Wire:
    """A wire whose near end is a protocol of this class, with `app` behind it."""
    config = uvicorn.Config(app, log_config=None, access_log=False, **settings)
    config.load()
    wire = Wire()
    wire.protocol = kind(config, ServerState(), {}, asyncio.get_running_loop())
    wire.protocol.connection_made(wire)
    return wire
