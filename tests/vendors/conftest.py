"""The product as a process, with the built-in voice, for SDKs in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest
import soxr
from numpy.typing import NDArray

from engine.workshop.train.judging.judge import JUDGE_RATE_HZ, Recogniser, word_errors

KEY = "sk-vendors"
START_TIMEOUT_S = 300
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Served:
    """A running gateway. `key` is the one that it accepts."""

    port: int
    key: str = KEY

    @property
    def http(self) -> str:
        """Base address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        """The same for WebSockets."""
        return f"ws://127.0.0.1:{self.port}"


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """`voice-gateway serve` on a free port, ready. Ends its process tree."""
    with tempfile.TemporaryFile("w+") as log:
        environment = {**os.environ, "VOICE_GATEWAY_API_KEYS": KEY}
        port = _free_port()
        process = subprocess.Popen(
            [sys.executable, "-m", "gateway", "serve", "--port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_ready(process, port, log)
            yield Served(port)
        finally:
            children = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
            for child in psutil.wait_procs(children, timeout=10)[1]:
                child.kill()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log: object) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    with httpx.Client(verify=False) as client:  # nothing here uses TLS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if client.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.25)
    log.seek(0)  # type: ignore[attr-defined]
    raise AssertionError(f"the gateway did not start:\n{log.read()[-4000:]}")  # type: ignore[attr-defined]


@dataclass(slots=True)
class Listener:
    """Writes down what it hears, and compares."""

    recogniser: Recogniser

    def word_error_rate(self, samples: NDArray[np.float32], rate_hz: int, text: str) -> float:
        """Share of the words of `text` that were heard as others; mono samples."""
        sound = soxr.resample(samples, rate_hz, JUDGE_RATE_HZ).astype(np.float32)
        wrong, words = word_errors(text, self.recogniser.hear(sound))
        return wrong / words


@pytest.fixture(scope="session")
def listener() -> Listener:
    """A recogniser that knows nothing of the voice."""
    return Listener(Recogniser())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here installs SDKs: it runs by `uv run pytest -m vendors`."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.vendors)
