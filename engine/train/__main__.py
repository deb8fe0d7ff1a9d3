"""`python -m engine.train voice --work DIR`: make the built-in voice, or one stage of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def main() -> None:
    """Training programs for checkpoints in the S2-Pro layout."""


@app.command()
def voice(
    work: Annotated[
        Path, typer.Option(help="Folder for corpus, states and the exported checkpoint.")
    ],
    config: Annotated[
        Path | None, typer.Option(help="TOML file; default: the built-in voice's.")
    ] = None,
    stage: Annotated[list[str] | None, typer.Option(help="Only these stages, in order.")] = None,
    threads: Annotated[int, typer.Option(help="Threads of the arithmetic.")] = os.cpu_count() or 1,
) -> None:
    """Make the built-in voice: corpus, codes, encode, wave, ar, export. Every stage resumes."""
    import torch

    from engine.train.config import VoiceConfig
    from engine.train.voice import VoiceProject

    torch.set_num_threads(threads)
    stages = VoiceProject(work, VoiceConfig.load(config)).stages()
    unknown = [name for name in stage or [] if name not in stages]
    if unknown:
        raise typer.BadParameter(
            f"expected stages among {', '.join(stages)}, got {', '.join(unknown)}"
        )
    for name in stage or stages:
        print(f"stage {name}", flush=True)
        stages[name]()


if __name__ == "__main__":
    app()
