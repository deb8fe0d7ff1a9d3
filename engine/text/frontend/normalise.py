"""Written English -> what is said, each word with the characters of the text it came from.

One pass over the text: at every place the first pattern of a table that matches decides. Dates,
money, times and the like become words; tags stay tags; marks that shape the sentence stay marks;
the rest is silent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from engine.text.frontend import numbers, say, scripts
from engine.text.frontend.phones import TAG_TOKENS
from engine.text.frontend.tables import (
    ABBREVIATIONS,
    CAPITALISED,
    CURRENCIES,
    MONTHS,
    ROMAN,
    SYMBOLS,
    TITLES,
    UNITS,
)

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Item:
    """`text` is a word to say (kind "word"), a mark such as "," ("mark"), or a tag ("tag")."""

    kind: str
    text: str
    span: Span


Handler = Callable[[re.Match[str]], list[str]]
_NUMBER = r"\d{1,3}(?:,\d{3})+|\d+"
_MONTH = "|".join([*MONTHS, *(f"{name[:3]}\\.?" for name in MONTHS), "Sept\\.?"])
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
# "Max." and "Fig." with a capital are names, "St." and "Inc." belong to names.
_ABBREVIATED = [
    spelling
    for short in ABBREVIATIONS
    if short.count(".") == 1
    for spelling in ((short, short.capitalize()) if short in CAPITALISED else (short,))
]
_CURRENCY = "[" + "".join(CURRENCIES) + "]"
_AMOUNT = rf"(?P<amount>(?:{_NUMBER})(?:\.\d+)?)"
_REAL = rf"(?:{_NUMBER})(?:\.\d+)?"
_DAY_FIRST = r"(?P<day>3[01]|[12]\d|[1-9])(?:st|nd|rd|th)?"
_DAY_LAST = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s(?P<year>1[1-9]\d\d|20\d\d)\b)?"
_MINUTES = r":(?P<minute>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<half>[AaPp]\.?[Mm]\b\.?))?"
_SCALE = r"(?:\s?(?P<scale>(?i:hundred|thousand|million|billion|trillion)))?\b"
_ISO, _US = (
    r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})",
    r"(?P<m2>\d{1,2})/(?P<d2>\d{1,2})/(?P<y2>\d{4}|\d\d)",
)
_PHONE = r"(?:\+\d{1,3}[\s.-]?)?(?:\(\d{3}\)\s?|\b\d{3}[\s.-])\d{3}[\s.-]\d{4}\b|\b\d{3}-\d{4}\b"
_SHORT = "|".join(map(re.escape, _ABBREVIATED))
_WIDE_MARKS = dict(zip("。！？，；：、।۔؟،؛", ".!?,;:,..?,;", strict=True))

# (kind, pattern, handler), the first match counts
_TABLE: tuple[tuple[str, str, Handler], ...] = (
    ("word", r"(?:https?://|www\.)[^\s<>\"]*[\w/]|[\w.+-]+@[\w-]+\.[\w.-]*\w", say.address),
    ("word", r"\b[A-Za-z][\w-]*\.(?:com|org|net|edu|gov|io|dev|co\.uk)\b", say.address),
    ("word", rf"(?P<currency>{_CURRENCY})\s?{_AMOUNT}{_SCALE}", say.money),
    ("word", rf"\b(?:{_ISO}|{_US})\b", say.numeric_date),
    ("word", rf"\b(?P<hour>[01]?\d|2[0-3]){_MINUTES}", say.clock),
    ("word", r"\b(?P<hour>1[0-2]|[1-9])\s?(?P<half>[AaPp](?:\.[Mm]\.|[Mm]\b))", say.hour),
    ("word", rf"\b(?P<month>(?i:{_MONTH}))\s{_DAY_LAST}\b(?!:|\.\d){_YEAR}", say.month_day),
    ("word", rf"\b{_DAY_FIRST}\s(?P<month>(?i:{_MONTH}))\b{_YEAR}", say.day_month),
    ("word", _PHONE, lambda m: numbers.digits(m[0])),
    ("word", r"\b(?P<decade>1[1-9]\d0|20\d0)'?s\b", say.decade),
    ("word", r"['’](?P<decade>[1-9]0)s\b", say.decade),
    ("word", rf"(?P<sign>(?<!\w)[-−])?{_AMOUNT}\s?(?P<unit>{_UNIT})(?![\w%])", say.unit),
    ("word", r"(?P<n>\d+(?:,\d{3})*)(?:st|nd|rd|th)\b", say.ordinal),
    ("word", r"\b(?P<top>\d{1,2})/(?P<bottom>[1-9]\d{0,2})\b", say.fraction),
    ("word", rf"\b(?P<low>{_REAL})\s?[-–]\s?(?P<high>{_REAL})\b", say.span_of_numbers),
    ("word", r"#(?=\d)|\b[Nn]os?\.\s?(?=\d)", lambda m: ["number"]),
    ("word", rf"(?<![\w.])[-−](?P<n>{_REAL})(?!\w)", lambda m: ["minus", *say.real(m["n"])]),
    ("word", r"\b\d+(?:\.\d+){2,}\b", say.version),
    ("word", rf"(?:\b(?:{_NUMBER}))?\.\d+(?!\w)|\b(?:{_NUMBER})(?![\w])", lambda m: say.real(m[0])),
    ("word", r"\b(?:[A-Za-z]\.){2,}", say.initials),
    ("word", rf"\b(?:{'|'.join(TITLES)})\.(?=\s+[A-Z])|\b(?:{_SHORT})(?=\s|,|$)", say.abbreviation),
    (
        "word",
        rf"(?<=[a-z] )(?:{'|'.join(ROMAN)})\b(?!['’])",
        lambda m: numbers.cardinal(ROMAN[m[0]]),
    ),
    ("word", scripts.FOREIGN, scripts.latin_words),
    ("word", r"[^\W_]+(?:['’][^\W\d_]+)*(?:(?<=s)['’](?=\s|$))?", say.word),
    ("word", f"[{re.escape(''.join(SYMBOLS))}]", lambda m: SYMBOLS[m[0]].split()),
    ("mark", r"\.{2,}|…", lambda m: ["…"]),
    ("mark", r"[—–]|(?<=\s)-+(?=\s)|--+", lambda m: ["—"]),
    ("mark", r"[()\[\]{}]", lambda m: [","]),
    ("mark", r"\n\s*", lambda m: ["."]),
    ("mark", r"[.!?]+", lambda m: ["?" if "?" in m[0] else m[0][-1]]),
    ("mark", r"[,;:]", lambda m: [m[0]]),
    ("mark", f"[{''.join(_WIDE_MARKS)}]", lambda m: [_WIDE_MARKS[m[0]]]),
)
_TAG = re.compile(r"\[([A-Za-z][A-Za-z ,'-]{0,40})\]|<\|speaker:(\d+)\|>")
_PATTERNS = tuple((kind, re.compile(pattern), handler) for kind, pattern, handler in _TABLE)


def _plain_digits(text: str) -> str:
    """Digits of any script as 0 to 9, character by character."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in text)


def normalise(text: str) -> list[Item]:
    """Words, marks and tags of a text, in order; what cannot be said is left out."""
    text = _plain_digits(text)
    items: list[Item] = []
    at = 0
    while at < len(text):
        tag = _TAG.match(text, at)
        if tag is not None:
            name = tag[0].lower()
            if tag[2] is not None or name in TAG_TOKENS:
                items.append(Item("tag", name, tag.span()))
            at = tag.end()
            continue
        for kind, pattern, handler in _PATTERNS:
            match = pattern.match(text, at)
            if match is not None and match.end() > at:
                items += [Item(kind, word, match.span()) for word in handler(match)]
                at = match.end()
                break
        else:
            at += 1
    return items


def plain_letters(word: str) -> str:
    """A word in the 26 letters where accents can be taken off: café -> cafe."""
    folded = (
        word.replace("ß", "ss")
        .replace("æ", "ae")
        .replace("ø", "o")
        .replace("œ", "oe")
        .replace("ł", "l")
    )
    return "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))


def spoken_words(text: str) -> str:
    """The words of a text, one space between them: for comparing two texts by what is said."""
    return " ".join(item.text for item in normalise(text) if item.kind == "word")
