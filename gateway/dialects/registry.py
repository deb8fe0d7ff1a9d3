"""Every dialect that is served: a new one adds its line here."""

from __future__ import annotations

from importlib import import_module

from gateway.dialects import Route

# Modules or folders beside this one. Where several answer at one path, the first that claims a
# request gets it: whoever answers everybody comes last.
DIALECTS = (
    "cartesia",
    "native",
    "elevenlabs",
    "openai",
    "deepgram",
    "fish",
    "omni",
)

ROUTES: tuple[Route, ...] = tuple(
    route for name in DIALECTS for route in import_module(f"gateway.dialects.{name}").ROUTES
)
