"""Puts the process together: the engine that the configuration names, and the routes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from engine.api import SpeechEngine
from gateway.config import Config
from gateway.dialects import HttpRoute, LookupRoute, SocketRoute
from gateway.dialects import Route as DialectRoute
from gateway.dialects.registry import ROUTES
from gateway.server.connection.http import PathEndpoint
from gateway.server.connection.stream import serve_stream
from gateway.server.guard import Guard
from gateway.server.pages import Pages
from gateway.server.service import Service
from gateway.types import Read

Progress = Callable[[str], None]

# The page loads nothing from elsewhere; `ws:` is for browsers whose 'self' leaves WebSockets out.
_PAGE_HEADERS = (
    (b"content-security-policy", b"default-src 'self'; connect-src 'self' ws: wss:"),
    (b"cache-control", b"no-cache"),
    (b"x-content-type-options", b"nosniff"),
)


def build_engine(config: Config, progress: Progress = lambda stage: None) -> SpeechEngine:
    """The only place that picks an implementation. `progress` is told each stage of its start."""
    if config.engine == "fake":
        from engine.fake import FakeEngine

        return FakeEngine()
    from engine.link.client import WorkerEngine
    from engine.worker_config import EngineConfig

    settings: dict[str, Any] = {
        "checkpoint": config.checkpoint,
        "voices": config.voices,
        "max_streams": config.max_streams,
        "foreign_text": config.foreign_text,
        "guarded": config.guard == "on",
    }
    given = {name: value for name, value in settings.items() if value is not None}
    return WorkerEngine(EngineConfig(**given), progress)


def build_reader() -> Read:
    """What the setting `normalize` is done with."""
    from engine.reading import read

    read("Rules are compiled now, and not while the first sentence waits.")
    return lambda text, language, kept: read(text, language, kept).words


def create_app(service: Service) -> Starlette:
    """The ASGI application. Its lifespan starts the engine and ends it."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.start()
        try:
            yield
        finally:
            await service.close()

    pages = Pages(service)
    guard = Middleware(Guard, config=service.config, metrics=service.metrics)
    return Starlette(
        routes=[
            *_served(ROUTES, service),
            Route("/healthz", pages.healthz),
            Route("/readyz", pages.readyz),
            Route("/metrics", pages.metrics),
            Mount("/", PageFiles()),
        ],
        middleware=[guard],
        lifespan=lifespan,
    )


def _served(routes: Sequence[DialectRoute], service: Service) -> Iterator[BaseRoute]:
    """The dialects' routes, opened, with and without a slash at the end."""
    by_path: dict[str, list[HttpRoute | LookupRoute]] = {}
    for route in routes:
        if isinstance(route, SocketRoute):
            for path in (route.path, f"{route.path}/"):
                yield WebSocketRoute(path, _stream(route, service))
        else:
            by_path.setdefault(route.path, []).append(route)
    for path, sharing in by_path.items():
        endpoint = PathEndpoint(service, sharing)
        yield Route(path, endpoint)
        yield Route(f"{path}/", endpoint)


def _stream(route: SocketRoute, service: Service) -> Callable[[WebSocket], Awaitable[None]]:
    async def stream(websocket: WebSocket) -> None:
        await serve_stream(websocket, service, route)

    return stream


class PageFiles:
    """The browser client's files, from the installed package."""

    def __init__(self) -> None:
        folder = str(resources.files("clients") / "browser")
        self._files: ASGIApp = StaticFiles(directory=folder, html=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # a WebSocket to an unknown path: refused, not a defect
            await WebSocket(scope, receive, send).close()
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_PAGE_HEADERS]
            await send(message)

        await self._files(scope, receive, send_with_headers)
