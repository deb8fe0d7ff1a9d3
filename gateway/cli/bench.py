"""`voice-gateway bench`: the figures of `clients.cli.bench` as a table, and as JSON."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Table

from clients.cli import bench as client
from gateway.cli import display
from gateway.cli.asking import errors_shown


async def bench(url: str, load: client.Load, api_key: str | None) -> None:
    """Run it and report. Ends the command with an error when a turn failed."""
    display.err.print(
        f"{load.conversations} conversations of {load.turns} turns with {url}",
        markup=False,
        soft_wrap=True,
    )
    with errors_shown(url):
        report = await client.run(url, load, api_key)
    _show(report)
    # One line however narrow the terminal is, and the last one.
    print(json.dumps(report), flush=True)
    if report["errors"]:
        failed = ", ".join(f"{count} {code}" for code, count in report["errors"].items())
        raise display.CommandError(f"of {report['turns']} turns, some failed: {failed}")


def _show(report: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("", "median", "95 %", "worst"):
        table.add_column(name, justify="right" if name else "left")
    rows = (
        ("first audio, ms", "first_audio_ms"),
        ("longest gap in a turn, ms", "longest_gap_ms"),
        ("interrupt to answer, ms", "interrupt_answer_ms"),
    )
    for name, key in rows:
        spread = report[key] or {}
        table.add_row(name, *(str(spread.get(part, "-")) for part in ("p50", "p95", "max")))
    display.out.print(table)
    gapless = _percent(report["without_audible_gap"])
    display.out.print(
        f"{report['turns']} turns, {report['audio_s']:.1f} s of sound in {report['wall_s']:.1f} s; "
        f"without a gap over {client.AUDIBLE_GAP_MS:.0f} ms: {gapless}; "
        f"{report['interrupts']} interrupts, confirmed by the engine: "
        f"{_percent(report['interrupts_confirmed'])}",
        soft_wrap=True,
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
