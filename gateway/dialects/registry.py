"""Every dialect that is served. A new one adds its line here."""

from __future__ import annotations

from gateway.dialects import Route, deepgram, fish, native, openai

ROUTES: tuple[Route, ...] = (
    *native.ROUTES,
    *openai.ROUTES,
    *deepgram.ROUTES,
    *fish.ROUTES,
)
