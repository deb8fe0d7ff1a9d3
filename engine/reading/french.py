"""French: numbers, money, dates, times and common units."""

from __future__ import annotations

from engine.reading import continental
from engine.reading.continental import Locale, Noun, cardinal
from engine.reading.types import Match, Spoken, rule

MONTHS = (
    "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
    "octobre", "novembre", "décembre",
)  # fmt: skip


def _counted(number: int, noun: Noun) -> str:
    words = cardinal(number, "fr")
    if noun.feminine and words.endswith("un"):
        words += "e"
    if words.endswith(("million", "millions", "milliard", "milliards")):
        return f"{words} {'d’' if noun.many[0] in 'aeiouh' else 'de '}{noun.many}"
    return noun.one if number == 1 else f"{words} {noun.many if number else noun.many}"


def _date(day: int, month: int, year: int | None, before: str) -> str:
    words = "premier" if day == 1 else cardinal(day, "fr")
    said = f"{words} {MONTHS[month - 1]}"
    return said if year is None else f"{said} {cardinal(year, 'fr')}"


_HOUR = Noun("une heure", "heures", feminine=True)


def _clock(hour: int, minute: int) -> str:
    words = _counted(hour, _HOUR)
    return f"{words} {cardinal(minute, 'fr')}" if minute else words


def _day_month(match: Match) -> Spoken:
    month = continental.month_number(match["name"], MONTHS)
    year = int(match["year"]) if match["year"] else None
    return _date(int(match["day"]), month, year, "")


_LOCALE = Locale(
    code="fr",
    comma="virgule",
    minus="moins",
    percent="pour cent",
    currencies={
        "EUR": (Noun("un euro", "euros"), Noun("un centime", "centimes")),
        "USD": (Noun("un dollar", "dollars"), Noun("un cent", "cents")),
        "GBP": (Noun("une livre", "livres", True), Noun("un penny", "pence")),
        "CHF": (Noun("un franc", "francs"), Noun("un centime", "centimes")),
    },
    units={
        "km/h": Noun("un kilomètre à l’heure", "kilomètres à l’heure"),
        "km": Noun("un kilomètre", "kilomètres"), "cm": Noun("un centimètre", "centimètres"),
        "mm": Noun("un millimètre", "millimètres"), "m": Noun("un mètre", "mètres"),
        "kg": Noun("un kilogramme", "kilogrammes"), "g": Noun("un gramme", "grammes"),
        "ml": Noun("un millilitre", "millilitres"), "l": Noun("un litre", "litres"),
        "°C": Noun("un degré Celsius", "degrés Celsius"), "°": Noun("un degré", "degrés"),
        "Go": Noun("un gigaoctet", "gigaoctets"), "Mo": Noun("un mégaoctet", "mégaoctets"),
        "min": Noun("une minute", "minutes", True),
    },
    and_cents=" et ",
    date=_date,
    clock=_clock,
    counted=_counted,
)  # fmt: skip

LANGUAGE = continental.language(
    _LOCALE,
    own=(
        rule("date", r"\d", r"(?P<day>3[01]|[12]\d|0?[1-9])(?:er)?\s"
             rf"{continental.month_names(MONTHS)}\b"
             r"(?:\s(?P<year>[12]\d{3})\b)?", _day_month),
        rule("time", r"\d", r"(?P<hour>2[0-4]|1\d|0?\d)\s?h(?:\s?(?P<minute>[0-5]\d))?\b",
             lambda m: _clock(int(m["hour"]), int(m["minute"] or 0))),
        rule("ordinal", r"\d", r"1(?:er|re)\b",
             lambda m: "premier" if m[0] == "1er" else "première"),
    ),
)  # fmt: skip
