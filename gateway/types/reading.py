"""The reader as the core sees it: written text to what is said. The shell picks one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class SpokenWord(Protocol):
    """A word that is said, and the characters [start, end) of the text it stands for."""

    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Read(Protocol):
    """Words of a text in order; starts and ends never go back.

    `kept`: stretches [start, end), in order, that are not read. Raises LookupError for a language
    that it does not know.
    """

    def __call__(
        self, text: str, language: str, kept: Sequence[tuple[int, int]]
    ) -> Sequence[SpokenWord]: ...
