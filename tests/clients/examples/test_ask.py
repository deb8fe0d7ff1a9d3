"""The example that pipes an LLM's stream into the gateway."""

from __future__ import annotations

import asyncio
import os
import sys
import wave
from pathlib import Path

import pytest

from clients.examples import ask
from engine.fake import FakeEngine, FakeEngineConfig
from tests.clients.examples.stub_llm import stub_llm
from tests.gateway.shell import DEADLINE_S, gateway

ROOT = Path(__file__).parents[3]
ANSWER = "Blue light is scattered more than red. That is why the sky is blue."


async def test_the_answer_is_spoken_into_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = FakeEngine(FakeEngineConfig(frames_per_char=0.1))
    path = tmp_path / "answer.wav"
    async with gateway(engine) as served, stub_llm(ANSWER) as llm:
        async with asyncio.timeout(DEADLINE_S):
            arguments = ["Why is the sky blue?", "--llm", llm.url, "--url", served.url]
            await ask.main([*arguments, "-o", str(path)])
        assert llm.asked[0][-1] == {"role": "user", "content": "Why is the sky blue?"}
    spoken = " ".join(request.text.strip() for request in engine.requests)
    assert spoken == ANSWER and ANSWER in capsys.readouterr().out
    with wave.open(str(path)) as written:
        assert 0.9 < written.getnframes() / (engine._frames_total * 2048) <= 1.0  # seams overlap


async def test_as_a_program(tmp_path: Path) -> None:
    async with gateway() as served, stub_llm("Hello.") as llm:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "clients.examples.ask", "Say hello", "--llm", llm.url),
            *("--url", served.url, "-o", str(tmp_path / "a.opus")),
            cwd=ROOT,
            env=dict(os.environ),
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
    assert (process.returncode, output) == (0, b"Hello.\n")
    assert (tmp_path / "a.opus").read_bytes()[:4] == b"OggS"
