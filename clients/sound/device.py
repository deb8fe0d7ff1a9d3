"""A loudspeaker: whichever program of the system plays raw 16-bit PCM from its standard input."""

from __future__ import annotations

import asyncio
import shutil
from typing import Protocol

# Each reads raw little-endian 16-bit mono samples from standard input, and keeps little of them.
_PROGRAMS: dict[str, str] = {
    "pw-cat": "--playback --latency=50ms --rate={rate} --channels=1 --format=s16 -",
    "paplay": "--raw --latency-msec=50 --rate={rate} --channels=1 --format=s16le",
    "aplay": "-q -t raw -f S16_LE -c 1 -r {rate} --buffer-time=100000 -",
    "ffplay": "-loglevel error -nodisp -autoexit -fflags nobuffer -f s16le -ar {rate} -i -",
    "play": "-q --buffer 1920 -t raw -e signed -b 16 -c 1 -r {rate} -",
}

_ENDS_WITHIN_S = 2.0  # after its input has ended


class PlayerError(RuntimeError):
    """The sound cannot be heard."""


class NoPlayerError(PlayerError):
    """No program that plays raw PCM is installed."""


def find_player() -> str | None:
    """Name of the first installed program."""
    return next((name for name in _PROGRAMS if shutil.which(name)), None)


class Device(Protocol):
    """What a `Player` plays on."""

    async def write(self, pcm: bytes) -> None:
        """Take 16-bit mono samples. Raises OSError when it cannot play any more."""
        ...

    def silence(self) -> None:
        """Drop what was taken and not heard."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...


class ProgramDevice:
    """A program that is started by the first samples, and killed to silence it."""

    def __init__(self, name: str, rate_hz: int) -> None:
        self._command = [name, *_PROGRAMS[name].format(rate=rate_hz).split()]
        self._process: asyncio.subprocess.Process | None = None
        self._ending: list[asyncio.subprocess.Process] = []

    @classmethod
    def find(cls, rate_hz: int) -> ProgramDevice:
        """The first installed program. Raises NoPlayerError."""
        name = find_player()
        if name is None:
            raise NoPlayerError(
                f"expected one of {', '.join(_PROGRAMS)} to be installed for playing, found none; "
                "write a file with -o instead"
            )
        return cls(name, rate_hz)

    async def write(self, pcm: bytes) -> None:
        """Take 16-bit mono samples. Raises OSError when the program has quit."""
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
        process = self._process
        assert process.stdin is not None
        if process.returncode is not None:
            raise OSError(f"{self._command[0]} ended with status {process.returncode}")
        try:
            process.stdin.write(pcm)
            await process.stdin.drain()
        except OSError:
            if process is self._process:  # otherwise it was silenced meanwhile
                raise

    def silence(self) -> None:
        """Kill the program: only so is silent at once what it holds."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            self._ending = [*(old for old in self._ending if old.returncode is None), process]

    async def close(self) -> None:
        """Let the program end by itself, if it does so soon."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), _ENDS_WITHIN_S)
            except TimeoutError:
                process.kill()
                self._ending.append(process)
        for old in self._ending:
            await old.wait()
        self._ending.clear()
