"""Written English -> what is said, each word with the characters of the text it came from.

One pass over the text: at every place the first pattern of a table that matches decides. Dates, money, times
and the like become words; tags stay tags; marks that shape the sentence stay marks; the rest is silent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from engine.frontend import numbers
from engine.frontend.phones import TAG_TOKENS
from engine.frontend.tables import (
    ABBREVIATIONS,
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
_MONTHS_BY_START = {name[:3].lower(): name for name in MONTHS}
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_CURRENCY = "[" + "".join(CURRENCIES) + "]"


def _number(text: str) -> list[str]:
    """Digits with or without commas: a year, a count, or a code read digit by digit."""
    plain = text.replace(",", "")
    if plain != text:
        return numbers.cardinal(int(plain))
    if len(plain) > 1 and plain[0] == "0" or len(plain) > 7:
        return numbers.digits(plain)
    if len(plain) == 4 and 1100 <= int(plain) <= 2099:
        return numbers.year(int(plain))
    return numbers.cardinal(int(plain))


def _real(text: str) -> list[str]:
    whole, point, fraction = text.partition(".")
    return numbers.decimal(whole, fraction) if point and fraction else _number(whole)


def _quantity(text: str) -> list[str]:
    """As `_real`, but never a year: 1998 kg."""
    whole, point, fraction = text.partition(".")
    if point and fraction:
        return numbers.decimal(whole, fraction)
    return numbers.cardinal(int(whole.replace(",", "")))


def _money(match: re.Match[str]) -> list[str]:
    unit, cent = CURRENCIES[match["currency"]]
    whole, _, fraction = match["amount"].partition(".")
    if scale := match["scale"]:
        return [*_quantity(match["amount"]), scale.lower(), unit[1]]
    count = int(whole.replace(",", ""))
    words = [*numbers.cardinal(count), unit[count != 1]] if count or not fraction else []
    if fraction and (cents := int((fraction + "0")[:2])):
        words += [*(["and"] if words else []), *numbers.cardinal(cents), cent[cents != 1]]
    return words or ["zero", unit[1]]


def _half_of_day(text: str | None) -> list[str]:
    return [text[0].upper(), "M"] if text else []


def _clock(match: re.Match[str]) -> list[str]:
    hour, minute = int(match["hour"]), int(match["minute"])
    half = _half_of_day(match["half"])
    if minute == 0:
        return [*numbers.cardinal(hour), *(half or ["o'clock" if hour < 13 else "hundred"])]
    low = ["oh", *numbers.cardinal(minute)] if minute < 10 else numbers.cardinal(minute)
    return [*numbers.cardinal(hour), *low, *half]


def _month_name(text: str) -> str:
    return _MONTHS_BY_START[text[:3].lower()]


def _month_day(match: re.Match[str]) -> list[str]:
    words = [_month_name(match["month"]), *numbers.ordinal(int(match["day"]))]
    return words + (numbers.year(int(match["year"])) if match["year"] else [])


def _day_month(match: re.Match[str]) -> list[str]:
    before = match.string[: match.start()].rstrip().lower()
    article = [] if before.endswith("the") else ["the"]
    words = [*article, *numbers.ordinal(int(match["day"])), "of", _month_name(match["month"])]
    return words + (numbers.year(int(match["year"])) if match["year"] else [])


def _numeric_date(match: re.Match[str]) -> list[str]:
    """ISO, or month/day/year as in the United States."""
    month, day = int(match["m"] or match["m2"]), int(match["d"] or match["d2"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return numbers.digits(match[0])
    date = int(match["y"] or match["y2"])
    return [MONTHS[month - 1], *numbers.ordinal(day), *numbers.year(date if date > 99 else 2000 + date)]


def _unit(match: re.Match[str]) -> list[str]:
    one, many = UNITS[match["unit"]]
    words = _quantity(match["amount"])
    return [*(["minus"] if match["sign"] else []), *words, *(one if words == ["one"] else many).split()]


def _fraction(match: re.Match[str]) -> list[str]:
    top, bottom = int(match["top"]), int(match["bottom"])
    if bottom == 2:
        name = ["half" if top == 1 else "halves"]
    elif bottom == 4:
        name = ["quarter" if top == 1 else "quarters"]
    elif 2 < bottom < 100:
        name = numbers.ordinal(bottom)
        name[-1] += "" if top == 1 else "s"
    else:
        return [*numbers.cardinal(top), "over", *numbers.cardinal(bottom)]
    return [*numbers.cardinal(top), *name]


def _address(match: re.Match[str]) -> list[str]:
    """E-mail and web addresses, sign by sign."""
    words: list[str] = []
    for part in re.findall(r"[A-Za-z]+|\d+|[^A-Za-z\d]", match[0].removeprefix("https://").removeprefix("http://")):
        if part.isdigit():
            words += numbers.digits(part) if len(part) > 2 else _number(part)
        elif part.lower() == "www":
            words += ["W", "W", "W"]
        elif part[0].isalpha():
            words.append(part)
        else:
            words += {".": ["dot"], "@": ["at"], "/": ["slash"], "-": ["dash"], "_": ["underscore"]}.get(part, [])
    return words


def _range(match: re.Match[str]) -> list[str]:
    return [*_real(match["low"]), "to", *_real(match["high"])]


def _word(match: re.Match[str]) -> list[str]:
    text = match[0].replace("’", "'")
    pieces = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)*'?|\d+", text)
    words: list[str] = []
    for piece in pieces:
        if piece.isdigit():
            # Letters and digits together are a name: AB1234 is read in digits, A4 in numbers.
            words += numbers.cardinal(int(piece)) if len(piece) < 3 and piece[0] != "0" else numbers.digits(piece)
        else:
            words += [part for part in re.findall(r"[^\W\d_]+?(?=[A-Z][a-z])|[a-z]{2,}(?=[A-Z])|.+", piece) if part]
    return words


_TABLE: tuple[tuple[str, str, Handler], ...] = (
    ("word", r"(?:https?://|www\.)[^\s<>\"]*[\w/]|[\w.+-]+@[\w-]+\.[\w.-]*\w", _address),
    ("word", r"\b[A-Za-z][\w-]*\.(?:com|org|net|edu|gov|io|dev|co\.uk)\b", _address),
    ("word", rf"(?P<currency>{_CURRENCY})\s?(?P<amount>(?:{_NUMBER})(?:\.\d+)?)"
             r"(?:\s?(?P<scale>(?i:hundred|thousand|million|billion|trillion)))?\b", _money),
    ("word", r"\b(?:(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})|(?P<m2>\d{1,2})/(?P<d2>\d{1,2})/(?P<y2>\d{4}|\d{2}))\b",
     _numeric_date),
    ("word", r"\b(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<half>[AaPp]\.?[Mm]\b\.?))?",
     _clock),
    ("word", r"\b(?P<hour>1[0-2]|[1-9])\s?(?P<half>[AaPp](?:\.[Mm]\.|[Mm]\b))",
     lambda m: [*numbers.cardinal(int(m["hour"])), *_half_of_day(m["half"])]),
    ("word", rf"\b(?P<month>(?i:{_MONTH}))\s(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?\b(?!:|\.\d)"
             r"(?:,?\s(?P<year>1[1-9]\d\d|20\d\d)\b)?", _month_day),
    ("word", rf"\b(?P<day>3[01]|[12]\d|[1-9])(?:st|nd|rd|th)?\s(?P<month>(?i:{_MONTH}))\b"
             r"(?:,?\s(?P<year>1[1-9]\d\d|20\d\d)\b)?", _day_month),
    ("word", r"(?:\+\d{1,3}[\s.-]?)?(?:\(\d{3}\)\s?|\b\d{3}[\s.-])\d{3}[\s.-]\d{4}\b|\b\d{3}-\d{4}\b",
     lambda m: numbers.digits(m[0])),
    ("word", r"\b(?P<decade>1[1-9]\d0|20\d0)'?s\b", lambda m: numbers.plural(numbers.year(int(m["decade"])))),
    ("word", r"['’](?P<decade>[1-9]0)s\b", lambda m: numbers.plural(numbers.cardinal(int(m["decade"])))),
    ("word", rf"(?P<sign>(?<!\w)[-−])?(?P<amount>(?:{_NUMBER})(?:\.\d+)?)\s?(?P<unit>{_UNIT})(?![\w%])", _unit),
    ("word", r"(?P<n>\d+(?:,\d{3})*)(?:st|nd|rd|th)\b", lambda m: numbers.ordinal(int(m["n"].replace(",", "")))),
    ("word", r"\b(?P<top>\d{1,2})/(?P<bottom>[1-9]\d{0,2})\b", _fraction),
    ("word", rf"\b(?P<low>(?:{_NUMBER})(?:\.\d+)?)\s?[-–]\s?(?P<high>(?:{_NUMBER})(?:\.\d+)?)\b", _range),
    ("word", r"#(?=\d)|\b[Nn]os?\.\s?(?=\d)", lambda m: ["number"]),
    ("word", rf"(?<![\w.])[-−](?P<n>(?:{_NUMBER})(?:\.\d+)?)(?!\w)", lambda m: ["minus", *_real(m["n"])]),
    ("word", r"\b\d+(?:\.\d+){2,}\b",
     lambda m: " point ".join(" ".join(_number(p)) for p in m[0].split(".")).split()),
    ("word", rf"(?:\b(?:{_NUMBER}))?\.\d+(?!\w)|\b(?:{_NUMBER})(?![\w])", lambda m: _real(m[0])),
    ("word", r"\b(?:[A-Za-z]\.){2,}", lambda m: ABBREVIATIONS.get(m[0].lower()) or list(m[0].replace(".", "").upper())),
    ("word", r"\b(?:" + "|".join(TITLES) + r")\.(?=\s+[A-Z])|\b(?:"
     + "|".join(re.escape(a) for a in ABBREVIATIONS if a.count(".") == 1 and a.endswith(".")) + r")(?=\s|,|$)",
     lambda m: TITLES.get(m[0].rstrip(".").capitalize()) or ABBREVIATIONS[m[0].lower()]),
    ("word", r"(?<=[a-z] )(?:" + "|".join(ROMAN) + r")\b(?!['’])", lambda m: numbers.cardinal(ROMAN[m[0]])),
    ("word", r"[^\W_]+(?:['’][^\W\d_]+)*(?:(?<=s)['’](?=\s|$))?", _word),
    ("word", "[" + re.escape("".join(SYMBOLS)) + "]", lambda m: SYMBOLS[m[0]].split()),
    ("mark", r"\.{2,}|…", lambda m: ["…"]),
    ("mark", r"[—–]|(?<=\s)-+(?=\s)|--+", lambda m: ["—"]),
    ("mark", r"[()\[\]{}]", lambda m: [","]),
    ("mark", r"\n\s*", lambda m: ["."]),
    ("mark", r"[.!?]+", lambda m: ["?" if "?" in m[0] else m[0][-1]]),
    ("mark", r"[,;:]", lambda m: [m[0]]),
    ("mark", r"[。！？，；：、]", lambda m: [dict(zip("。！？，；：、", ".!?,;:,", strict=True))[m[0]]]),
)  # fmt: skip
_TAG = re.compile(r"\[([A-Za-z][A-Za-z ,'-]{0,40})\]|<\|speaker:(\d+)\|>")
_PATTERNS = tuple((kind, re.compile(pattern), handler) for kind, pattern, handler in _TABLE)


def normalise(text: str) -> list[Item]:
    """Words, marks and tags of a text, in order; what cannot be said is left out."""
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
    folded = word.replace("ß", "ss").replace("æ", "ae").replace("ø", "o").replace("œ", "oe").replace("ł", "l")
    return "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))


def spoken_words(text: str) -> str:
    """The words of a text, one space between them: for comparing two texts by what is said."""
    return " ".join(item.text for item in normalise(text) if item.kind == "word")
