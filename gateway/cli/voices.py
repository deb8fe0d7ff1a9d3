"""`voice-gateway voices`: one name a line, for people and for scripts."""

from __future__ import annotations

from clients.python import connect
from gateway.cli import display
from gateway.cli.asking import errors_shown


async def voices(url: str, api_key: str | None) -> None:
    """Print the names that `say --voice` takes, the default one first."""
    with errors_shown(url):
        async with connect(url, api_key=api_key) as client:
            for name in client.voices:
                display.out.print(name, markup=False, soft_wrap=True)
