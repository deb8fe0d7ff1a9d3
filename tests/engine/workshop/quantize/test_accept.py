"""Nothing bad is put in place unless it is forced, and then it says so."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.checkpoint.folder import Checkpoint
from engine.errors import CheckpointError
from engine.workshop.fidelity.gate import GateOptions, run_gate
from engine.workshop.quantize import accept
from engine.workshop.quantize.__main__ import app
from engine.workshop.quantize.accept import make
from engine.workshop.quantize.plan import Plan
from tests.engine.quick_gate import make_quick
from tests.golden_data import TINY

GOOD = Plan("int8", keep_attention=(2,))
OPTIONS = GateOptions(TINY)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_quick(monkeypatch)


def verdict(path: Path) -> dict[str, object]:
    Checkpoint.open(path)
    written = json.loads((path / "config.json").read_text("utf-8"))["voice_gateway"]["fidelity"]
    assert isinstance(written, dict)
    return written


def test_a_good_one_is_written_with_its_verdict(tmp_path: Path) -> None:
    outcome = make(TINY, tmp_path / "int8", GOOD, OPTIONS)
    assert outcome.written and outcome.report.passed, outcome.report.to_json()
    assert outcome.report.profile == "quantised"
    assert max(outcome.report.comparison.divergence_nats) > 1e-4  # it was not the source itself
    assert verdict(tmp_path / "int8") == {"source": "s2-pro-tiny", "passed": True, "failed": []}
    report = json.loads((tmp_path / "int8" / "fidelity.json").read_text("utf-8"))
    assert report["passed"] is True and report["candidate"] == "int8"
    assert [path.name for path in tmp_path.iterdir()] == ["int8"]
    with pytest.raises(FileExistsError, match="expected a new directory"):
        make(TINY, tmp_path / "int8", GOOD, OPTIONS)


def test_a_bad_one_is_not_written_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CliRunner().invoke
    command = [str(TINY), str(tmp_path / "fp8"), "--scheme", "fp8"]
    judge = cache(lambda options, progress: run_gate(options))
    # judged once for both commands, which make the same checkpoint
    monkeypatch.setattr(accept, "run_gate", lambda options, progress: judge(options, None))
    # e4m3's three bits are too few for a random model, whose logits spread widely
    refused = run(app, command)
    assert refused.exit_code == 1, refused.output
    assert "was not written" in " ".join(refused.output.split())
    assert not list(tmp_path.iterdir())
    forced = run(app, [*command, "--force"])
    assert forced.exit_code == 0, forced.output
    marked = verdict(tmp_path / "fp8")
    assert marked["passed"] is False and "divergence_nats" in marked["failed"]  # type: ignore[operator]


def test_a_failure_on_the_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(options: GateOptions, progress: object) -> None:
        assert options.candidate.is_dir() and options.against == TINY
        raise CheckpointError("the disk is full")

    monkeypatch.setattr("engine.workshop.quantize.accept.run_gate", fail)
    (tmp_path / "int8.part").mkdir()  # of an interrupted run
    with pytest.raises(CheckpointError, match="the disk is full"):
        make(TINY, tmp_path / "int8", GOOD, OPTIONS)
    assert not list(tmp_path.iterdir())


def test_wrong_arguments_exit_with_2(tmp_path: Path) -> None:
    run = CliRunner().invoke
    for arguments in (
        [str(TINY)],
        [str(TINY), str(tmp_path / "x"), "--scheme", "int4"],
        [str(TINY), str(tmp_path / "x"), "--keep-attention", "last:4"],
        [str(TINY), str(tmp_path / "x"), "--report"],
        [str(tmp_path / "nowhere"), str(tmp_path / "x")],
        [str(TINY), str(tmp_path)],
    ):
        assert run(app, arguments).exit_code == 2, arguments
