"""What the command shows while it works: a stage and seconds on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

# Results go to standard output, everything about the way there to standard error.
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

DEFAULT_URL = "ws://127.0.0.1:8080"  # what `serve` listens on where nothing else is said

# What a script can tell from the exit status; 0 is success, 130 that it was stopped by Ctrl-C.
FAILED, WRONG_USE, NO_GATEWAY, NO_SOUND = 1, 2, 3, 4
EXIT_CODES = (
    "Exit status: 0 done; 1 refused or failed; 2 a wrong flag, file or address; 3 no gateway there,"
    " or the connection was lost; 4 there was nothing to say; 130 stopped by Ctrl-C."
)


def command_name() -> str:
    """How this user calls the command: `uv run` puts it on no path."""
    return "uv run voice-gateway" if "UV_RUN_RECURSION_DEPTH" in os.environ else "voice-gateway"


class CommandError(Exception):
    """The command cannot go on; its message is for the person who typed it."""

    def __init__(self, message: str, status: int = FAILED) -> None:
        super().__init__(message)
        self.status = status


def show_error(error: CommandError) -> None:
    """Print it, without a traceback."""
    err.print("[bold red]error[/]", end=" ")
    err.print(str(error), markup=False, soft_wrap=True)


@contextlib.contextmanager
def stages(first: str) -> Iterator[Callable[[str], None]]:
    """Show the stage of something slow; the yielded function names the next one."""
    if not err.is_terminal:
        began = time.monotonic()

        def line(stage: str) -> None:
            err.print(f"{time.monotonic() - began:6.1f} s  {stage}", markup=False)

        line(first)
        yield line
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(first, total=None)
        yield lambda stage: progress.update(task, description=stage)
