"""`say` against a real gateway: what lands in the file, and what is reported."""

from __future__ import annotations

import os
import stat
import wave
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from clients.cli import say as cli
from clients.python import SpeechError
from clients.sound import device
from clients.sound.files import duration_samples
from engine.fake import Failure, FakeEngine
from tests.gateway.shell import gateway

TEXT = "Hello there my friend."


async def test_wav_has_every_sample_the_engine_made(tmp_path: Path) -> None:
    engine = FakeEngine()
    path = tmp_path / "out.wav"
    async with gateway(engine) as served:
        report = await cli.say(served.stream_url, TEXT, output=path)
    with wave.open(str(path)) as written:
        assert written.getframerate() == 44_100
        assert written.getnframes() == engine._frames_total * 2048
        assert any(written.readframes(written.getnframes()))
    assert report.frames == engine._frames_total
    assert report.audio_ms == pytest.approx(1000 * engine._frames_total * 2048 / 44_100, abs=0.01)
    assert report.first_audio_ms is not None
    assert 0 < report.first_audio_ms <= report.total_ms


@pytest.mark.parametrize("name", ["out.opus", "out.ogg", "OUT.OGG"])
async def test_opus_lasts_as_long_as_reported(tmp_path: Path, name: str) -> None:
    engine = FakeEngine()
    async with gateway(engine) as served:
        report = await cli.say(served.stream_url, TEXT, output=tmp_path / name)
    samples, rate_hz = duration_samples(tmp_path / name)
    assert (samples, rate_hz) == (round(report.audio_ms * 48), 48_000)


async def test_text_may_come_in_pieces(tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[str]:
        for word in ("Hello ", "there ", "my ", "fri", "end."):
            yield word

    engine = FakeEngine()
    async with gateway(engine) as served:
        await cli.say(served.stream_url, pieces(), output=tmp_path / "out.wav")
    assert "".join(request.text for request in engine.requests) == TEXT


async def test_nothing_to_say_makes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    async with gateway() as served:
        report = await cli.say(served.stream_url, "...", output=path)
    assert (report.first_audio_ms, report.frames) == (None, 0)
    assert not path.exists()


async def test_a_failure_is_one_error_and_closes_the_file(tmp_path: Path) -> None:
    engine = FakeEngine()
    engine.failures.append(Failure("Hello", after_frames=5))
    path = tmp_path / "out.wav"
    async with gateway(engine) as served:
        with pytest.raises(SpeechError):
            await cli.say(served.stream_url, TEXT, output=path)
    with wave.open(str(path)) as written:
        assert written.getnframes() * 2 == path.stat().st_size - 44


@pytest.mark.parametrize(
    ("output", "message"), [("out.mp3", "ending in"), ("no/such/out.wav", "existing folder")]
)
async def test_outputs_that_cannot_be(output: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        await cli.say("ws://127.0.0.1:1", TEXT, output=Path(output))


async def test_playing_hands_the_samples_to_a_player(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = tmp_path / "heard"
    player = tmp_path / "aplay"
    player.write_text(f"#!/bin/sh\n{_which('cat')} > {heard}\n")
    player.chmod(player.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert device.find_player() == "aplay"
    async with gateway() as served:
        report = await cli.say(served.stream_url, TEXT, play=True)
    # 16 bits at 48 kHz; the last packet's padding is played too
    assert 0 <= heard.stat().st_size / 2 / 48 - report.audio_ms < 20


async def test_no_player_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with gateway() as served:
        with pytest.raises(device.NoPlayerError, match="-o instead"):
            await cli.say(served.stream_url, TEXT, play=True)


def _which(name: str) -> str:
    return next(p for d in os.environ["PATH"].split(":") if os.path.exists(p := f"{d}/{name}"))
