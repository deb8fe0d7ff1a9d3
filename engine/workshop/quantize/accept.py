"""Makes a quantised checkpoint and puts it in place only if the gate lets it through."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.checkpoint.folder import CONFIG_FILE, Checkpoint
from engine.workshop.fidelity.gate import GateOptions, Report, run_gate
from engine.workshop.quantize.convert import Progress, convert
from engine.workshop.quantize.plan import Plan

REPORT_FILE = "fidelity.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`written` is false when the gate failed and nothing was forced."""

    report: Report
    written: bool


def make(
    source: Path,
    target: Path,
    plan: Plan,
    options: GateOptions,
    *,
    force: bool = False,
    converting: Progress = lambda shard, done, total: None,
    judging: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Quantise `source`, judge it against its source, and name it `target` if it passed.

    `options` say how to judge; their directories are set here. With `force` a failure is written
    too. The verdict stands in `config.json` under `voice_gateway.fidelity` and, whole, in
    fidelity.json. Raises CheckpointError, and FileExistsError when the target exists.
    """
    if target.exists():
        raise FileExistsError(f"expected a new directory, got {target}, which exists")
    part = target.with_name(target.name + ".part")
    shutil.rmtree(part, ignore_errors=True)  # of a run that was interrupted
    try:
        converted = convert(Checkpoint.open(source), part, plan, converting)
        judged = run_gate(replace(options, candidate=converted.path, against=source), judging)
        report = replace(judged, candidate=target.name)
        if report.passed or force:
            _record(part, source, report)
            os.replace(part, target)
        return Outcome(report, report.passed or force)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _record(folder: Path, source: Path, report: Report) -> None:
    path = folder / CONFIG_FILE
    raw: dict[str, Any] = json.loads(path.read_text("utf-8"))
    extension = raw.setdefault("voice_gateway", {})
    failed = [measure.key for measure in report.measures if not measure.passed]
    extension["fidelity"] = {
        "source": source.resolve().name,
        "passed": report.passed,
        "failed": failed,
    }
    path.write_text(json.dumps(raw, indent=2), "utf-8")
    (folder / REPORT_FILE).write_text(json.dumps(report.to_json(), indent=2), "utf-8")
