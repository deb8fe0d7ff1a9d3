"""One segment's requests to the language model: the first one, and those that draw again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from engine.host.guard import Attempt
from engine.models.request_table import RowSettings
from engine.plugin.language import CodeStep
from engine.text.prompt import Prompt
from engine.text.tokenizer import Span


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


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt. `tokens`: which of the segment's tokens each of its text stands for; none: same."""

    prompt: Prompt
    tokens: tuple[int, ...] = ()

    @classmethod
    def rest(cls, prompt: Prompt, start: int, whole: Sequence[Span]) -> Asked:
        """For a prompt of the text from character `start` on; `whole`: the spans of all of it."""
        places: dict[Span, list[int]] = {}
        for token, span in enumerate(whole):
            places.setdefault(span, []).append(token)
        tokens, taken, last = [], dict.fromkeys(places, 0), 0
        for a, b in prompt.token_spans:
            span = (a + start, b + start)
            if span in places:  # read otherwise it may have other tokens there
                last = places[span][min(taken[span], len(places[span]) - 1)]
                taken[span] += 1
            tokens.append(last)
        return cls(prompt, tuple(tokens))

    def step(self, step: CodeStep) -> CodeStep:
        """A step of its answer, in the segment's tokens."""
        if not self.tokens:
            return step
        return replace(step, text_tokens=tuple(self.tokens[token] for token in step.text_tokens))


@dataclass(slots=True)
class Segment:
    """`prompt`: what an attempt asks. `aborted`: nobody wants the segment any more."""

    language: Language
    request_id: str
    prompt: Callable[[Attempt], Asked]
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
        asked = self.prompt(attempt)
        steps = self.language.generate(
            self.running,
            asked.prompt,
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
                yield asked.step(step)

    def abort(self) -> None:
        """Nobody wants the rest."""
        self.aborted = True
        self.stop()

    def stop(self) -> None:
        """End the request that the language model has now."""
        self.language.abort(self.running)
