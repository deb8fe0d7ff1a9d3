"""Text -> phone tokens with the characters each one stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.reading import Kind, Word, read
from engine.text.frontend import phones
from engine.text.frontend.lexicon import Lexicon, load_lexicon
from engine.text.frontend.scripts import latin_words

Span = tuple[int, int]
_TAG = re.compile(r"\[([A-Za-z][A-Za-z ,'-]{0,40})\]|<\|speaker:(\d+)\|>")

# The dictionary's marks as the voice knows them; a comma or a dash weighs the same to it.
_STRENGTH = {mark: rank for rank, mark in enumerate(",—:;….!?")}


# After these a word of two readings is a verb, or a noun.
_BEFORE_VERB = frozenset(
    "to will would can could should must may might shall please don't didn't doesn't won't can't "
    "cannot not i we you they let's let i'll we'll you'll they'll who".split()
)
_BEFORE_NOUN = frozenset(
    "the a an my your his her our their its this that these those of no any some each every".split()
)


class Reader:
    """Reads text aloud, on paper. Shared by threads: holds only the lexicon."""

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        """`lexicon`: by default the package's own."""
        self._lexicon = lexicon or load_lexicon()

    def __call__(self, text: str) -> tuple[list[str], list[Span]]:
        """Phone, mark and tag tokens, and for each the characters [start, end) of `text`.

        Words are separated by a boundary token, which belongs to the word before. A text without
        a word gives no phone tokens.
        """
        tokens: list[str] = []
        spans: list[Span] = []

        def put(token: str, span: Span) -> None:
            tokens.append(token)
            spans.append(span)

        items = _tidy(items_of(text))
        for index, item in enumerate(items):
            span = (item.start, item.end)
            if item.kind is Kind.MARK or item.kind is Kind.KEPT and item.text != phones.PAUSE:
                put(item.text, span)
                continue
            sounds = [item.text] if item.kind is Kind.KEPT else self._word(items, index)
            if not sounds:
                continue
            if tokens and tokens[-1] not in phones.STYLES and not tokens[-1].startswith("<"):
                put(phones.SPACE, spans[-1])
            for sound in sounds:
                put(sound, span)
        return tokens, spans

    def _word(self, items: list[Word], index: int) -> list[str]:
        word = items[index].text
        after = items[index + 1] if index + 1 < len(items) else None
        follower = after.text if after is not None and after.kind is Kind.WORD else None
        phonemes = self._lexicon(word)
        lower = word.lower()
        if lower == "a" and (
            follower is None or word == "A" and (index > 0 or _is_letter(follower))
        ):
            phonemes = "ˈA"
        elif lower in ("the", "to"):
            phonemes = self._weak(lower, follower)
        elif lower == "used" and follower is not None and follower.lower() == "to":
            phonemes = "jˈust"
        elif lower in ("am", "in") and follower is None:
            phonemes = {"am": "ˈæm", "in": "ˈɪn"}[lower]
        else:
            phonemes = self._in_context(items, index) or phonemes
        return phones.parse(phonemes)[0]

    def _in_context(self, items: list[Word], index: int) -> str | None:
        before = items[index - 1] if index else None
        if before is None or before.kind is not Kind.WORD:
            # A sentence that starts with such a word is mostly an order: close the door.
            return self._lexicon.as_part(items[index].text, "verb")
        if before.text.lower() in _BEFORE_VERB:
            return self._lexicon.as_part(items[index].text, "verb")
        if before.text.lower() in _BEFORE_NOUN:
            return self._lexicon.as_part(items[index].text, "noun")
        return None

    def _weak(self, word: str, follower: str | None) -> str:
        if follower is None:
            return {"the": "ðə", "to": "tu"}[word]
        start = self._lexicon(follower).lstrip("ˈˌ")[:1]
        before_vowel = start in phones.VOWELS
        return {"the": ("ðə", "ði"), "to": ("tə", "tʊ")}[word][before_vowel]


def items_of(text: str) -> Iterator[Word]:
    """Words in Latin letters, marks and the tags that the voice knows."""
    for item in read(text, kept=[match.span() for match in _TAG.finditer(text)]).items:
        if item.kind is Kind.WORD:
            for word in latin_words(item.text):
                yield Word(word, item.start, item.end)
        elif item.kind is Kind.MARK:
            yield item
        elif item.text.lower() in phones.TAG_TOKENS or item.text.startswith("<"):
            yield Word(item.text.lower(), item.start, item.end, Kind.KEPT)


def _is_letter(word: str) -> bool:
    """A lone capital is spoken by its name: A P I."""
    return len(word) == 1 and word.isupper()


def _tidy(items: Iterator[Word]) -> list[Word]:
    """No mark at the start or after a tag, and of several marks in a row the strongest."""
    result: list[Word] = []
    for item in items:
        if item.kind is Kind.MARK:
            if not result or result[-1].kind is Kind.KEPT and result[-1].text != phones.PAUSE:
                continue
            if result[-1].kind is Kind.MARK:
                if _STRENGTH[item.text] > _STRENGTH[result[-1].text]:
                    result[-1] = item
                continue
        result.append(item)
    return result
