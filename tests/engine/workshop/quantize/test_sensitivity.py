"""The report's advice, followed, is what gets a checkpoint through the gate."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from engine.models.plain import PlainLoop
from engine.workshop.fidelity.capture import FRAMES_AT_ONCE
from engine.workshop.fidelity.gate import GateOptions
from engine.workshop.quantize.__main__ import app
from engine.workshop.quantize.accept import make
from engine.workshop.quantize.plan import Plan, parse_layers
from engine.workshop.quantize.sensitivity import Piece, as_flags, measure_pieces, pieces_to_keep
from tests.engine.quick_gate import make_quick, reference_run
from tests.golden_data import TINY


@pytest.fixture(scope="module")
def pieces() -> list[Piece]:
    loop = PlainLoop(TINY, frames_at_once=FRAMES_AT_ONCE)
    before = {name: value.clone() for name, value in loop.slow.named_parameters()}
    sequences, _ = reference_run(TINY, 40)
    found = measure_pieces(loop, sequences, "fp8")
    for name, value in loop.slow.named_parameters():
        assert torch.equal(value, before[name])  # everything was put back
    return found


def test_every_piece_is_judged(pieces: list[Piece]) -> None:
    assert len(pieces) == 2 * 3 + 2 * 2
    assert len({(p.part, p.layer, p.kind) for p in pieces}) == len(pieces)
    assert all(p.divergence_nats > 1e-5 for p in pieces)
    # the slow AR's hidden state does not depend on the fast AR
    assert all((p.hidden_cosine < 1 - 1e-6) == (p.part == "slow") for p in pieces)
    attention, feed_forward = pieces[0], pieces[1]
    assert attention.saved_bytes == (4 + 2 * 2) * 128 * 64 + 64 * 4 * 128
    assert feed_forward.saved_bytes == 3 * 64 * 192


def test_keeping_stops_at_half_the_mark_and_takes_the_dearest_bytes_first() -> None:
    def piece(layer: int, nats: float, size: int = 100) -> Piece:
        return Piece("slow", layer, "attention", nats, 1.0, size)

    some = [piece(0, 0.001), piece(1, 0.04), piece(2, 0.03, 10), piece(3, 0.02)]
    kept, rest = pieces_to_keep(some)
    assert [p.layer for p in kept] == [2, 1] and rest == pytest.approx(0.021)
    assert as_flags(kept) == "--keep-attention 1,2"
    assert pieces_to_keep(some[:1]) == ([], 0.001)
    mixed = [*kept, dataclasses.replace(kept[0], part="fast", kind="feed_forward", layer=3)]
    assert as_flags(mixed) == "--keep-attention 1,2 --keep-fast-feed-forward 3"


def test_following_the_advice_passes_where_quantising_all_fails(
    pieces: list[Piece], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it in e4m3 fails (test_accept); what is kept is what was needed."""
    make_quick(monkeypatch)
    kept, rest = pieces_to_keep(pieces)
    assert 0 < len(kept) < len(pieces)
    words = as_flags(kept).split()
    names = [word.removeprefix("--").replace("-", "_") for word in words[::2]]
    layers = {n: parse_layers(text, 3) for n, text in zip(names, words[1::2], strict=True)}
    plan = Plan("fp8", **layers)  # type: ignore[arg-type]
    outcome = make(TINY, tmp_path / "mixed", plan, GateOptions(TINY))
    assert outcome.report.passed, outcome.report.to_json()
    # the sum of the pieces foretold what all of them do together
    together = max(outcome.report.comparison.divergence_nats)
    assert 0.3 * rest < together < 2.5 * rest


def test_the_command_prints_the_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [
        Piece("slow", 1, "feed_forward", 0.2, 0.9, 10),
        Piece("fast", 0, "attention", 0.01, 1, 9),
    ]
    monkeypatch.setattr("engine.workshop.quantize.sensitivity.report_pieces", lambda *args: few)
    result = CliRunner().invoke(app, [str(TINY), "--report", "--scheme", "fp8"])
    assert result.exit_code == 0 and "--keep-feed-forward 1" in result.output
