"""Judge one place where a segment could end, from the text before it and the start of what follows.

A judgement may be WAIT: the characters seen so far do not decide it. The caller asks again after
each further character; once a judgement is not WAIT, no later character would change it.
Missing a boundary only makes a segment longer, a wrong one is audible: in doubt there is none.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import regex

from gateway.text.segment.arriving import is_open
from gateway.text.segment.chars import (
    DASHES,
    ELLIPSES,
    LATIN_ENDS,
    MARKUP,
    NEWLINES,
    NO_BREAK_SPACES,
    QUOTES,
    Kind,
    kind_of,
)
from gateway.text.segment.lexicon import (
    AFTER_ORDINAL,
    BEFORE_NUMBER,
    DATE_WORDS,
    ENDINGS,
    MAYBE_FINAL,
    NAME_TAILS,
    NEVER_FINAL,
    STARTERS,
)
from gateway.text.segment.neighbours import (
    MAX_WORD,
    end_mark,
    first_after,
    skip_space_back,
    strip_closers,
    word_before,
)


class Verdict(enum.IntEnum):
    """What kind of boundary a place is, in rising strength."""

    WAIT = -1
    NONE = 0
    WORD = 1
    CLAUSE = 2
    PHRASE = 3  # a space in a script that has them only between phrases
    SENTENCE = 4
    LINE = 5


_WORD_AFTER = regex.compile(r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*")
_LIST_MARKER = regex.compile(
    r"[\s>#*\-+]*\(?(?:\d{1,3}|\p{Lu}|\p{Ll}|x{0,3}(?:ix|iv|v?i{0,3})|X{0,3}(?:IX|IV|V?I{0,3}))"
)
_RUN_BEFORE = regex.compile(r"(?r)[\p{L}\p{N}'’.@/_-]+")
_PLAIN_WORD = regex.compile(r"\p{L}\p{Ll}+(?:['’]\p{Ll}+)?")
_INNER_DOTS = regex.compile(r"(?:\p{L}\p{M}*\.-?)+\p{L}\p{M}*|\p{Lu}\p{L}?\.\p{Lu}\p{L}?")
_TOKEN_BEFORE = regex.compile(r"(?r)\S+")
_TOKEN_AFTER = regex.compile(r"\S+")
_MAX_TAIL = 6  # longer words are neither states nor the ends of names
_ELISION = regex.compile(r"[cdjlmnst]['’]")
_NUMBER_BEFORE_DASH = regex.compile(r"(?r)(?:\d|[%°]|\b[AaPp]\.?[Mm]\.?)\s?[-–—]")
# A Japanese quotation goes on with a particle.
_QUOTED_BEFORE = frozenset("とっにをがはのもでやかなへ")
_BARE_BEFORE = Kind.END | Kind.BARE_PAUSE | Kind.CLOSE
_OPENING_QUOTES = frozenset("“‘«‹")
_VISIBLE = regex.compile(r"[\p{L}\p{N}]")


@dataclass(frozen=True, slots=True)
class Place:
    """One judgement's input: the segment's text so far, and the place in it."""

    text: str
    position: int
    sentence_start: int  # index in text where the present sentence or line starts; -1: before it
    lower_style: bool  # the present sentence began in lower case, so the next one may too
    final: bool  # nothing follows text for now


def is_candidate(text: str, index: int) -> bool:
    """Whether a segment could start at `index`: after a space, or a mark that wants no space."""
    char, previous = text[index], text[index - 1 : index]
    kind, before = kind_of(char), kind_of(previous) if previous else Kind.SPACE
    if index == 0 or kind & (Kind.SPACE | Kind.EXTEND):
        return False
    if before & Kind.SPACE:
        return char not in DASHES or _may_start_with_dash(text, index)
    if not before & _BARE_BEFORE and previous not in QUOTES and previous not in MARKUP:
        return False
    if char in DASHES or char in MARKUP or kind & Kind.CLOSE or char in QUOTES - _OPENING_QUOTES:
        return False
    if before & Kind.BARE_PAUSE or _is_glued(text, index):
        return True
    end = kind_of(text[strip_closers(text, index)[0] - 1])
    return bool(end & Kind.BARE_END or end & Kind.END and kind & Kind.CJK)


def _is_glued(text: str, index: int) -> bool:
    """A capital behind a small letter and a mark: one.Sentence."""
    return text[index - 1] in ".!?" and text[index].isupper() and text[index - 2].islower()


def _may_start_with_dash(text: str, index: int) -> bool:
    """A dash opens a line or a sentence; elsewhere the place is behind it."""
    gap = skip_space_back(text, index)
    return not NEWLINES.isdisjoint(text[gap:index]) or end_mark(text, gap) < gap


def judge(place: Place) -> Verdict:
    """The boundary at `place`, or WAIT."""
    text, position = place.text, place.position
    gap = skip_space_back(text, position)
    if not NEWLINES.isdisjoint(text[gap:position]):
        return Verdict.LINE if gap > 0 else Verdict.NONE
    if not _VISIBLE.search(text, 0, gap):
        return Verdict.NONE
    first = first_after(text, position, place.final)
    if first is None:
        return Verdict.WAIT
    if first < 0:
        return Verdict.NONE
    ends, closers = strip_closers(text, gap)
    term = end_mark(text, ends)
    if term < ends:
        return _judge_end(place, text[term:ends], term, closers, first, gap < position)
    return _judge_inside(text, gap, position, first, place.final)


def looks_complete(text: str) -> bool:
    """Whether text reads as a finished sentence although nothing follows it yet."""
    gap = skip_space_back(text, len(text))
    if not _VISIBLE.search(text, 0, gap):
        return False
    if not NEWLINES.isdisjoint(text[gap:]):
        return True
    ends, _ = strip_closers(text, gap)
    term = end_mark(text, ends)
    if text[term:ends] != ".":
        return term < ends and not ELLIPSES & set(text[term:ends]) and ".." not in text[term:ends]
    word = word_before(text, term)
    return word != "" and not word[-1].isdigit() and _abbreviation(word) == Verdict.SENTENCE


def _judge_end(
    place: Place, mark: str, term: int, closers: bool, first: int, spaced: bool
) -> Verdict:
    text = place.text
    char = text[first] if first < len(text) else "A"
    if not set(mark) <= LATIN_ENDS:
        verse_number = not spaced and char.isdigit() and mark[-1] in "।॥"
        quoted = closers and not spaced and char in _QUOTED_BEFORE
        return Verdict.NONE if verse_number or quoted else Verdict.SENTENCE
    if set(mark) & ELLIPSES or ".." in mark:
        return Verdict.CLAUSE if char.islower() or not spaced else Verdict.SENTENCE
    if not spaced and (term == 0 or not kind_of(text[term - 1]) & Kind.CJK):
        return _judge_glued(place, mark, term, first)
    if mark in (".", "．"):
        verdict = _judge_full_stop(place, term, first, char)
        if verdict != Verdict.SENTENCE:
            return verdict
    if char.islower() and (closers or not place.lower_style):
        return Verdict.WORD
    return Verdict.SENTENCE


def _judge_glued(place: Place, mark: str, term: int, first: int) -> Verdict:
    """A capital right behind the mark: `one.Sentence` is two, `example.Com` and `U.S.Army` are not.

    Behind a name ("Bob.Then") the next word must be one that begins sentences.
    """
    text = place.text
    run = _RUN_BEFORE.match(text, 0, term)
    word = None if run is None else _PLAIN_WORD.fullmatch(run[0])
    if word is None or not text[first : first + 1].isupper():
        return Verdict.NONE
    after = _WORD_AFTER.match(text, first)
    if after is None:
        return Verdict.NONE
    if after.end() == len(text) and not place.final and len(after[0]) < MAX_WORD:
        return Verdict.WAIT
    follower = after[0].lower()
    if follower in ENDINGS or not after[0][1:].islower() and len(follower) > 1:
        return Verdict.NONE
    if text[after.end() : after.end() + 1] in ("(", ".", "_", "/"):
        return Verdict.NONE if mark == "." else Verdict.SENTENCE
    known = word[0].islower() or follower in STARTERS
    return Verdict.SENTENCE if known or mark != "." else Verdict.NONE


def _judge_full_stop(place: Place, term: int, first: int, char: str) -> Verdict:
    text = place.text
    if place.sentence_start >= 0 and _LIST_MARKER.fullmatch(text, place.sentence_start, term):
        return Verdict.NONE
    word = word_before(text, term)
    if word.isdigit() and char.isdigit():
        return Verdict.NONE
    if word.lower() in BEFORE_NUMBER and char.isdigit():
        return Verdict.NONE
    known = Verdict.WAIT if word.isdigit() else _abbreviation(word)
    if known == Verdict.NONE:
        return Verdict.NONE
    if known == Verdict.SENTENCE:
        return Verdict.SENTENCE
    if char.islower() or char.isdigit():
        return Verdict.NONE
    after = _WORD_AFTER.match(text, first)
    if after is None:
        return Verdict.SENTENCE
    more = after.end() == len(text) or after.end() == len(text) - 1 and text[-1] in "'’"
    if more and not place.final and len(after[0]) < MAX_WORD:
        return Verdict.WAIT
    follower = after[0].lower().replace("’", "'")
    if word.isdigit():
        return Verdict.NONE if follower in AFTER_ORDINAL else Verdict.SENTENCE
    starts = follower in STARTERS or _ELISION.match(follower) is not None
    return Verdict.SENTENCE if starts else Verdict.NONE


def _abbreviation(word: str) -> Verdict:
    """What a full stop after the word is: NONE (never an end), SENTENCE, or WAIT (it depends)."""
    lower = word.lower()
    if lower in NEVER_FINAL:
        return Verdict.NONE
    initial = word.strip("-")
    single = len(initial) == 1 and (initial.isupper() or initial.islower())
    if single or lower in MAYBE_FINAL or lower.endswith("str") or _INNER_DOTS.fullmatch(word):
        return Verdict.WAIT
    return Verdict.SENTENCE


def _judge_inside(text: str, gap: int, position: int, first: int, final: bool) -> Verdict:
    """Not after an end mark: a clause, a phrase, a word, or nothing."""
    previous = text[gap - 1]
    kind = kind_of(previous)
    following = text[first] if first < len(text) else " "
    spaced = gap < position
    if previous.isdigit() and following.isdigit():
        return Verdict.NONE
    if any(char in NO_BREAK_SPACES for char in text[gap:position]):
        return Verdict.NONE
    if previous in DASHES:
        apart = gap < 2 or bool(kind_of(text[gap - 2]) & Kind.SPACE) or previous == "—"
        span = following.isdigit() and bool(_NUMBER_BEFORE_DASH.match(text, 0, gap))
        return Verdict.CLAUSE if apart and not span else Verdict.NONE
    if kind & Kind.PAUSE and (spaced or kind & Kind.BARE_PAUSE):
        return _judge_comma(text, gap, first, final)
    # A tag belongs to what follows it.
    if not spaced or kind & Kind.OPEN or previous in MARKUP or previous in "]>":
        return Verdict.NONE
    if kind & Kind.SA and kind_of(following) & Kind.SA:
        return Verdict.PHRASE
    if kind & Kind.CJK and kind_of(following) & Kind.CJK:
        return Verdict.CLAUSE
    token = _TOKEN_BEFORE.match(text, 0, gap)
    return Verdict.NONE if token is not None and is_open(token[0]) else Verdict.WORD


def _judge_comma(text: str, gap: int, first: int, final: bool) -> Verdict:
    """A comma inside a date, an address or a name is no place to stop: July 4, 2024; Austin, TX."""
    following = text[first] if first < len(text) else " "
    if text[gap - 2 : gap - 1].isdigit() and following.isdigit():
        return Verdict.NONE
    word = word_before(text, gap - 1)
    if text[gap - 1] != "," or not word[:1].isupper() or not following.isalnum():
        return Verdict.CLAUSE
    if word.lower() in DATE_WORDS and (following.isdigit() or following.isupper()):
        return Verdict.NONE
    after = _TOKEN_AFTER.match(text, first)
    if after is None or not after[0][:1].isupper():
        return Verdict.CLAUSE
    if after.end() == len(text) and not final and len(after[0]) < _MAX_TAIL:
        return Verdict.WAIT
    tail = after[0].rstrip(".,;:!?")
    is_state = len(tail) == 2 and tail.isupper()
    return Verdict.NONE if is_state or tail.lower() in NAME_TAILS else Verdict.CLAUSE
