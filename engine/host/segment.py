"""One segment's requests to the language model: the first one, and those that draw again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from engine.host.guard import Attempt
from engine.models.request_table import RowSettings
from engine.plugin.language import CodeStep
from engine.text.prompt import Prompt


class Language(Protocol):
    """What is needed of `engine.plugin.language`'s LanguageEngine."""

    def generate(
        self,
        request_id: str,
        prompt: Prompt,
        settings: RowSettings,
        max_frames: int,
        cache_salt: str,
        rank: int,
    ) -> AsyncGenerator[CodeStep]: ...
    def abort(self, request_id: str) -> None: ...


@dataclass(slots=True)
class Segment:
    """`prompt`: what an attempt asks. `aborted`: nobody wants the segment any more."""

    language: Language
    request_id: str
    prompt: Callable[[Attempt], Prompt]
    settings: RowSettings
    max_frames: int
    cache_salt: str
    rank: int
    aborted: bool = False
    running: str = ""  # the language model's name for the request that it has now

    async def ask(self, attempt: Attempt) -> AsyncGenerator[CodeStep]:
        """The steps of one request."""
        if attempt.number and self.aborted:
            yield CodeStep([], (), 0, 0, "abort", 0)
            return
        self.running = f"{self.request_id}~{attempt.number}" if attempt.number else self.request_id
        steps = self.language.generate(
            self.running,
            self.prompt(attempt),
            attempt.settings(self.settings),
            self.max_frames - len(attempt.kept),
            self.cache_salt,
            self.rank,
        )
        async with aclosing(steps):
            async for step in steps:
                if self.aborted and step.finish is None:
                    # the abort may have reached SGLang's scheduler before the request did
                    self.stop()
                yield step

    def abort(self) -> None:
        """Nobody wants the rest."""
        self.aborted = True
        self.stop()

    def stop(self) -> None:
        """End the request that the language model has now."""
        self.language.abort(self.running)
