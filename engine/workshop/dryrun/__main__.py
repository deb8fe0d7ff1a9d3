"""`python -m engine.workshop.dryrun`: status 0 as published and fits, 1 not, 2 cannot be done."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from engine.checkpoint.config_json import LanguageModelConfig
    from engine.codec.sizes import CodecConfig
    from engine.workshop.dryrun.memory import Load

app = typer.Typer(add_completion=False)


@app.command()
def main(
    config: Annotated[
        Path | None, typer.Option(help="A checkpoint's config.json; default: S2-Pro's.")
    ] = None,
    gpu: Annotated[str, typer.Option(help="The device to plan for.")] = "h200",
    streams: Annotated[int, typer.Option(help="Segments spoken at once.")] = 16,
    tokens_per_stream: Annotated[int, typer.Option(help="KV tokens a stream holds.")] = 4096,
    prefill_tokens: Annotated[int, typer.Option(help="Tokens of one prefill step.")] = 8192,
    materialise: Annotated[
        Path | None, typer.Option(help="Write random weights here, load them, speak a frame.")
    ] = None,
    limit_gib: Annotated[float, typer.Option(help="Most disk that may be used.")] = 24.0,
    keep: Annotated[bool, typer.Option(help="Leave the random weights there.")] = False,
) -> None:
    """Check the full layout and plan its memory, without any weights."""
    warnings.simplefilter("ignore")  # imports warn of accelerators that are not here
    from rich.console import Console

    from engine.checkpoint.config_json import parse_config
    from engine.codec.sizes import CodecConfig
    from engine.workshop.dryrun.memory import Load
    from engine.workshop.dryrun.published import s2_pro

    console = Console()
    try:
        known = s2_pro() if config is None else parse_config(config.read_bytes(), str(config))
        codec = CodecConfig() if config is None else CodecConfig.from_checkpoint(config.parent)
        load = Load(streams, tokens_per_stream, prefill_tokens)
        good = _layout(known, codec, console)
        good = _plan(known, codec, gpu, load, console) and good
        if materialise is not None:
            good = _materialise(known, materialise, int(limit_gib * 2**30), keep, console) and good
    except (ValueError, OSError) as error:
        print(f"cannot be done: {error}", file=sys.stderr)
        raise typer.Exit(2) from error
    raise typer.Exit(0 if good else 1)


def _layout(config: LanguageModelConfig, codec: CodecConfig, console: Console) -> bool:
    from rich.table import Table

    from engine.workshop.dryrun.layout import check_layout

    checks = check_layout(config, codec)
    table = Table("layout", "expected", "got", "", title="on the meta device")
    for check in checks:
        expected = f"{check.expected:,}" + ("" if check.most is None else f" to {check.most:,}")
        verdict = "[green]ok[/]" if check.passed else "[bold red]WRONG[/]"
        table.add_row(check.what, expected, f"{check.got:,}", verdict)
    console.print(table)
    return all(check.passed for check in checks)


def _plan(
    config: LanguageModelConfig, codec: CodecConfig, name: str, load: Load, console: Console
) -> bool:
    from rich.table import Table

    from engine.workshop.dryrun.gpus import find_gpu
    from engine.workshop.dryrun.memory import decode_floor, estimate, most_streams, usable_bytes

    gpu, streams = find_gpu(name), load.streams
    needs = estimate(config, codec, load)
    table = Table(
        "memory", "MB", title=f"{gpu.name}, {streams} streams of {load.tokens_per_stream} tokens"
    )
    for what, size in needs.fixed.items():
        table.add_row(what, f"{size / 1e6:,.1f}")
    for what, size in needs.per_stream.items():
        table.add_row(f"{what}, {streams} x {size / 1e6:,.2f}", f"{streams * size / 1e6:,.1f}")
    total, usable = needs.total(streams), usable_bytes(gpu)
    spare = (usable - total) // needs.kv_bytes_per_token
    table.add_section()
    table.add_row("all", f"{total / 1e6:,.1f}")
    table.add_row(f"usable of {gpu.memory_gib:g} GiB", f"{usable / 1e6:,.1f}")
    console.print(table)
    fits = total <= usable
    console.print(
        f"it fits; {spare:,} more tokens of KV for cached prefixes, "
        f"{most_streams(gpu, needs)} streams at most"
        if fits
        else f"[bold red]it does not fit[/]: {most_streams(gpu, needs)} streams at most"
    )
    floor = decode_floor(config, codec, gpu, needs, load)
    console.print(
        f"least time of a decode step by {gpu.bandwidth_gb_s:g} GB/s and {gpu.bf16_tflops:g} "
        f"TFLOPS (a bound, not a measurement): {floor.step_ms:.2f} ms for "
        f"{floor.read_bytes / 1e9:.2f} GB and {floor.flops / 1e9:.1f} GFLOP; a frame lasts "
        f"{floor.frame_ms:.1f} ms, so at best {floor.frames_per_s:,.0f} frames/s, "
        f"real-time factor {floor.real_time_factor:.3f}"
    )
    return fits


def _materialise(
    config: LanguageModelConfig, folder: Path, limit_bytes: int, keep: bool, console: Console
) -> bool:
    from rich.progress import Progress

    from engine.workshop.dryrun.frame import speak_frame
    from engine.workshop.dryrun.materialise import clean, materialise

    with Progress(console=console) as bars:
        bar = bars.add_task("materialising", total=None)

        def progress(what: str, done: int, total: int) -> None:
            bars.update(bar, description=what, completed=done, total=total)

        model = materialise(config, folder, limit_bytes, progress)
    start = time.perf_counter()
    frame = speak_frame(model.slow, model.fast, config)
    seconds = time.perf_counter() - start
    console.print(
        f"{model.stored_bytes:,} bytes written and read back, {model.mapped_bytes:,} bytes of "
        f"parameters on disk; a prompt and a frame in {seconds:.1f} s: token {frame.token_id}, "
        f"codes {frame.codes}"
    )
    if not keep:  # only now: a run that was interrupted goes on from what it left
        clean(folder)
    return frame.finite


if __name__ == "__main__":
    app()
