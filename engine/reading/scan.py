"""One walk over a text: plain words at once, everything else by the rules of the language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from engine.reading.types import Kind, Language, Match, Part, Reading, Spoken, Word

KEPT = "\ue000"
"""Stands for every character of a kept stretch while rules look at the text (private use)."""

# A word that nothing is attached to, so that only a rule named in `triggers` can want it.
_PLAIN = re.compile(
    r"(?:[A-Z][a-z]*|[a-z]+)(?:['’][a-z]+)?"
    r"(?=\Z|[\s,;!?)\]\"”’…—\ue000]|[.:](?=[\s\"”’)]|\Z)|-(?=[a-z]))"
)
OTHER_SCRIPT = (
    r"[\u0370-\u05bd\u05bf-\u060b\u060d-\u061a\u061c-\u061e\u0620-\u06d3\u06d5-\u0963\u0966-\u1dff"
    r"\u1f00-\u1fff\u2c00-\u2dff\u3040-\u9fff\ua000-\ud7ff\uf900-\ufaff\ufb07-\ufdff\ufe70-\ufefe"
    r"\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U0003ffff]+"
)
"""Letters and marks of all scripts but Latin, so that vowel signs stay with their letters; the
sentence marks among them shape the sentence."""
_OTHER_SCRIPT = re.compile(OTHER_SCRIPT)
_WORD = re.compile(r"[^\W\d_]+(?:['’`][^\W\d_]+)*(?:(?<=s)['’](?=\s|\Z))?")
_POSSESSIVE = re.compile(r"\.?['’]s\b")
_DIGITS = re.compile(r"\d+")  # that no rule of the language reads
_SPACE = re.compile(r"\s*?\n\s*|\s+")
_MARKS = (
    (re.compile(r"\.{2,}|…"), "…"),
    (re.compile(r"[—–]|(?<=\s)-+(?=\s)|--+"), "—"),
    (re.compile(r"[()\[\]]"), ","),
    (re.compile(r"[.!?]*\?[.!?]*"), "?"),
    (re.compile(r"[.!]*![.!]*"), "!"),
)
_ONE_MARK = str.maketrans(".,;:。！？，；：、।۔؟،؛", ".,;:.!?,;:,..?,;")
_FOLDED = str.maketrans("’`", "''")


def scan(text: str, language: Language, kept: Sequence[tuple[int, int]] = ()) -> Reading:
    """Read a text. `kept`: stretches [start, end), in order, that pass through unread."""
    seen = _plain_figures(_mask(text, kept))
    starts = dict(kept)
    items: list[Word] = []
    at = 0
    while at < len(seen):
        if at in starts:
            items.append(Word(text[at : starts[at]], at, starts[at], Kind.KEPT))
            at = starts[at]
            continue
        at = _step(seen, at, language, items)
    return Reading(tuple(items))


def _step(text: str, at: int, language: Language, items: list[Word]) -> int:
    plain = _PLAIN.match(text, at)
    if plain is not None:
        word = plain[0]
        if word not in language.triggers and word.lower() not in language.triggers:
            items.append(Word(word.translate(_FOLDED), at, plain.end()))
            return plain.end()
    for rule in language.rules_at(text[at]):
        match = rule.pattern.match(text, at)
        if match is None or match.end() == at:
            continue
        spoken = rule.say(match)
        if spoken is not None:
            _put(items, match, spoken)
            return _own(text, match.end(), items)
    return _unruled(text, at, items)


def _own(text: str, at: int, items: list[Word]) -> int:
    """The 's of a figure or a short form joins its last word: the 29th's, Louis XII's."""
    own = _POSSESSIVE.match(text, at)
    if own is None or not items or items[-1].end != at:
        return at
    last = items.pop()
    items.append(Word(last.text + "'s", last.start, own.end(), last.kind))
    return own.end()


def _unruled(text: str, at: int, items: list[Word]) -> int:
    """White space, a word as it stands, a mark, or a sign that no one says."""
    space = _SPACE.match(text, at)
    if space is not None:
        if "\n" in space[0]:
            items.append(Word(".", at, space.end(), Kind.MARK))
        return space.end()
    word = _OTHER_SCRIPT.match(text, at) or _WORD.match(text, at) or _DIGITS.match(text, at)
    if word is not None:
        items.append(Word(word[0].translate(_FOLDED), at, word.end()))
        return word.end()
    for pattern, mark in _MARKS:
        match = pattern.match(text, at)
        if match is not None:
            items.append(Word(mark, at, match.end(), Kind.MARK))
            return match.end()
    if ord(text[at]) in _ONE_MARK:
        items.append(Word(text[at].translate(_ONE_MARK), at, at + 1, Kind.MARK))
    return at + 1


def _put(items: list[Word], match: Match, spoken: Spoken) -> None:
    parts = [Part(spoken, *match.span())] if isinstance(spoken, str) else spoken or []
    for index, piece in enumerate(parts):
        start = piece.start if index else match.start()
        follows = parts[index + 1].start if index + 1 < len(parts) else match.end()
        # What lies between two parts belongs to the first, as "rd" and "-" do; no marks or spaces.
        end = max(piece.end, start + len(match.string[start:follows].rstrip(" ,\t\n\u00a0")))
        items += [Word(word, start, end) for word in piece.words.split()]


def _mask(text: str, kept: Sequence[tuple[int, int]]) -> str:
    for start, end in kept:
        text = text[:start] + KEPT * (end - start) + text[end:]
    return text


def _plain_figures(text: str) -> str:
    """Digits of any script as 0 to 9, character by character; superscripts stay what they are."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
