"""What German, French and Spanish share: numbers, money, dates, times and units from a table.

Number words are num2words'. A language adds its names, how it joins them, and what "one" is
before a noun; rules of its own (14h30, 3. Mai) stand in its own module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from num2words import num2words

from engine.reading.types import Language, Match, Rule, Spoken, rule

_INTEGER = r"(?:\d{1,3}(?:[.\u00a0\u202f ]\d{3})+(?!\d)|\d+)"
NUMBER = rf"{_INTEGER}(?:,\d+)?"
MAX_DIGITS = 15
"""Longer numbers are read digit by digit."""
_NOT_BEFORE = r"(?<![\w.,/:-])"
_NO_MORE = r"(?![\w]|[.,/:]\d)"
_CODES = {"€": "EUR", "$": "USD", "£": "GBP"}


@dataclass(frozen=True)
class Noun:
    """A counted thing: how one of them is said, article and all, and its plural."""

    one: str  # "ein Euro"
    many: str  # "Euro"
    feminine: bool = False


@dataclass(frozen=True)
class Locale:
    """One language's words."""

    code: str
    comma: str  # the decimal mark: Komma, virgule, coma
    minus: str
    percent: str
    currencies: Mapping[str, tuple[Noun, Noun]]  # "EUR" -> the unit, its hundredth
    units: Mapping[str, Noun]
    and_cents: str  # between the unit and its hundredths
    date: Callable[[int, int, int | None, str], str]  # day, month, year, the word before
    clock: Callable[[int, int], str]  # hour, minute
    counted: Callable[[int, Noun], str]  # a number before a noun


def cardinal(number: int, code: str) -> str:
    """A number in words."""
    return str(num2words(number, lang=code))


def spelled(digits: str, code: str) -> str:
    """Digit by digit."""
    return " ".join(cardinal(int(digit), code) for digit in digits)


def decimal(text: str, locale: Locale) -> str:
    """1.299,50 in words."""
    whole, comma, fraction = text.partition(",")
    whole = re.sub(r"\D", "", whole)
    if len(whole) > MAX_DIGITS or len(whole) > 1 and whole[0] == "0":
        words = spelled(whole, locale.code)
    else:
        words = cardinal(int(whole), locale.code)
    return f"{words} {locale.comma} {spelled(fraction, locale.code)}" if comma else words


def amount(text: str, noun: Noun, locale: Locale) -> str:
    """A quantity with what is counted."""
    figures = re.sub(r"\D", "", text)
    if "," in text or len(figures) > MAX_DIGITS:
        return f"{decimal(text, locale)} {noun.many}"
    return locale.counted(int(figures), noun)


def language(
    locale: Locale, own: tuple[Rule, ...] = (), triggers: tuple[str, ...] = ()
) -> Language:
    """The rules of a language: its own first."""

    def money(match: Match) -> Spoken:
        code = _CODES.get(match["currency"], match["currency"])
        unit, cent = locale.currencies[code]
        whole, _, cents = match["amount"].partition(",")
        if cents and len(cents) != 2:
            return amount(match["amount"], unit, locale)
        some = re.search(r"[1-9]", whole) is not None
        words = [amount(whole, unit, locale)] if some or not cents else []
        if cents and int(cents):
            words.append(locale.counted(int(cents), cent))
        return locale.and_cents.join(words) or amount(whole, unit, locale)

    def numeric_date(match: Match) -> Spoken:
        day, month, year = (int(match[group]) for group in ("day", "month", "year"))
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return None
        return locale.date(day, month, year, word_before(match))

    def clock(match: Match) -> Spoken:
        return locale.clock(int(match["hour"]), int(match["minute"] or 0))

    def unit(match: Match) -> Spoken:
        return amount(match["amount"], locale.units[match["unit"]], locale)

    symbols = "|".join(re.escape(s) for s in sorted(locale.units, key=len, reverse=True))
    currency = "(?P<currency>" + "|".join(map(re.escape, (*_CODES, *locale.currencies))) + ")"
    figure = rf"(?P<amount>{NUMBER})"
    return Language(
        locale.code,
        (
            *own,
            rule("date", r"\d", r"(?P<day>\d{1,2})(?P<mark>[./])(?P<month>\d{1,2})(?P=mark)"
                 r"(?P<year>\d{4})(?!\d)", numeric_date),
            rule("date", r"\d", r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?![\d-])",
                 numeric_date),
            rule("time", r"\d", r"(?P<hour>2[0-4]|[01]?\d):(?P<minute>[0-5]\d)(?![:\d])", clock),
            rule("money", r"\d", rf"{figure}\s?{currency}(?!\w)", money),
            rule("money", r"[€$£A-Z]", rf"{currency}\s?{figure}{_NO_MORE}", money),
            rule("percent", r"\d", rf"(?P<amount>{NUMBER})\s?%",
                 lambda m: f"{decimal(m['amount'], locale)} {locale.percent}"),
            rule("measure", r"\d", rf"{figure}\s?(?P<unit>{symbols})(?!\w)", unit),
            rule("sign", r"[-−–]", r"(?<![\w)])[-−–](?=\d)", locale.minus),
            rule("number", r"\d", rf"{_NOT_BEFORE}{NUMBER}{_NO_MORE}",
                 lambda m: decimal(m[0], locale)),
        ),
        frozenset(triggers),
    )  # fmt: skip


def word_before(match: Match) -> str:
    """The word before the match, in lower case."""
    found = re.search(r"([^\W\d_]+)\s\Z", match.string[max(0, match.start() - 20) : match.start()])
    return found[1].lower() if found else ""


def month_names(months: tuple[str, ...]) -> str:
    """A pattern for the months written out."""
    return "(?P<name>(?i:" + "|".join(months) + "))"


def month_number(name: str, months: tuple[str, ...]) -> int:
    """März -> 3."""
    return [month.lower() for month in months].index(name.lower()) + 1
