"""Refuses what a web page has a browser send, unless the page and the name it used are ours.

Two lines of defence, because a browser sends requests for any page its user visits. A page of
another host is told apart by its Origin. A page whose own name was made to lead here (DNS
rebinding) has the right Origin for its Host; but that Host is a name this gateway does not have.

What a page that may come asks its browser for is allowed, whatever it is (CORS): headers and
methods are the clients' business.
"""

from __future__ import annotations

import logging

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from gateway.config import Config
from gateway.errors import ForbiddenError
from gateway.server.auth import host_allowed, origin_allowed
from gateway.server.metrics import Metrics

log = logging.getLogger(__name__)

# Probes and scrapers come by any name, and find nothing there that is a user's.
_OPEN_PATHS = ("/healthz", "/readyz", "/metrics")
_MAX_WARNED = 100  # a page can invent names; the log cannot hold them all
_SHOWN_CHARS = 200


class Guard:
    """An ASGI application in front of another one."""

    def __init__(self, app: ASGIApp, config: Config, metrics: Metrics) -> None:
        self._app = app
        self._for_pages = CORSMiddleware(
            app,
            allow_origin_regex=".*",  # those that come so far
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["*"],
            allow_private_network=True,
        )
        self._config = config
        self._metrics = metrics
        self._warned: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope["path"] in _OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        try:
            self._check(Headers(scope=scope))
        except ForbiddenError as error:
            await self._refuse(error, scope, receive, send)
            return
        await self._for_pages(scope, receive, send)

    def _check(self, headers: Headers) -> None:
        """Raises ForbiddenError that says how to allow it."""
        host, origin = headers.get("host"), headers.get("origin")
        if not host_allowed(host, self._config.host_names):
            raise ForbiddenError(
                f"Host: expected an address or a name of this gateway, got {_shown(host)}; "
                "to serve under another name, give it with --allowed-hosts "
                "(VOICE_GATEWAY_ALLOWED_HOSTS)"
            )
        if not origin_allowed(origin, host, self._config.allowed_origins):
            raise ForbiddenError(
                f"Origin: expected a page of this host, got {_shown(origin)}; "
                "to serve pages of other hosts, give their origins with --allowed-origins "
                "(VOICE_GATEWAY_ALLOWED_ORIGINS)"
            )

    async def _refuse(
        self, error: ForbiddenError, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._metrics.refused_total.labels(error.code).inc()
        text = str(error)
        if text not in self._warned and len(self._warned) < _MAX_WARNED:
            self._warned.add(text)
            log.warning("refused (told once for each): %s", text)
        response = PlainTextResponse(text, error.http_status)
        if scope["type"] == "websocket":
            await WebSocket(scope, receive, send).send_denial_response(response)
        else:
            await response(scope, receive, send)


def _shown(value: str | None) -> str:
    return repr(value[:_SHOWN_CHARS]) if value is not None else "none"
