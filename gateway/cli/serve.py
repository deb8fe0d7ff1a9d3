"""`voice-gateway serve`."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING

from gateway.cli import display
from gateway.cli.runtime import gateway_of
from gateway.config import Config

if TYPE_CHECKING:
    from gateway.server.serving import RunningGateway


async def serve(config: Config) -> None:
    """Serve until cancelled."""
    began = time.monotonic()
    async with gateway_of(config) as gateway:
        _announce(config, gateway, time.monotonic() - began)
        # What is loaded by now stays: a full collection would look at all of it every time, and
        # hold up every session for tens of milliseconds.
        gc.collect()
        gc.freeze()
        await asyncio.Event().wait()


def _announce(config: Config, gateway: RunningGateway, seconds: float) -> None:
    info = gateway.service.info
    display.out.print(
        f"[bold green]ready[/] in {seconds:.1f} s: {info.checkpoint}, "
        f"voices {', '.join(info.voices)}, {info.max_streams} streams"
    )
    display.out.print(f"  page  [link]{gateway.url}[/link]")
    display.out.print(
        f'  try   {display.command_name()} say "Hello there." --url {gateway.stream_url} '
        "-o hello.wav",
        soft_wrap=True,
    )
    if config.is_public and not config.api_keys:
        display.err.print(
            f"[yellow]warning[/] {config.host} can be reached by others, and no API key is set "
            "(VOICE_GATEWAY_API_KEYS)"
        )
