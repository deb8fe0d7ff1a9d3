"""The command's exit status and what it prints."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from engine.workshop.dryrun.__main__ import app
from tests.golden_data import TINY


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, " ".join(result.output.split())


def test_s2_pro_on_an_h200() -> None:
    status, text = run("--streams", "32")
    assert status == 0
    assert "9,123,704,832" in text and "358" in text and "it fits" in text
    assert "KV cache, 32 x 603.98" in text


def test_what_does_not_fit_is_1_and_what_cannot_be_done_is_2(tmp_path: Path) -> None:
    config = str(TINY / "config.json")
    small = ("--config", config, "--gpu", "l4")
    assert run(*small, "--tokens-per-stream", "10000000")[0] == 1
    assert run("--config", config, "--gpu", "abacus")[0] == 2
    assert run("--config", str(tmp_path / "nowhere.json"))[0] == 2
    assert run("--config", config, "--streams", "0")[0] == 2
    assert run("--config", config, "--materialise", str(tmp_path / "m"), "--limit-gib", "0")[0] == 2


def test_materialise_cleans_up_unless_told_to_keep(tmp_path: Path) -> None:
    command = ("--config", str(TINY / "config.json"), "--materialise", str(tmp_path / "m"))
    status, text = run(*command)
    assert status == 0 and "a prompt and a frame in" in text
    assert not list(tmp_path.iterdir())
    assert run(*command, "--keep")[0] == 0
    assert {path.name for path in (tmp_path / "m").iterdir()} == {"shards", "memory"}
