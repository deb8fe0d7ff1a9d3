"""The nouns of reading: what is read, and the rules that read it."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property


class Kind(enum.StrEnum):
    """What an item of a reading is."""

    WORD = "word"  # said
    MARK = "mark"  # a sign that shapes the sentence: , . ? ! ; : … —
    KEPT = "kept"  # a stretch that the caller asked to pass through: tags, respellings


@dataclass(frozen=True, slots=True)
class Word:
    """One item, and the characters [start, end) of the text it stands for.

    Several words may share characters ("$5": five, dollars). Neither starts nor ends of the items
    of a reading ever go back.
    """

    text: str
    start: int
    end: int
    kind: Kind = Kind.WORD


@dataclass(frozen=True)
class Reading:
    """Everything that is said of a text, in order."""

    items: tuple[Word, ...]

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """What is said, without marks and kept stretches."""
        return tuple(item for item in self.items if item.kind is Kind.WORD)

    def __str__(self) -> str:
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Part:
    """Words, and the characters they stand for; a verbaliser's finer answer."""

    words: str
    start: int
    end: int


Spoken = str | list[Part] | None
"""Words for the whole match; or parts of it in order; or None: not my class after all."""

Match = re.Match[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A class of written things: where it starts, how it looks, how it is said."""

    name: str
    first: str  # a character class: what its first character can be
    pattern: re.Pattern[str]
    say: Callable[[Match], Spoken]


def rule(name: str, first: str, pattern: str, say: Callable[[Match], Spoken] | str) -> Rule:
    """A Rule from a pattern's source; `say` may be the words themselves."""
    if isinstance(say, str):
        words = say
        return Rule(name, first, re.compile(pattern), lambda match: words)
    return Rule(name, first, re.compile(pattern), say)


@dataclass(frozen=True)
class Language:
    """How one language is read."""

    code: str  # ISO 639-1
    rules: tuple[Rule, ...]  # in order: the first that answers counts
    triggers: frozenset[str] = frozenset()  # plain words that a rule may start with, as looked up
    _by_character: dict[str, tuple[Rule, ...]] = field(default_factory=dict, repr=False)

    def rules_at(self, character: str) -> tuple[Rule, ...]:
        """The rules that can start with a character."""
        found = self._by_character.get(character)
        if found is None:
            found = tuple(r for r in self.rules if re.match(r.first, character))
            if len(self._by_character) < 4096:  # of a million characters
                self._by_character[character] = found
        return found


def part(match: Match, group: str, words: str) -> Part:
    """Words for one group of a match."""
    return Part(words, *match.span(group))
