"""When each word of a recording sounds: `name.json` beside `name.wav` and `name.txt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class TimedWord:
    """A word's time in the recording and its characters [start, end) in the text."""

    start_s: float
    end_s: float
    start: int
    end: int


def read_words(path: Path) -> list[TimedWord]:
    """Words of a recording. Raises FileNotFoundError, and ValueError on anything else than they."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[TimedWord])
    except msgspec.MsgspecError as error:
        raise ValueError(f"{path}: expected a list of words with their times: {error}") from None
