"""A report for people: tables for a terminal, a plot for a file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from engine.workshop.fidelity.gate import Report


def print_report(report: Report, console: Console) -> None:
    """The verdict, its measures with marks and reasons, and the values by layer and codebook."""
    title = f"{report.candidate} against {report.reference} (marks: {report.profile})"
    table = Table("measure", "value", "mark", "", "why this mark", title=title, show_lines=False)
    for measure in report.measures:
        verdict = "[green]pass[/]" if measure.passed else "[bold red]FAIL[/]"
        table.add_row(
            measure.title, _number(measure.value), str(measure.mark), verdict, measure.mark.reason
        )
    console.print(table)
    console.print(_by_index("layer", {"cosine": report.comparison.layer_cosines}))
    columns = {
        "same choice": report.comparison.agreement,
        "divergence (nats)": report.comparison.divergence_nats,
    }
    console.print(_by_index("codebook", columns))
    for remark in report.remarks:
        console.print(remark, markup=False)
    console.print("[bold green]passed[/]" if report.passed else "[bold red]failed[/]")


def _number(value: float) -> str:
    # a cosine near 1 is told apart by its distance from 1
    return f"1 - {1 - value:.2e}" if 0.999 < value < 1 else f"{value:.4g}"


def _by_index(label: str, columns: dict[str, tuple[float, ...]]) -> Table:
    table = Table(label, *columns)
    for index, row in enumerate(zip(*columns.values(), strict=True)):
        table.add_row(str(index), *(_number(value) for value in row))
    return table


def plot_report(report: Report, path: Path) -> None:
    """Loss of cosine by layer, agreement and divergence by codebook, with their marks.

    The format follows the suffix (.svg, .png, .pdf). Raises ModuleNotFoundError without matplotlib,
    which only the `dev` extra brings.
    """
    from matplotlib.figure import Figure

    comparison, marks = report.comparison, {m.key: m.mark for m in report.measures}
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    layers, agreement, divergence = figure.subplots(1, 3)
    depth = range(1, len(comparison.layer_cosines) + 1)
    floor = 1e-12  # a logarithmic axis has no place for an exact agreement
    layers.semilogy(depth, [max(1 - c, floor) for c in comparison.layer_cosines], marker="o")
    layers.semilogy(depth, [d * marks["layer_loss"].bound for d in depth], "r--", label="mark")
    layers.set(xlabel="layer of the slow AR", ylabel="1 - cosine", title="hidden states")
    books = range(len(comparison.agreement))
    agreement.bar(books, comparison.agreement)
    agreement.axhline(marks["agreement"].bound, color="r", linestyle="--", label="mark")
    least = min(*comparison.agreement, marks["agreement"].bound)
    agreement.set(xlabel="codebook", ylim=(max(0.0, 2 * least - 1), 1), title="same choice")
    divergence.bar(books, [max(d, floor) for d in comparison.divergence_nats])
    divergence.axhline(marks["divergence_nats"].bound, color="r", linestyle="--", label="mark")
    divergence.set(xlabel="codebook", yscale="log", title="divergence in nats")
    for axes in (layers, agreement, divergence):
        axes.legend()
    verdict = "passed" if report.passed else "failed"
    figure.suptitle(f"{report.candidate} against {report.reference}: {verdict}")
    figure.savefig(path)
