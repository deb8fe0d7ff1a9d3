"""A reading that goes wrong is drawn again before it is heard.

Frames come from the language model and wait a little (`holding`); their text tokens are watched
(`watch`). At a fault the request is ended, the faulty frames are thrown away and another request
goes on from the last sound frame, which is part of its prompt now: all but the newest of that is
in the prefix cache. It draws by another seed, derived from the first, and closer to the best. Where
that goes wrong too, what is left of the text becomes a turn of its own, after what was said of it
and without the turns before: a short text after a short history is what a voice reads best.

At most `MOST_RETRIES` a segment. What cannot be mended, or has left already, is told: skipped
words are counted, a stall is cut, and the segment then ends with "length", as one that ran away.
A stall behind the last word is only an end that the model missed.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from engine.api import EngineOverloadedError, InvalidRequestError
from engine.errors import PromptError, TextError
from engine.host.holding import Holding
from engine.host.watch import Fault, Kind, Reading
from engine.models.request_table import RowSettings
from engine.plugin.language import CodeStep

MOST_RETRIES = 4
_COOLER = 0.7  # the temperatures' factor at each retry
_SEED_STRIDE = 0x5851F42D4C957F2D  # odd: no two retries share a seed


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request to the language model. `kept`: the frames that it goes on from.

    `rest`: the character at which the text is cut in two: all before it is what `kept` says.
    """

    number: int = 0
    kept: tuple[bytes, ...] = ()
    rest: int = 0

    def settings(self, first: RowSettings) -> RowSettings:
        """How it draws."""
        if not self.number:
            return first
        factor = _COOLER**self.number
        seed = (first.seed + self.number * _SEED_STRIDE + 2**63) % 2**64 - 2**63
        return replace(
            first,
            temperature=first.temperature * factor,
            residual_temperature=first.residual_temperature * factor,
            seed=seed,
        )


class Guard:
    """One segment's. `ask` makes a request, `stop` ends it.

    `ask` must answer "abort" at once when nobody wants the segment any more; `made` hears how many
    frames have come that were not there before.
    """

    def __init__(
        self,
        ask: Callable[[Attempt], AsyncGenerator[CodeStep]],
        stop: Callable[[], None],
        made: Callable[[int], None],
        reading: Reading,
        holding: Holding,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask, self._stop, self._made, self._clock = ask, stop, made, clock
        self._reading, self._holding = reading, holding
        self._frames: list[tuple[bytes, int]] = []  # codes and text token
        self._left = 0
        self._most = 0
        self._first: CodeStep | None = None  # its prompt is what is billed
        self._finish: str | None = None  # ours, where it is not the language model's
        self.retries = 0

    @property
    def skipped_words(self) -> int:
        """Words of the text that no frame which has left, or will, speaks."""
        return self._reading.skipped_words

    async def steps(self) -> AsyncGenerator[CodeStep]:
        """The steps of all requests as if of one. Raises what the first request raises."""
        attempt: Attempt | None = Attempt()
        while attempt is not None:
            asked, attempt = attempt, None
            async with aclosing(self._ask(asked)) as steps:
                async for step in self._refusals_told(steps, asked):
                    self._first = self._first or (step if step.prompt_tokens else None)
                    if attempt is not None or self._finish is not None:
                        continue  # made until the request had ended
                    attempt = self._take(step, asked)
                    if attempt is not None or self._finish is not None:
                        if step.finish is None:
                            self._stop()
                        continue
                    yield self._leaving(step, step.finish)
            if attempt is None and self._finish is not None:
                yield self._leaving(step, self._finish)

    async def _refusals_told(
        self, steps: AsyncGenerator[CodeStep], asked: Attempt
    ) -> AsyncGenerator[CodeStep]:
        """A retry for which there is no room leaves the text unread; the first one's error is."""
        try:
            async for step in steps:
                yield step
        except (PromptError, TextError, InvalidRequestError, EngineOverloadedError):
            if not asked.number:
                raise
            self._give_up()
            yield CodeStep([], (), 0, 0, self._finish, 0)

    def _take(self, step: CodeStep, asked: Attempt) -> Attempt | None:
        """Take a step in; the request that must follow this one, if it has failed."""
        tokens = step.text_tokens or (-1,) * len(step.codes)
        for frame in zip(step.codes, tokens, strict=True):
            self._frames.append(frame)
            fault = self._reading.push(frame[1])
            if fault is not None and (attempt := self._treat(fault, asked)) is not None:
                return attempt
            if self._finish is not None:
                return None
        if (fresh := len(self._frames) - self._most) > 0:
            self._most += fresh
            self._made(fresh)
        if step.finish == "stop" and (fault := self._reading.end()) is not None:
            return self._treat(fault, asked)
        return None

    def _treat(self, fault: Fault, asked: Attempt) -> Attempt | None:
        """Draw again, end here, or let it pass."""
        if fault.kind is Kind.STALL and self._reading.is_read:
            self._cut(fault.sound)
            self._finish = "stop"
            return None
        heard = fault.kind is Kind.SKIP and self._left > fault.sound
        if self.retries < MOST_RETRIES and not heard:
            if (attempt := self._next(fault, asked)) is not None:
                return attempt
        if fault.kind is Kind.STALL:
            self._cut(fault.sound)
            self._give_up()
        else:
            self._reading.accept(fault)
        return None

    def _next(self, fault: Fault, asked: Attempt) -> Attempt | None:
        turn = self._reading.rest(fault.sound, self._left) if asked.number else (fault.sound, 0)
        if turn is None:
            return None
        stay, rest = turn
        self.retries += 1
        self._cut(stay)
        return Attempt(asked.number + 1, tuple(codes for codes, _ in self._frames), rest)

    def _cut(self, sound: int) -> None:
        """Throw away what is not sound and has not left."""
        kept = max(sound, self._left)
        del self._frames[kept:]
        self._reading.rewind(kept)

    def _give_up(self) -> None:
        """The rest of the text stays unread."""
        self._finish = "length"
        if (rest := self._reading.end()) is not None:
            self._reading.accept(rest)

    def _leaving(self, step: CodeStep, finish: str | None) -> CodeStep:
        """What may leave after a step."""
        made = len(self._frames)
        if finish is None:
            until = self._holding.leaving(made, self._left, self._clock())
        else:
            until = made if finish != "abort" else self._left
        codes, tokens = [], []
        for frame, token in self._frames[self._left : until]:
            codes.append(frame)
            tokens += [token] if token >= 0 else []
        self._left = until
        first = self._first or step
        return CodeStep(
            codes,
            tuple(tokens),
            first.prompt_tokens,
            first.cached_tokens,
            finish,
            step.retractions,
        )
