"""`python -m engine.workshop.fidelity CHECKPOINT [...]`: exit status 0 passed, 1 failed."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def main(
    checkpoint: Annotated[Path, typer.Argument(help="Directory in the S2-Pro layout.")],
    against: Annotated[
        Path | None, typer.Option(help="What it must equal; default: itself, in float32.")
    ] = None,
    golden: Annotated[
        Path | None, typer.Option(help="Folder of the reference implementation's vectors.")
    ] = None,
    dtype: Annotated[
        str, typer.Option(help="What it is served in: bfloat16 or float32.")
    ] = "bfloat16",
    device: Annotated[str, typer.Option(help="torch device, cpu or cuda.")] = "cpu",
    frames: Annotated[int, typer.Option(help="Frames of each saying.")] = 128,
    strings: Annotated[int, typer.Option(help="Fuzzed strings for the tokenizer.")] = 4000,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the report here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a plot here (.svg, .png, .pdf).")] = None,
) -> None:
    """Judge a checkpoint by marks that were fixed beforehand (fidelity/marks.py)."""
    warnings.simplefilter("ignore")  # imports warn of accelerators that are not here
    from rich.console import Console

    from engine.errors import CheckpointError
    from engine.workshop.fidelity.gate import GateOptions, run_gate
    from engine.workshop.fidelity.report import plot_report, print_report

    console = Console()
    try:
        options = GateOptions(checkpoint, against, golden, dtype, device, frames, strings)
        with console.status("opening the checkpoint") as status:
            report = run_gate(options, lambda text: status.update(text))
    except (CheckpointError, ValueError) as error:
        print(f"cannot be judged: {error}", file=sys.stderr)
        raise typer.Exit(2) from error
    print_report(report, console)
    if json_file is not None:
        json_file.write_text(json.dumps(report.to_json(), indent=2), "utf-8")
    if plot is not None:
        plot_report(report, plot)
    raise typer.Exit(0 if report.passed else 1)


if __name__ == "__main__":
    app()
