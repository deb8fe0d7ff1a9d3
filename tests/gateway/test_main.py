"""The command, as a person runs it: in processes of its own, with the fake engine."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from gateway.__main__ import app
from gateway.cli.display import CommandError

TIMEOUT_S = 60
COMMAND = [sys.executable, "-m", "gateway"]
ENVIRONMENT = {
    **{k: v for k, v in os.environ.items() if not k.startswith("VOICE_GATEWAY_")},
    "PYTHONPATH": str(Path(__file__).parents[2]),
    "COLUMNS": "200",
}


def command(*arguments: str, cwd: Path, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env={**ENVIRONMENT, **options},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A `serve` process and its page's address."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--engine", "fake", "--port", "0", *arguments],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        shown = ""
        while not (found := re.search(r"page +(http://\S+)", shown)):
            line = process.stdout.readline()
            assert line, process.communicate()
            shown += line
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_says_where_and_stops_when_asked(number: signal.Signals, tmp_path: Path) -> None:
    with serving() as (process, page):
        assert httpx.get(f"{page}readyz").status_code == 200
        assert "voice-gateway" in httpx.get(page).text
        assert process.stdout is not None
        hint = process.stdout.readline()
        assert re.search(r"try .*voice-gateway say \"Hello there.\" --url ws://", hint)
        if number is signal.SIGINT:
            said = command("say", "Hello.", "--url", page, "-o", "a.opus", cwd=tmp_path)
            assert said.returncode == 0, said.stderr
            assert "first audio" in said.stdout
            assert (tmp_path / "a.opus").read_bytes()[:4] == b"OggS"
        process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0
        assert "Traceback" not in errors
        with pytest.raises(httpx.ConnectError):
            httpx.get(page)


def test_say_brings_its_own_gateway(tmp_path: Path) -> None:
    said = command("say", "Hello there my friend.", "--engine", "fake", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    seconds, frames = re.findall(r"([\d.]+) s of sound \((\d+) frames\)", said.stdout)[0]
    with wave.open(str(tmp_path / "speech.wav")) as written:
        assert written.getnframes() == int(frames) * 2048
        assert written.getnframes() / 44_100 == pytest.approx(float(seconds), abs=0.006)


def test_say_reads_standard_input(tmp_path: Path) -> None:
    said = subprocess.run(
        [*COMMAND, "say", "-", "--engine", "fake", "-o", "a.wav"],
        input=b"Two lines.\nOf text.\n",
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "a.wav").stat().st_size > 44


def failed(*arguments: str, **environment: str) -> tuple[int, str]:
    """Exit status and message of a command that cannot, run in this process."""
    error = CliRunner().invoke(app, arguments, env=environment).exception
    assert isinstance(error, CommandError), error
    return error.status, str(error)


def test_a_taken_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        status, message = failed("serve", "--engine", "fake", "--port", port)
    assert status == 1
    assert f"127.0.0.1:{port}: expected a free address" in message


def test_no_command_serves_with_what_the_environment_says() -> None:
    status, message = failed(VOICE_GATEWAY_PORT="many", VOICE_GATEWAY_ENGIN="fake")
    assert status == 2
    assert "VOICE_GATEWAY_PORT: expected a valid integer" in message
    assert "did you mean VOICE_GATEWAY_ENGINE?" in message


def test_errors_are_shown_without_a_traceback(tmp_path: Path) -> None:
    said = command("say", "Hello.", "-o", "a.mp3", cwd=tmp_path)
    assert said.returncode == 2
    assert said.stderr.startswith("error expected an output file ending in .wav")
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--url", "ws://127.0.0.1:1"], 3, "expected a gateway, got"),
        (["--url", "ftp://x"], 2, "expected an address like ws://"),
        (["-o", "a.mp3"], 2, "expected an output file ending in .wav, .ogg, .opus"),
        (["--engine", "fake", "--voice", "nobody"], 1, "expected one of default, got nobody"),
        (["--checkpoint", "/no/such"], 2, "--checkpoint: expected an existing folder"),
    ],
)
def test_say_that_cannot(arguments: list[str], status: int, message: str) -> None:
    found_status, found = failed("say", "Hello.", *arguments)
    assert message in found
    assert found_status == status


def test_commands_for_a_running_gateway(tmp_path: Path) -> None:
    """`voices`, `bench` and `doctor --url` against one `serve`; what a script reads of each."""
    with serving() as (_, page):
        listed = command("voices", "--url", page, cwd=tmp_path)
        assert (listed.returncode, listed.stdout) == (0, "default\n")
        load = ("-n", "2", "--turns", "1", "--interrupts", "1", "--tokens-per-s", "0")
        loaded = command("bench", "--url", page, *load, cwd=tmp_path, COLUMNS="60")
        assert loaded.returncode == 0, loaded.stderr
        report = json.loads(loaded.stdout.splitlines()[-1])
        assert report["turns"] == 2 and report["errors"] == {}
        assert "first audio, ms" in " ".join(loaded.stdout.split())
        examined = command("doctor", "--url", page, cwd=tmp_path)
        assert examined.returncode == 0, examined.stderr
        assert re.search(r"speech +[\d.]+ s, first packet after", examined.stdout)
        silent = command("say", "...", "--url", page, "-o", "a.wav", cwd=tmp_path)
        assert (silent.returncode, list(tmp_path.iterdir())) == (4, [])
        wrong = command("bench", "--url", page, *load[:4], "--voice", "nobody", cwd=tmp_path)
        assert wrong.returncode == 1 and "2 unknown_voice" in wrong.stderr


@pytest.mark.parametrize("arguments", [("voices",), ("bench",), ("say", "Hello.")])
@pytest.mark.parametrize(
    ("url", "status"), [("ws://127.0.0.1:1", 3), ("ftp://x", 2), ("http:///x", 2)]
)
def test_no_gateway_there(arguments: tuple[str, ...], url: str, status: int) -> None:
    found, message = failed(*arguments, VOICE_GATEWAY_URL=url)
    assert (found, "expected a" in message) == (status, True)


def test_a_doctor_that_finds_no_gateway() -> None:
    status, message = failed("doctor", "--url", "ws://127.0.0.1:1")
    assert status == 1 and "does not speak" in message


@pytest.mark.parametrize("name", ["say", "voices", "bench", "doctor"])
def test_the_help_of_a_command_says_what_its_exit_status_means(name: str) -> None:
    result = CliRunner().invoke(app, [name, "--help"], terminal_width=200)
    assert result.exit_code == 0
    assert "Exit status: 0" in result.output


def test_help_teaches() -> None:
    result = CliRunner().invoke(app, ["--help"], terminal_width=120)
    assert result.exit_code == 0
    for word in ("serve", "say", "voices", "bench", "doctor", "VOICE_GATEWAY_", "hello.wav"):
        assert word in result.output


def test_doctor_names_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from gateway.cli import doctor
    from gateway.config import load_config

    monkeypatch.setattr(doctor, "_TORCH_PROBE", "print('2.0 CPU only')")
    found = {finding.what: finding for finding in doctor.examine(load_config(port=0))}
    assert found["python"].ok
    assert found["sglang"].detail[0].isdigit()
    assert "opus" in found["libopus"].detail
    assert found["torch"].detail == "2.0 CPU only"
    assert not found["player for --play"].needed


def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from gateway.cli import doctor
    from gateway.config import load_config

    def no_opus() -> str:
        raise ImportError("libopus: expected the system's, got none")

    monkeypatch.setattr(doctor, "_TORCH_PROBE", "import a_package_that_is_not_there")
    monkeypatch.setattr(doctor, "opus_backend", no_opus)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = load_config(port=taken.getsockname()[1])
        found = {finding.what: finding for finding in doctor.examine(config)}
        assert not doctor.doctor(config)
    for what in ("port", "torch", "libopus"):
        assert not found[what].ok
        assert found[what].needed
    assert "a_package_that_is_not_there" in found["torch"].detail
