"""The system's programs, played by scripts: started late, killed at once, let end in peace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.sound.device import _PROGRAMS, NoPlayerError, ProgramDevice, find_player
from tests.gateway.shell import DEADLINE_S, until

Install = Callable[[str, str], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a script on a path that holds nothing else; its output lands in a file."""
    cat = next(p for d in os.environ["PATH"].split(":") if os.path.exists(p := f"{d}/cat"))
    monkeypatch.setenv("PATH", str(tmp_path))

    def made(name: str, body: str) -> Path:
        script, output = tmp_path / name, tmp_path / "heard"
        script.write_text(f"#!/bin/sh\n{body.format(cat=cat, output=output)}\n")
        script.chmod(0o755)
        return output

    return made


def test_without_a_program_it_says_which_would_do(install: Install) -> None:
    assert find_player() is None
    with pytest.raises(NoPlayerError, match="pw-cat, paplay, aplay"):
        ProgramDevice.find(48_000)


@pytest.mark.parametrize("name", _PROGRAMS)
async def test_every_known_program_gets_its_rate_and_the_samples(
    install: Install, name: str
) -> None:
    output = install(name, 'echo "$@" > {output}; {cat} >> {output}')
    device = ProgramDevice.find(44_100)
    await device.write(b"ab")
    await device.write(b"cd")
    await device.close()
    arguments, _, heard = output.read_bytes().partition(b"\n")
    assert b"44100" in arguments and b"{" not in arguments
    assert heard == b"abcd"


async def test_silence_kills_it_and_the_next_sound_starts_another(install: Install) -> None:
    output = install("aplay", 'echo "started" >> {output}; exec {cat} > /dev/null')
    device = ProgramDevice.find(48_000)
    for count in (1, 2, 3):
        await device.write(bytes(960))
        await until(lambda: output.exists() and output.read_text().count("started") == count)  # noqa: B023
        process = device._process
        device.silence()
        assert process is not None
        async with asyncio.timeout(DEADLINE_S):
            assert await process.wait() < 0
    device.silence()
    await device.close()


async def test_silence_frees_who_waits_for_a_program_that_does_not_read(install: Install) -> None:
    install("aplay", "read never < /dev/zero")
    device = ProgramDevice.find(48_000)
    writing = asyncio.create_task(device.write(bytes(1_000_000)))
    await until(lambda: device._process is not None)
    await asyncio.sleep(0)
    device.silence()
    async with asyncio.timeout(DEADLINE_S):
        await writing
    await device.close()


async def test_one_that_quits_is_an_error(install: Install) -> None:
    install("aplay", "exit 3")
    device = ProgramDevice.find(48_000)
    with pytest.raises(OSError):
        async with asyncio.timeout(DEADLINE_S):
            while True:
                await device.write(bytes(9600))
                await asyncio.sleep(0)
    await device.close()


async def test_one_that_does_not_end_is_ended(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clients.sound.device._ENDS_WITHIN_S", 0.05)
    install("aplay", "trap '' TERM HUP; while :; do :; done")
    device = ProgramDevice.find(48_000)
    await device.write(b"ab")
    async with asyncio.timeout(DEADLINE_S):
        await device.close()
