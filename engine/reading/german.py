"""German: numbers, money, dates, times and common units."""

from __future__ import annotations

from num2words import num2words

from engine.reading import continental
from engine.reading.continental import Locale, Noun, cardinal
from engine.reading.types import Match, Spoken, rule

MONTHS = (
    "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
    "November", "Dezember",
)  # fmt: skip
# After these a day of the month takes the ending -n: am dritten Mai.
_DATIVE = frozenset("am vom zum dem den bis ab seit beim im".split())


def _counted(number: int, noun: Noun) -> str:
    return noun.one if number == 1 else f"{cardinal(number, 'de')} {noun.many}"


def _date(day: int, month: int, year: int | None, before: str) -> str:
    words = str(num2words(day, to="ordinal", lang="de"))
    words += "n" if before in _DATIVE else "" if before in ("der", "die", "das") else "r"
    said = f"{words} {MONTHS[month - 1]}"
    return said if year is None else f"{said} {num2words(year, to='year', lang='de')}"


def _clock(hour: int, minute: int) -> str:
    words = f"{'ein' if hour == 1 else cardinal(hour, 'de')} Uhr"
    return f"{words} {cardinal(minute, 'de')}" if minute else words


def _day_month(match: Match) -> Spoken:
    month = continental.month_number(match["name"], MONTHS)
    year = int(match["year"]) if match["year"] else None
    return _date(int(match["day"]), month, year, continental.word_before(match))


_LOCALE = Locale(
    code="de",
    comma="Komma",
    minus="minus",
    percent="Prozent",
    currencies={
        "EUR": (Noun("ein Euro", "Euro"), Noun("ein Cent", "Cent")),
        "USD": (Noun("ein Dollar", "Dollar"), Noun("ein Cent", "Cent")),
        "GBP": (Noun("ein Pfund", "Pfund"), Noun("ein Penny", "Pence")),
        "CHF": (Noun("ein Franken", "Franken"), Noun("ein Rappen", "Rappen")),
    },
    units={
        "km/h": Noun("ein Kilometer pro Stunde", "Kilometer pro Stunde"),
        "km": Noun("ein Kilometer", "Kilometer"), "cm": Noun("ein Zentimeter", "Zentimeter"),
        "mm": Noun("ein Millimeter", "Millimeter"), "m": Noun("ein Meter", "Meter"),
        "kg": Noun("ein Kilogramm", "Kilogramm"), "g": Noun("ein Gramm", "Gramm"),
        "ml": Noun("ein Milliliter", "Milliliter"), "l": Noun("ein Liter", "Liter"),
        "°C": Noun("ein Grad Celsius", "Grad Celsius"), "°": Noun("ein Grad", "Grad"),
        "GB": Noun("ein Gigabyte", "Gigabyte"), "MB": Noun("ein Megabyte", "Megabyte"),
        "Min.": Noun("eine Minute", "Minuten"), "Std.": Noun("eine Stunde", "Stunden"),
    },
    and_cents=" und ",
    date=_date,
    clock=_clock,
    counted=_counted,
)  # fmt: skip

LANGUAGE = continental.language(
    _LOCALE,
    own=(
        rule("date", r"\d", rf"(?P<day>3[01]|[12]\d|0?[1-9])\.\s?{continental.month_names(MONTHS)}"
             r"(?:\s(?P<year>[12]\d{3})\b)?", _day_month),
        rule("time", r"\d", r"(?P<hour>2[0-4]|1\d|0?\d)(?:[:.](?P<minute>[0-5]\d))?\sUhr\b",
             lambda m: _clock(int(m["hour"]), int(m["minute"] or 0))),
        rule("year", r"\d", r"(?:(?<=im\sJahr\s)|(?<=Jahre\s))(?:1[1-9]\d\d|20\d\d)\b",
             lambda m: str(num2words(int(m[0]), to="year", lang="de"))),
    ),
)  # fmt: skip
