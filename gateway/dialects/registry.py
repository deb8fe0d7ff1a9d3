"""Every dialect that is served. A new one adds its line here."""

from __future__ import annotations

from gateway.dialects import Route, elevenlabs, native, openai

ROUTES: tuple[Route, ...] = (
    *native.ROUTES,
    *elevenlabs.ROUTES,  # before whoever answers everybody at a path of its
    *openai.ROUTES,
)
