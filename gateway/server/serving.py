"""Runs the application on a socket, with uvicorn, inside a loop that someone else owns."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import uvicorn

from engine.api import SpeechEngine
from gateway.config import Config
from gateway.server.app import build_reader, create_app
from gateway.server.connection.transport import StreamProtocol, listen, request_protocol
from gateway.server.service import Service

# Messages somewhat over the limit get an error that says so; far larger ones only a close code.
_HARD_SIZE_FACTOR = 4
_TICK_S = 0.1  # what uvicorn's own loop takes; every tenth tick renews the Date header


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway that listens; its engine may still be loading (`service.started()`)."""

    host: str
    port: int
    service: Service

    @property
    def url(self) -> str:
        """Address of the page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        reachable = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
        return f"http://{reachable}:{self.port}/"

    @property
    def stream_url(self) -> str:
        """Address for clients of the native protocol."""
        return self.url.replace("http://", "ws://").rstrip("/")


class _Server(uvicorn.Server):
    """Says when it listens, and leaves signals to whoever runs the loop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End `serve`, without waiting for its next look at `should_exit`."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _TICK_S)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def running(config: Config, engine: SpeechEngine) -> AsyncIterator[RunningGateway]:
    """Listen for as long as the block lasts; then close everything, the engine last.

    Raises OSError when the address cannot be had.
    """
    service = Service(config, engine, build_reader())
    server = _Server(_uvicorn_config(config, service))
    listener = listen(config.host, config.port, config.slow_client_timeout_ms)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        listening = asyncio.create_task(server.listening.wait())
        await asyncio.wait((listening, serving), return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if not server.started:
            raise RuntimeError("expected the server to start, got an early end; see the log")
        yield RunningGateway(config.host, listener.getsockname()[1], service)
    finally:
        server.stop()
        try:
            await asyncio.shield(serving)
        finally:
            listener.close()
            await service.close()


def _uvicorn_config(config: Config, service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(service),
        loop="none",
        http=request_protocol(
            config.request_timeout_ms,
            config.slow_client_timeout_ms,
            service.metrics.slow_clients_total.inc,
        ),
        ws=StreamProtocol,
        ws_max_size=_HARD_SIZE_FACTOR * config.max_message_bytes,
        ws_ping_interval=config.ping_interval_ms / 1000,
        ws_ping_timeout=config.ping_interval_ms / 1000,
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(config.shutdown_timeout_ms / 1000),
    )
