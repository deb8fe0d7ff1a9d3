"""Every dialect that is served. A new one adds its line here."""

from __future__ import annotations

from gateway.dialects import Route, cartesia, native, openai

ROUTES: tuple[Route, ...] = (
    *cartesia.ROUTES,
    *native.ROUTES,
    *openai.ROUTES,
)
