"""Health and metrics."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.server.metrics import Metrics
from gateway.server.service import Service


class Pages:
    """The small endpoints of an operator."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def healthz(self, request: Request) -> Response:
        """`GET /healthz`: this process lives."""
        return JSONResponse({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """`GET /readyz`: the engine can speak now."""
        stats = await self._service.stats()
        body: dict[str, object] = {"status": self._service.stage.value}
        if stats is None:
            if body["status"] == "ready":
                body["status"] = "engine does not answer"
            return JSONResponse(body, 503, {"Retry-After": "1"})
        return JSONResponse({**body, "running": stats.running, "free_slots": stats.free_slots})

    async def metrics(self, request: Request) -> Response:
        """`GET /metrics`, for Prometheus."""
        body = self._service.metrics.render(await self._service.stats())
        return Response(body, media_type=Metrics.content_type)
