"""Runs a coroutine as a whole command: uvloop, and Ctrl-C as an orderly end.

What only some commands need is imported when they need it: `say --url` waits for no server code.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import uvloop
from rich.logging import RichHandler

from gateway.cli import display
from gateway.config import Config, ConfigError, load_config

if TYPE_CHECKING:
    from gateway.server.serving import RunningGateway


def configured(**flags: Any) -> Config:
    """The configuration, or the end of the command with one line per mistake."""
    try:
        return load_config(**flags)
    except ConfigError as error:
        raise display.CommandError(str(error), status=2) from None


def set_up_logging(level: str) -> None:
    """Warnings of everyone, and what the gateway has to say at `level`."""
    handler = RichHandler(console=display.err, show_path=False, rich_tracebacks=False)
    logging.basicConfig(level="WARNING", format="%(message)s", handlers=[handler], force=True)
    logging.getLogger("gateway").setLevel(level.upper())


def run(main: Coroutine[Any, Any, None], stopped_status: int) -> None:
    """Run to the end. SIGINT and SIGTERM cancel it, so that every `finally` is reached."""
    stopped = False

    async def guarded() -> None:
        task = asyncio.ensure_future(main)

        def stop() -> None:
            nonlocal stopped
            if not stopped:  # a second cancellation would cut the clean-up itself short
                stopped = True
                display.err.print("stopping")
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        try:
            await task
        except asyncio.CancelledError:
            if not stopped:
                raise

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(guarded())
    if stopped:
        raise SystemExit(stopped_status)


@contextlib.asynccontextmanager
async def gateway_of(config: Config) -> AsyncIterator[RunningGateway]:
    """A gateway whose engine can speak, with progress shown until then; ends the command if not."""
    stop_showing = contextlib.ExitStack()
    with stop_showing:
        stage = stop_showing.enter_context(display.stages("starting"))
        async with contextlib.AsyncExitStack() as stack:
            gateway = await _started(config, stage, stack)
            stop_showing.close()
            yield gateway


async def _started(
    config: Config, stage: Callable[[str], None], stack: contextlib.AsyncExitStack
) -> RunningGateway:
    from engine.api import EngineError
    from gateway.server.app import build_engine
    from gateway.server.serving import running

    try:
        engine = build_engine(config, stage)
    except (ConfigError, ValueError) as error:
        raise display.CommandError(str(error), status=2) from None
    try:
        gateway = await stack.enter_async_context(running(config, engine))
    except OSError as error:
        reason = error.strerror or str(error)
        raise display.CommandError(
            f"{config.host}:{config.port}: expected a free address, got {reason!r}; "
            "stop what listens there, or give another one with --port"
        ) from None
    try:
        await gateway.service.started()
    except EngineError as error:
        raise display.CommandError(f"the engine did not start: {error}") from None
    return gateway
