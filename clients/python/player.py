"""Sound through whichever player the system has: raw 16-bit PCM into its standard input."""

from __future__ import annotations

import asyncio
import shutil

# Each reads raw little-endian 16-bit mono samples from standard input.
_PLAYERS: dict[str, tuple[str, ...]] = {
    "pw-cat": ("--playback", "--rate={rate}", "--channels=1", "--format=s16", "-"),
    "paplay": ("--raw", "--rate={rate}", "--channels=1", "--format=s16le"),
    "aplay": ("-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", "{rate}", "-"),
    "ffplay": (
        "-loglevel",
        "error",
        "-nodisp",
        "-autoexit",
        "-f",
        "s16le",
        "-ar",
        "{rate}",
        "-i",
        "-",
    ),
    "play": ("-q", "-t", "raw", "-e", "signed", "-b", "16", "-c", "1", "-r", "{rate}", "-"),
}


class NoPlayerError(RuntimeError):
    """No program that plays raw PCM is installed."""


def find_player() -> str | None:
    """Name of the first installed player."""
    return next((name for name in _PLAYERS if shutil.which(name)), None)


class Player:
    """One running player. `write` returns when the player has taken the samples."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def open(cls, sample_rate_hz: int) -> Player:
        """Start a player. Raises NoPlayerError."""
        name = find_player()
        if name is None:
            raise NoPlayerError(
                f"expected one of {', '.join(_PLAYERS)} to be installed for playing, found none; "
                "write a file with -o instead"
            )
        arguments = [part.format(rate=sample_rate_hz) for part in _PLAYERS[name]]
        return cls(
            await asyncio.create_subprocess_exec(
                name, *arguments, stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
            )
        )

    async def write(self, pcm: bytes) -> None:
        """Queue samples. Raises ConnectionError when the player has quit."""
        assert self._process.stdin is not None
        self._process.stdin.write(pcm)
        await self._process.stdin.drain()

    async def close(self) -> None:
        """Let it play to the end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    def kill(self) -> None:
        """Be silent at once."""
        if self._process.returncode is None:
            self._process.kill()
