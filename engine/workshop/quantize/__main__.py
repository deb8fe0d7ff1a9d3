"""`python -m engine.workshop.quantize SRC DST --scheme int8|fp8 [--keep-attention last:12]`.

Exit status: 0 written (or only reported), 1 the gate said no, 2 cannot be done.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from engine.models.linear import Scheme
    from engine.workshop.fidelity.gate import GateOptions
    from engine.workshop.quantize.plan import Plan

app = typer.Typer(add_completion=False)
_LAYERS = "Layers kept as they are: last:N, first:N, all, none or a list (0,3,30-35)."
Layers = Annotated[str, typer.Option(help=_LAYERS)]


@app.command()
def main(
    source: Annotated[Path, typer.Argument(help="Checkpoint in full precision.")],
    target: Annotated[Path | None, typer.Argument(help="New directory; not with --report.")] = None,
    scheme: Annotated[str, typer.Option(help="int8 or fp8 (e4m3), scales by channel.")] = "int8",
    keep_attention: Layers = "none",
    keep_feed_forward: Layers = "none",
    keep_fast_attention: Layers = "none",
    keep_fast_feed_forward: Layers = "none",
    report: Annotated[bool, typer.Option(help="Only say which layers suffer most.")] = False,
    force: Annotated[bool, typer.Option(help="Write it even if the gate says no.")] = False,
    golden: Annotated[
        Path | None, typer.Option(help="The source's golden vectors, for the gate.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="What it will be served in.")] = "bfloat16",
    device: Annotated[str, typer.Option(help="torch device of gate and report.")] = "cpu",
    frames: Annotated[int, typer.Option(help="Frames of each saying in the gate.")] = 128,
) -> None:
    """Make a checkpoint with 8-bit weights, judged by the fidelity gate before it is kept."""
    warnings.simplefilter("ignore")  # imports warn of accelerators that are not here
    from rich.console import Console

    from engine.checkpoint.folder import Checkpoint
    from engine.workshop.fidelity.gate import GateOptions
    from engine.workshop.quantize.plan import Plan, parse_layers

    console = Console()
    try:
        if scheme not in ("int8", "fp8"):
            raise ValueError(f"scheme: expected int8 or fp8, got {scheme!r}")
        if (target is None) != report:
            raise ValueError("expected either a target directory or --report")
        config = Checkpoint.open(source).config
        slow, fast = config.text_config.n_layer, config.audio_decoder_config.n_layer
        plan = Plan(
            cast("Scheme", scheme),
            parse_layers(keep_attention, slow),
            parse_layers(keep_feed_forward, slow),
            parse_layers(keep_fast_attention, fast),
            parse_layers(keep_fast_feed_forward, fast),
        )
        options = GateOptions(source, source, golden, dtype, device, frames)
        status = (
            _report(source, options, plan.scheme, console)
            if target is None
            else _make(source, target, plan, options, force, console)
        )
    except (ValueError, OSError) as error:
        print(f"cannot be quantised: {error}", file=sys.stderr)
        raise typer.Exit(2) from error
    raise typer.Exit(status)


def _make(
    source: Path, target: Path, plan: Plan, options: GateOptions, force: bool, console: Console
) -> int:
    from rich.progress import Progress

    from engine.workshop.fidelity.report import print_report
    from engine.workshop.quantize.accept import make

    with Progress(console=console) as bars:
        bar = bars.add_task("quantising", total=None)

        def converting(shard: str, done: int, total: int) -> None:
            bars.update(bar, description=shard, completed=done, total=total)

        outcome = make(
            source,
            target,
            plan,
            options,
            force=force,
            converting=converting,
            judging=lambda text: bars.update(bar, description=text, total=None),
        )
    print_report(outcome.report, console)
    if not outcome.written:
        console.print(
            f"the gate said no: {target} was not written (--force writes it all the same)"
        )
        return 1
    if not outcome.report.passed:
        console.print(f"[bold red]the gate said no[/]; {target} was written and marked as failed")
    else:
        console.print(f"{target} was written")
    return 0


def _report(source: Path, options: GateOptions, scheme: Scheme, console: Console) -> int:
    from rich.table import Table

    from engine.workshop.quantize.sensitivity import as_flags, pieces_to_keep, report_pieces

    with console.status("loading") as status:
        pieces = report_pieces(source, options, scheme, lambda text: status.update(text))
    kept, rest = pieces_to_keep(pieces)
    title = f"{source.name}: each piece in {scheme} alone, the rest in float32"
    table = Table("piece", "divergence (nats)", "hidden cosine", "saves (MB)", "keep", title=title)
    for piece in sorted(pieces, key=lambda p: -p.divergence_nats):
        table.add_row(
            f"{piece.part} {piece.layer} {piece.kind}",
            f"{piece.divergence_nats:.2e}",
            f"1 - {1 - piece.hidden_cosine:.1e}",
            f"{piece.saved_bytes / 1e6:.2f}",
            "keep" if piece in kept else "",
        )
    console.print(table)
    flags = as_flags(kept) or "nothing needs to be kept"
    console.print(f"divergence of what is not kept: {rest:.2e} nats; keep: {flags}", markup=False)
    return 0


if __name__ == "__main__":
    app()
