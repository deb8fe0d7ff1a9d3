"""Spanish: numbers, money, dates, times and common units."""

from __future__ import annotations

from engine.reading import continental
from engine.reading.continental import Locale, Noun, cardinal
from engine.reading.types import Match, Spoken, rule

MONTHS = (
    "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
    "octubre", "noviembre", "diciembre",
)  # fmt: skip


def _counted(number: int, noun: Noun) -> str:
    """Before a noun "uno" loses its o or turns feminine: veintiún euros, veintiuna libras."""
    if number == 1:
        return noun.one
    words = cardinal(number, "es")
    if words.endswith("uno"):
        stem = words[:-3]
        short = "ún" if stem.endswith("veinti") else "un"
        words = stem + ("una" if noun.feminine else short)
    of = "de " if words.endswith(("millón", "millones")) else ""
    return f"{words} {of}{noun.many}"


def _date(day: int, month: int, year: int | None, before: str) -> str:
    said = f"{cardinal(day, 'es')} de {MONTHS[month - 1]}"
    return said if year is None else f"{said} de {cardinal(year, 'es')}"


def _clock(hour: int, minute: int) -> str:
    words = cardinal(hour, "es")
    if words.endswith("uno"):
        words = words[:-1] + "a"
    return f"{words} {cardinal(minute, 'es')}" if minute else f"{words} en punto"


def _day_month(match: Match) -> Spoken:
    month = continental.month_number(match["name"], MONTHS)
    year = int(match["year"]) if match["year"] else None
    return _date(int(match["day"]), month, year, "")


_LOCALE = Locale(
    code="es",
    comma="coma",
    minus="menos",
    percent="por ciento",
    currencies={
        "EUR": (Noun("un euro", "euros"), Noun("un céntimo", "céntimos")),
        "USD": (Noun("un dólar", "dólares"), Noun("un centavo", "centavos")),
        "GBP": (Noun("una libra", "libras", True), Noun("un penique", "peniques")),
        "MXN": (Noun("un peso", "pesos"), Noun("un centavo", "centavos")),
    },
    units={
        "km/h": Noun("un kilómetro por hora", "kilómetros por hora"),
        "km": Noun("un kilómetro", "kilómetros"), "cm": Noun("un centímetro", "centímetros"),
        "mm": Noun("un milímetro", "milímetros"), "m": Noun("un metro", "metros"),
        "kg": Noun("un kilogramo", "kilogramos"), "g": Noun("un gramo", "gramos"),
        "ml": Noun("un mililitro", "mililitros"), "l": Noun("un litro", "litros"),
        "°C": Noun("un grado Celsius", "grados Celsius"), "°": Noun("un grado", "grados"),
        "GB": Noun("un gigabyte", "gigabytes"), "MB": Noun("un megabyte", "megabytes"),
        "min": Noun("un minuto", "minutos"), "h": Noun("una hora", "horas", True),
    },
    and_cents=" con ",
    date=_date,
    clock=_clock,
    counted=_counted,
)  # fmt: skip

LANGUAGE = continental.language(
    _LOCALE,
    own=(
        rule("date", r"\d", r"(?P<day>3[01]|[12]\d|0?[1-9])\sde\s"
             rf"{continental.month_names(MONTHS)}\b"
             r"(?:\s(?:de|del)\s(?P<year>[12]\d{3})\b)?", _day_month),
    ),
)  # fmt: skip
