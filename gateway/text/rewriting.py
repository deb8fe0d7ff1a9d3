"""Text that remembers where each of its characters came from."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator

import regex

_SAID = re.compile(b"\x02+")


class Hold(enum.IntEnum):
    """How far a character is settled: it may be rewritten; or only read; or nothing more."""

    FREE = 0
    SETTLED = 1
    SAID = 2


class TracedText:
    """A string under rewriting, with the raw index of every character.

    `origins[i]` is the raw index `text[i]` stands for; characters of a replacement share the
    start of what they replaced. A character that is held takes no part in any later `sub`, and one
    that is said is not read either.
    """

    __slots__ = ("text", "origins", "_frozen", "_replaced")

    def __init__(self, raw: str) -> None:
        self.text = raw
        self.origins = list(range(len(raw)))
        self._frozen = bytearray(len(raw))
        self._replaced = bytearray(len(raw))

    def freeze(self, pattern: regex.Pattern[str]) -> None:
        """Protect every match from `sub` and from being read."""
        for match in pattern.finditer(self.text):
            start, end = match.span()
            self._frozen[start:end] = bytes([Hold.SAID]) * (end - start)

    def sub(
        self,
        pattern: regex.Pattern[str],
        replacement: str | Callable[[regex.Match[str]], str | None],
        hold: Hold = Hold.FREE,
    ) -> None:
        """Replace every match that touches nothing frozen; a callable may answer None: leave it.

        If the pattern's group "keep" is the whole replacement, its characters keep their origins.
        """

        def found() -> Iterator[tuple[int, int, str, tuple[int, int] | None]]:
            for match in pattern.finditer(self.text):
                start, end = match.span()
                if start == end or any(self._frozen[start:end]):
                    continue
                new = replacement if isinstance(replacement, str) else replacement(match)
                if new is not None:
                    yield start, end, new, self._kept_span(match, new)

        self._rewrite(found(), hold)

    def replace(self, spans: Iterable[tuple[int, int, str]], hold: Hold) -> None:
        """Put a text in place of each stretch `start` to `end` that touches nothing said.

        Stretches come in order and do not overlap.
        """
        self._rewrite(
            (
                (start, end, new, None)
                for start, end, new in spans
                if Hold.SAID not in self._frozen[start:end]
            ),
            hold,
        )

    def _rewrite(
        self, spans: Iterable[tuple[int, int, str, tuple[int, int] | None]], hold: Hold
    ) -> None:
        """`spans`: start, end, what comes there, and where that stood before if it is kept."""
        pieces: list[str] = []
        origins: list[int] = []
        frozen, replaced = bytearray(), bytearray()
        done = 0
        for start, end, new, kept in spans:
            pieces.append(self.text[done:start])
            origins += self.origins[done:start]
            frozen += self._frozen[done:start]
            replaced += self._replaced[done:start]
            if kept is not None:
                origins += self.origins[kept[0] : kept[1]]
                replaced += self._replaced[kept[0] : kept[1]]
            else:
                origins += [self.origins[start]] * len(new)
                replaced += b"\1" * len(new)
            pieces.append(new)
            frozen += bytes([hold]) * len(new)
            done = end
        if not done:
            return
        pieces.append(self.text[done:])
        self.text = "".join(pieces)
        self.origins = origins + self.origins[done:]
        self._frozen = frozen + self._frozen[done:]
        self._replaced = replaced + self._replaced[done:]

    def said_spans(self) -> list[tuple[int, int]]:
        """Stretches [start, end) that are not to be read, in order."""
        return [match.span() for match in _SAID.finditer(self._frozen)]

    @staticmethod
    def _kept_span(match: regex.Match[str], new: str) -> tuple[int, int] | None:
        if "keep" not in match.re.groupindex or match["keep"] != new:
            return None
        start, end = match.span("keep")
        return start, end

    def clear(self) -> None:
        """Nothing to say."""
        self.text, self.origins = "", []
        self._frozen, self._replaced = bytearray(), bytearray()

    def strip(self) -> None:
        """Drop white space at both ends."""
        lead = len(self.text) - len(self.text.lstrip())
        kept = slice(lead, lead + len(self.text.strip()))
        self.text, self.origins = self.text[kept], self.origins[kept]
        self._frozen, self._replaced = self._frozen[kept], self._replaced[kept]

    def insert(self, at: int, text: str) -> None:
        """Put something before the character `at` that the raw text does not have there."""
        origin = self.origins[at] if at < len(self.origins) else 0
        self.text = self.text[:at] + text + self.text[at:]
        self.origins[at:at] = [origin] * len(text)
        self._frozen[at:at] = bytes([Hold.SAID]) * len(text)
        self._replaced[at:at] = b"\1" * len(text)

    def breakpoints(self) -> tuple[tuple[int, int], ...]:
        """(index in text, raw index) wherever the two stop running in step."""
        points: list[tuple[int, int]] = []
        expected = -1
        for index, origin in enumerate(self.origins):
            if origin != expected and not (self._inside_replacement(index) and points):
                points.append((index, origin))
            expected = origin + 1
        return tuple(points)

    def _inside_replacement(self, index: int) -> bool:
        return (
            index > 0
            and bool(self._replaced[index])
            and self.origins[index] == self.origins[index - 1]
        )
